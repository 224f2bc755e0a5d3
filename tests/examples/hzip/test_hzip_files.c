/* SPDX-License-Identifier: MIT */
/* test_hzip_files.c: what hzip does with files, and with those that it cannot
   finish.
   Thread safety: one thread; the programs are other processes. */
#include <signal.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>

#include "hass_test.h"
#include "hzip_trial.h"

#ifdef WITHOUT_hzip

static void
left_out (void)
{
  hass_test_skip ("hzip is left out: no libdeflate");
}

HASS_TEST_SUITE (hzip_files, { "hzip replaces files", left_out })

#else

/* -- Beside gzip -------------------------------------------------------- */

/* What both programs do alike, each in a folder of its own: status, messages,
   output without options of compression, names, modes and times. */
static const char *const alike[] = {
  "\"$Z\" a",
  "\"$Z\" a; \"$Z\" -d a",
  "\"$Z\" -k a; \"$Z\" a",
  "\"$Z\" -k a; \"$Z\" -f a",
  "\"$Z\" -k a; \"$Z\" -dk a.gz",
  "\"$Z\" -k a; \"$Z\" -q a; echo $?",
  "\"$Z\" -v a 2>&1 | sed 's/[0-9.]*%//'; \"$Z\" -tv a.gz; \"$Z\" -t a.gz",
  "\"$Z\" a; \"$Z\" a.gz",
  "\"$Z\" a; mv a.gz a.tgz; \"$Z\" -d a.tgz",
  "\"$Z\" a; mv a.gz a.GZ; \"$Z\" -d a.GZ",
  "\"$Z\" a; mv a.gz b-gz; \"$Z\" -d b-gz",
  "\"$Z\" -S .foo a; \"$Z\" -d a.foo; \"$Z\" -S .foo -d a.foo",
  "\"$Z\" -S .foo a; \"$Z\" -S .foo -d a",
  "\"$Z\" a; mv a.gz b.gz; \"$Z\" -dN b.gz",
  "\"$Z\" a; mv a.gz b.gz; touch b.gz; \"$Z\" -Nd b.gz",
  "\"$Z\" -n a; mv a.gz b.gz; touch -d @5 b.gz; \"$Z\" -dN b.gz",
  "\"$Z\" -d a",
  "\"$Z\" -d nosuch",
  "\"$Z\" nosuch a",
  "\"$Z\" sub",
  "\"$Z\" -r sub; \"$Z\" -r sub; \"$Z\" -dr sub",
  "\"$Z\" -rv sub 2>&1 | sed 's/:.*--/: --/' | sort",
  "ln -s a link; \"$Z\" link; echo $?; \"$Z\" -f link",
  "ln a other; \"$Z\" a; echo $?; ln a third; \"$Z\" a; \"$Z\" -f a",
  "chmod u+s a; \"$Z\" a; chmod u-s,g+s a; \"$Z\" a; chmod g-s,+t a; \"$Z\" a",
  "mkfifo pipe; \"$Z\" pipe",
  "chmod 640 a; touch -d @1000000000 a; \"$Z\" a; \"$Z\" -d a",
  "\"$Z\" -c a >b.gz; \"$Z\" -dc b.gz; \"$Z\" -d <b.gz; \"$Z\" -cd b",
  "\"$Z\" <a >b.gz; \"$Z\" -d - <b.gz",
  "\"$Z\" a; \"$Z\" -dc a a.gz",
  "echo plain | \"$Z\" -dcf; \"$Z\" -dcf a; \"$Z\" -cdf - <sub/b",
  "\"$Z\" -l a; \"$Z\" <a >b.gz; \"$Z\" -ql b.gz | awk '{ print $2, $4 }'",
  "\"$Z\" a; \"$Z\" -k sub/b; \"$Z\" -l a.gz sub/b.gz "
  "| awk '{ print $2, $4 }'",
  "\"$Z\" -kn a; \"$Z\" -dc a.gz a.gz a.gz",
  "for t in 1960-01-01 @0 2106-02-07T06:28:16Z; do touch -d $t a;"
  " \"$Z\" -k a; echo $?; \"$Z\" -kfq a; echo $?; \"$Z\" -c <a >c; echo $?;"
  " \"$Z\" -knf a; echo $?; \"$Z\" -kf a sub/b; echo $?; rm *.gz sub/*.gz;"
  " done; rm c; touch -d @900000000 a",
  "\"$Z\" -- -x; \"$Z\" -k -- a",
  "GZIP=-9 \"$Z\" a; export GZIP='-n  -q'; \"$Z\" -d a; \"$Z\" a",
  "export GZIP='-v -N -1'; \"$Z\" a 2>&1 | sed 's/[0-9.]*%//; s/^gz/hz/'",
  "export GZIP='  '; \"$Z\" -v a 2>&1 | sed 's/[0-9.]*%//'",
  "for o in -c --keep -d -S.x -L b -z; do GZIP=$o \"$Z\" a 2>&1 | head -n 1 "
  "| sed s/gzip:/hzip:/; done",
};

