/* SPDX-License-Identifier: MIT */
/* options.c: the command line, as gzip's and pigz's, and the variable GZIP.
   Thread safety: single-threaded, at start-up. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hass/hass.h>

#include "hzip.h"

enum
{
  BGZF = 256,
  SYNCHRONOUS,
  REPORT
};

static const char short_options[] = "cdfhklLnNp:qrS:tvV123456789\n\v\f";
static const struct option long_options[]
    = { { "stdout", no_argument, NULL, 'c' },
        { "to-stdout", no_argument, NULL, 'c' },
        { "decompress", no_argument, NULL, 'd' },
        { "uncompress", no_argument, NULL, 'd' },
        { "force", no_argument, NULL, 'f' },
        { "help", no_argument, NULL, 'h' },
        { "keep", no_argument, NULL, 'k' },
        { "list", no_argument, NULL, 'l' },
        { "license", no_argument, NULL, 'L' },
        { "no-name", no_argument, NULL, 'n' },
        { "name", no_argument, NULL, 'N' },
        { "processes", required_argument, NULL, 'p' },
        { "quiet", no_argument, NULL, 'q' },
        { "silent", no_argument, NULL, 'q' },
        { "recursive", no_argument, NULL, 'r' },
        { "suffix", required_argument, NULL, 'S' },
        { "test", no_argument, NULL, 't' },
        { "verbose", no_argument, NULL, 'v' },
        { "version", no_argument, NULL, 'V' },
        { "fast", no_argument, NULL, '1' },
        { "best", no_argument, NULL, '9' },
        { "bgzf", no_argument, NULL, BGZF },
        { "synchronous", no_argument, NULL, SYNCHRONOUS },
        { "report", no_argument, NULL, REPORT },
        { NULL, 0, NULL, 0 } };

static void
show_help (void)
{
  fputs (
      "Usage: " NAME " [OPTION]... [FILE]...\n"
      "Compresses files, in place, on all cores, into files that gzip reads;\n"
      "decompresses any file of gzip. Without FILE, or where it is -, from\n"
      "standard input to standard output.\n\n"
      "  -1 to -12           less time, or less space; -6 without this\n"
      "      --fast, --best  -1, -9\n"
      "      --bgzf          blocks of 64 KiB, for bgzip, samtools and tabix\n"
      "  -c, --stdout        write to standard output, keep the files\n"
      "  -d, --decompress    decompress\n"
      "  -f, --force         replace files, compress links; with -dc, pass\n"
      "                      on what is not compressed\n"
      "  -k, --keep          keep the input files\n"
      "  -l, --list          list what compressed files contain\n"
      "  -n, --no-name       neither store nor restore name and time\n"
      "  -N, --name          store or restore them\n"
      "  -p, --processes=N   use at most N cores\n"
      "  -q, --quiet         no warnings\n"
      "  -r, --recursive     the files below directories\n"
      "  -S, --suffix=SUF    in place of .gz\n"
      "      --synchronous   let the disk have each output before its input\n"
      "                      is removed\n"
      "  -t, --test          test compressed files\n"
      "  -v, --verbose       progress and ratios\n"
      "      --report        print where the time went, to stderr\n"
      "  -h, --help; -V, --version; -L, --license\n\n"
      "Exit status: 0, 1 after an error, 2 after a warning.\n",
      stdout);
}

static gboolean
wrong (const char *what, const char *which)
{
  fprintf (stderr, NAME ": %s '%s'\n", what, which);
  return FALSE;
}

/* The field that an option without an argument sets; NULL for the others. */
static gboolean *
switch_of (Options *o, int c)
{
  switch (c)
    {
    case 'c':
      return &o->to_stdout;
    case 'f':
      return &o->force;
    case 'k':
      return &o->keep;
    case 'q':
      return &o->quiet;
    case 'r':
      return &o->recursive;
    case BGZF:
      return &o->bgzf;
    case SYNCHRONOUS:
      return &o->synchronous;
    case REPORT:
      return &o->report;
    default:
      return NULL;
    }
}

/* Takes option `c` of getopt_long(), other than a digit. */
static gboolean
take (Options *o, int c)
{
  guint64 n;
  gboolean *on = switch_of (o, c);
  if (on)
    return *on = TRUE;
  switch (c)
    {
    case 'd':
      o->mode = MAX (o->mode, MODE_DECOMPRESS);
      break;
    case 't':
      o->mode = MAX (o->mode, MODE_TEST);
      break;
    case 'l':
      o->mode = MODE_LIST;
      break;
    case 'n':
    case 'N':
      o->save_name = c == 'N';
      break;
    case 'v':
      o->verbose++;
      break;
    case 'p':
      if (!g_ascii_string_to_unsigned (optarg, 10, 1, 4096, &n, NULL))
        return wrong ("-p needs a number from 1 to 4096, not", optarg);
      o->threads = (guint)n;
      break;
    case 'S':
      if (*optarg == '\0' || strchr (optarg, '/') || strlen (optarg) > 30)
        return wrong ("invalid suffix", optarg);
      o->suffix = optarg;
      break;
    default:
      return FALSE;
    }
  return TRUE;
}

