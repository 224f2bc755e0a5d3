/* SPDX-License-Identifier: MIT */
/* program.h: programs of this build, as users run them.
   Thread safety: one thread. */
#ifndef HASS_TEST_PROGRAM_H
#define HASS_TEST_PROGRAM_H

#include <glib.h>

/* Where the program lies, bin/ of this build; free with g_free(). Where it is
   not built, the test fails with a sentence that names it, and ends. */
char *program_path (const char *program);

/* Likewise in another folder of this build. */
char *program_in_build (const char *folder, const char *program);

/* This test program; the environment names another one in TEST_SELF where the
   kernel cannot start it. The string lives as long as the environment. */
const char *program_self (void);

/* Runs it with these arguments, up to NULL. Returns its exit status, or -1 if
   it did not run or was ended by a signal. What it prints is in @out and @err,
   to be freed; either may be NULL. */
int program_run (char **out, char **err, const char *program,
                 ...) G_GNUC_NULL_TERMINATED;

/* Likewise with arguments quoted as for a shell. */
int program_run_words (char **out, char **err, const char *program,
                       const char *words);

/* Fails the test, and shows the text, where it does not have what is wanted. */
void program_says (const char *text, const char *wanted);

/* Runs a script with this build's folder as its argument. Fails the test, and
   shows what the script printed, where its exit status is not 0. */
void program_follow (const char *script);

#endif