static const char tree[]
    = "mkdir -p sub/c; seq 1 3000 >a; seq 5 400 >sub/b; seq 7 >sub/c/d; "
      "umask 22; touch -d @900000000 a sub/b sub/c/d;";
/* A time after 2004 is that of the test. */
static const char state[]
    = "; echo status $?; find . -type f -printf '%p %m %Ts\\n' | sort"
      " | awk '{ print $1, $2, int($3) > 1100000000 ? \"now\" : int($3) }'";

/* The last of what a program printed. */
static const char *
end_of (GBytes *out)
{
  static char end[2][400];
  static guint which;
  gsize n;
  const char *data = g_bytes_get_data (out, &n);
  gsize shown = MIN (n, sizeof end[0] - 1);
  char *at = end[which++ % 2];
  memcpy (at, data + n - shown, shown);
  at[shown] = '\0';
  return at;
}

static void
beside_gzip (void)
{
  for (guint k = 0; k < G_N_ELEMENTS (alike); k++)
    {
      g_autofree char *script = g_strconcat (tree, alike[k], state, NULL);
      char *one = zip_folder (), *two = zip_folder ();
      g_auto (Outcome) own = zip_script ("hzip", script, NULL, one);
      g_auto (Outcome) gnu = zip_script ("gzip", script, NULL, two);
      g_autofree char *want = zip_messages (gnu.err);
      gboolean same
          = zip_same (own.out, gnu.out) && strcmp (own.err, want) == 0;
      CU_ASSERT_TRUE (same);
      if (!same)
        printf ("\n    %s\n    hzip: %s%s\n    gzip: %s%s", alike[k],
                end_of (own.out), own.err, end_of (gnu.out), want);
      zip_remove (one);
      zip_remove (two);
    }
}

/* -- Alone -------------------------------------------------------------- */

/* The script ends with "true" in a folder that has 8 MB of noise, "noise", and
   40 MB of text, "text". */
static void
holds (const char *script)
{
  static GBytes *noise, *text;
  char *folder = zip_folder ();
  if (!noise)
    {
      noise = zip_noise (8 << 20, 1);
      text = zip_text (40 << 20, 1);
    }
  zip_put (folder, "noise", noise);
  zip_put (folder, "text", text);
  g_auto (Outcome) o = zip_script ("hzip", script, NULL, folder);
  CU_ASSERT_EQUAL (o.status, 0);
  if (o.status != 0)
    printf ("\n    %s\n    %s", script, o.err);
  zip_remove (folder);
}

/* "long" is a hole of 2 TB, of which a machine has compressed little when the
   first bytes of its output are there; should the signal never come, the
   limit of CPU time ends the program. What is ignored at the start is ignored,
   as under nohup: the program is stopped by a full pipe whose first byte was
   read. */
static void
interrupted (void)
{
  static const struct
  {
    const char *name;
    int number;
  } signals[] = { { "TERM", SIGTERM }, { "HUP", SIGHUP } };
  signal (SIGHUP, SIG_DFL); /* under nohup it is ignored */
  for (guint k = 0; k < G_N_ELEMENTS (signals); k++)
    {
      g_autofree char *script = g_strdup_printf (
          "truncate -s 2T long && rm text || exit 1;"
          " (ulimit -t 600; exec \"$Z\" -12 long) & p=$!;"
          " while [ ! -s long.gz ] && [ -e long ]; do sleep 0.01; done;"
          " kill -%s $p; wait $p; [ $? = %d ] && [ ! -e long.gz ] &&"
          " [ -e long ]",
          signals[k].name, 128 + signals[k].number);
      holds (script);
    }
  holds ("mkfifo pipe; (trap '' TERM; exec \"$Z\" -1c text) >pipe & p=$!;"
         " { dd bs=1 count=1 2>dd.log; kill -TERM $p; cat; } <pipe >copy.gz;"
         " wait $p && gzip -dc copy.gz | cmp - text");
}

static void
not_written (void)
{
  holds ("\"$Z\" -c noise >/dev/full; [ $? = 1 ]");
  holds ("\"$Z\" <noise -c >n.gz; \"$Z\" -dc n.gz >/dev/full; [ $? = 1 ]");
  holds ("(\"$Z\" -c text; echo $? >status) | head -c 1 >head;"
         " [ $(cat status) = 141 ]");
  holds ("(ulimit -f 100; \"$Z\" noise); [ $? = 1 ] && [ ! -e noise.gz ] &&"
         " [ -e noise ]");
  holds ("\"$Z\" -k noise && rm noise && (ulimit -f 100; \"$Z\" -d noise.gz);"
         " [ $? = 1 ] && [ ! -e noise ] && gzip -t noise.gz");
}