/* Makes one character, of its value, of each level of two digits in a word of
   options: getopt_long() has options of one character. Returns: FALSE if there
   is no such level. */
static gboolean
join_digits (char *word)
{
  char *end;
  for (char *c = word; *c && *c != 'p' && *c != 'S'; c++)
    if (g_ascii_isdigit (c[0]) && g_ascii_isdigit (c[1]))
      {
        gulong level = strtoul (c, &end, 10);
        if (level > 12)
          return FALSE;
        *c = (char)level;
        memmove (c + 1, end, strlen (end) + 1);
      }
  return TRUE;
}

/* Returns: the level that option `c` of getopt_long() stands for; 0: none. */
static guint
level_of_option (int c)
{
  if (c >= '1' && c <= '9')
    return (guint)(c - '0');
  return c >= 10 && c <= 12 ? (guint)c : 0;
}

static OptionsResult
wrong_level (void)
{
  fputs (NAME ": levels are -1 to -12\n", stderr);
  return OPTIONS_WRONG;
}

static OptionsResult
try_help (void)
{
  fputs ("Try '" NAME " --help'.\n", stderr);
  return OPTIONS_WRONG;
}

/* Takes option `c` of getopt_long(). */
static OptionsResult
take_any (Options *o, int c)
{
  if (c == 'h')
    {
      show_help ();
      return OPTIONS_SHOWN;
    }
  if (c == 'V' || c == 'L')
    {
      printf (NAME " (hass) %s\n", hass_version ());
      if (c == 'L')
        puts ("Free software under the MIT licence: use, change and pass it "
              "on.\nThere is no warranty.");
      return OPTIONS_SHOWN;
    }
  if (level_of_option (c) > 0)
    o->level = level_of_option (c);
  else if (!take (o, c))
    return try_help ();
  return OPTIONS_RUN;
}

/* -- The environment ---------------------------------------------------- */

/* Takes the options in @words, those of the variable GZIP after the name of the
   program. As in gzip only -1 to -9, here to -12, -n, -N, -q and -v are valid
   there, and unless -q is among them they lead to a warning. */
static OptionsResult
take_words (Options *o, char **words)
{
  int c, n = (int)g_strv_length (words);
  for (int i = 1; i < n; i++)
    if (words[i][0] == '-' && words[i][1] != '-' && !join_digits (words[i] + 1))
      return wrong_level ();
  while ((c = getopt_long (n, words, short_options, long_options, NULL)) != -1)
    {
      if (c == '?')
        return try_help ();
      if (level_of_option (c) == 0 && (c >= BGZF || !strchr ("nNqv", c)))
        {
          const char *word = words[MAX (optind - 1, 1)],
                     name[] = { (char)c, 0 };
          gboolean is_long = g_str_has_prefix (word, "--");
          fprintf (stderr,
                   NAME
                   ": %s%s: option not valid in GZIP environment variable\n",
                   is_long ? "" : "-", is_long ? word : name);
          return try_help ();
        }
      take_any (o, c);
    }
  if (optind < n)
    {
      fprintf (stderr, NAME ": %s: non-option in GZIP environment variable\n",
               words[optind]);
      return try_help ();
    }
  if (n > 1 && !o->quiet)
    fputs (NAME ": warning: GZIP environment variable is deprecated; use an "
                "alias or script\n",
           stderr);
  return OPTIONS_RUN;
}

static OptionsResult
take_environment (Options *o)
{
  g_auto (GStrv) given
      = g_strsplit_set (g_getenv ("GZIP") ? g_getenv ("GZIP") : "", " \t", -1);
  /* getopt_long() changes the order of the words. */
  g_autofree char **words = g_new0 (char *, g_strv_length (given) + 2);
  int n = 0;
  words[n++] = (char *)NAME;
  for (char **word = given; *word; word++)
    if (**word)
      words[n++] = *word;
  OptionsResult result = take_words (o, words);
  optind = 0; /* GNU: from the beginning, of other words */
  return result;
}

OptionsResult
hzip_options_parse (Options *o, int argc, char **argv)
{
  int c;
  OptionsResult result;
  *o = (Options){ .save_name = -1, .level = 6, .suffix = ".gz" };
  if ((result = take_environment (o)) != OPTIONS_RUN)
    return result;
  argv[0] = (char *)NAME;
  for (int i = 1; i < argc && strcmp (argv[i], "--") != 0; i++)
    if (argv[i][0] == '-' && argv[i][1] != '-' && !join_digits (argv[i] + 1))
      return wrong_level ();
  while ((c = getopt_long (argc, argv, short_options, long_options, NULL))
         != -1)
    if ((result = take_any (o, c)) != OPTIONS_RUN)
      return result;
  o->paths = argv + optind;
  return OPTIONS_RUN;
}
