/* SPDX-License-Identifier: MIT */
/* test_hzip_memory.c: how much memory hzip takes while its reader has stopped.
   Thread safety: one thread; the programs are other processes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hass_test.h"
#include "hzip_trial.h"

#ifdef WITHOUT_hzip

static void
left_out (void)
{
  hass_test_skip ("hzip is left out: no libdeflate");
}

HASS_TEST_SUITE (hzip_memory, { "hzip takes little memory", left_out })

#elif defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__

static void
sanitized (void)
{
  hass_test_skip ("a sanitizer takes more memory than hzip");
}

HASS_TEST_SUITE (hzip_memory, { "hzip takes little memory", sanitized })

#else

/* Reads one byte of what "$Z" with the arguments makes of the file "all", lets
   it run until it has taken no CPU time for half a second, and prints the most
   memory that it had, in KiB. Then it reads the rest and compares its sum with
   that of the file "plain". Should hzip be slow, less memory is seen. */
static const char reader[]
    = "mkfifo p; \"$Z\" %s <all >p & z=$!; exec 3<p;"
      " dd bs=1 count=1 <&3 >first 2>dd.log; same=0; last=;"
      " while [ $same -lt 10 ]; do sleep 0.05;"
      "  now=$(cut -d' ' -f14,15 /proc/$z/stat);"
      "  if [ \"$now\" = \"$last\" ]; then same=$((same + 1));"
      "  else same=0; last=$now; fi; done;"
      " sed -n 's/VmHWM:[^0-9]*\\([0-9]*\\).*/\\1/p' /proc/$z/status;"
      " cat first - <&3 | cksum >sum; wait $z || exit 1;"
      " %s | cksum | cmp - sum";

/* @make: a script that makes "all"; @plain: one that prints what it contains.
 */
static void
stays_small (const char *make, const char *arguments, const char *plain,
             guint cores)
{
  char *folder = zip_folder ();
  g_auto (Outcome) made = zip_script ("gzip", make, NULL, folder);
  g_autofree char *script = g_strdup_printf (reader, arguments, plain);
  g_auto (Outcome) o = zip_script ("hzip", script, NULL, folder);
  gsize n;
  const char *out = g_bytes_get_data (o.out, &n);
  g_autofree char *text = g_strndup (out, n);
  gulong kib = strtoul (text, NULL, 10);
  gulong most = 1024 * (64 + 4 * cores);
  CU_ASSERT_EQUAL (made.status, 0);
  CU_ASSERT_EQUAL (o.status, 0);
  CU_ASSERT_TRUE (kib > 0);
  CU_ASSERT_TRUE (kib <= most);
  if (o.status != 0 || kib > most)
    printf ("\n    %s: status %d, %lu KiB, bound %lu KiB\n    %s", arguments,
            o.status, kib, most, o.err);
  zip_remove (folder);
}

#  define ZEROS(mib) "head -c " mib "M /dev/zero"

static void
zeros (void)
{
  static const char make[] = ZEROS ("64") " | \"$Z\" -9 >z && cat z z z z >all";
  stays_small (make, "-dc -p 1", ZEROS ("256"), 1);
  stays_small (make, "-dc -p 2", ZEROS ("256"), 2);
  stays_small (make, "-dc -p 8", ZEROS ("256"), 8);
}

/* Tokens that are as large as what they contain. */
static void
noise (void)
{
  static const char make[]
      = "head -c 160M /dev/urandom >plain && \"$Z\" -1c plain >all";
  stays_small (make, "-dc -p 2", "cat plain", 2);
}

HASS_TEST_SUITE (hzip_memory,
                 { "a stream of zeros whose reader stops takes 64 MiB, and 4 "
                   "MiB a core",
                   zeros },
                 { "so does a stream that does not compress", noise })

#endif