/* What is printed where there is no standard output is lost. */
static void
no_stdout (void)
{
  holds ("\"$Z\" -1k noise && for o in -l -lv --help --version; do"
         " \"$Z\" $o noise.gz >&- 2>err; [ $? = 1 ] &&"
         " grep -q 'standard output: ' err || exit 1; done");
  holds ("\"$Z\" -1 noise >&-");
}

static void
messages_of_failure (void)
{
  g_autoptr (GBytes) text = zip_text (3000000, 1);
  g_auto (Outcome) own = zip_script ("hzip", "\"$Z\" >/dev/full", text, NULL);
  CU_ASSERT_EQUAL (own.status, 1);
  CU_ASSERT_STRING_EQUAL (own.err, "hzip: stdout: No space left on device\n");
}

static void
refused (void)
{
  static const char *const wrong[]
      = { "-19",        "-0",    "-13",  "-100", "-b 9",      "--rsyncable",
          "--nonsense", "-p 0",  "-p x", "-p",   "--level=3", "-a",
          "-S a/b",     "-S ''", "-z",   "-Z" };
  for (guint k = 0; k < G_N_ELEMENTS (wrong); k++)
    {
      g_auto (Outcome) o = zip_run ("hzip", wrong[k], NULL, NULL);
      CU_ASSERT_EQUAL (o.status, 1);
      CU_ASSERT_EQUAL (g_bytes_get_size (o.out), 0);
      CU_ASSERT_TRUE (g_str_has_prefix (o.err, "hzip: "));
      if (o.status != 1)
        printf ("\n    %s", wrong[k]);
    }
}

/* The library says something of its own: auto serves no pipeline. */
static void
quiet (void)
{
  static const char script[] = "HASS_STRATEGY=auto \"$Z\" %s <text >gz";
  static const char *const options[] = { "-1", "-1q" };
  g_autoptr (GBytes) text = zip_text (4000000, 1);
  char *folder = zip_folder ();
  zip_put (folder, "text", text);
  for (guint k = 0; k < G_N_ELEMENTS (options); k++)
    {
      g_autofree char *line = g_strdup_printf (script, options[k]);
      g_auto (Outcome) o = zip_script ("hzip", line, NULL, folder);
      CU_ASSERT_EQUAL (o.status, 0);
      CU_ASSERT_EQUAL (*o.err == '\0', k == 1);
    }
  zip_remove (folder);
}

/* On a terminal there is progress, and no compressed bytes. */
static void
on_a_terminal (void)
{
  if (!zip_has ("script"))
    {
      hass_test_skip ("script of util-linux is not installed");
      return;
    }
  holds ("script -qec \"$Z -9v text\" log </dev/null >/dev/null;"
         " grep -q 'replaced with text.gz' log");
  /* The input ends when there was progress, or after two minutes. */
  holds ("mkfifo pipe; script -qfec \"$Z -9v <pipe >copy.gz\" log </dev/null"
         " >/dev/null & { cat text; for i in $(seq 1200); do"
         " grep -q 'MB/s' log && break; sleep 0.1; done; } >pipe; wait;"
         " grep -q 'MB/s' log");
  holds ("script -qec \"$Z\" log </dev/null >/dev/null;"
         " grep -q 'not written to a terminal' log");
}

static void
help (void)
{
  g_auto (Outcome) help = zip_run ("hzip", "-h", NULL, NULL);
  g_auto (Outcome) version = zip_run ("hzip", "--version", NULL, NULL);
  g_auto (Outcome) licence = zip_run ("hzip", "-L", NULL, NULL);
  CU_ASSERT_EQUAL (licence.status, 0);
  CU_ASSERT_TRUE (g_bytes_get_size (licence.out) > 50);
  CU_ASSERT_EQUAL (help.status, 0);
  CU_ASSERT_EQUAL (version.status, 0);
  CU_ASSERT_TRUE (g_bytes_get_size (help.out) > 500);
  CU_ASSERT_EQUAL (
      memcmp (g_bytes_get_data (version.out, NULL), "hzip (hass) ", 12), 0);
}

HASS_TEST_SUITE (
    hzip_files,
    { "command lines do what they do with gzip: files, modes, times, "
      "messages",
      beside_gzip },
    { "an interrupted run leaves its input and no output", interrupted },
    { "so does one whose output cannot be written", not_written },
    { "it fails if what it prints has no standard output", no_stdout },
    { "it says which output, and why", messages_of_failure },
    { "options that hzip does not know are refused", refused },
    { "-q is quiet of what the library says, too", quiet },
    { "a terminal shows progress and gets no compressed bytes", on_a_terminal },
    { "-h and --version print what they should", help })

#endif
