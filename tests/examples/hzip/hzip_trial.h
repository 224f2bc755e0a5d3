/* SPDX-License-Identifier: MIT */
/* hzip_trial.h: hzip and gzip as users run them, on bytes and on files.
   Thread safety: one thread. */
#ifndef HASS_TEST_HZIP_TRIAL_H
#define HASS_TEST_HZIP_TRIAL_H

#include <glib.h>

/* What a program did. @status: exit status, as a shell
   has it: 128 and the number of the signal that ended it. */
typedef struct
{
  int status;
  GBytes *out;
  char *err;
} Outcome;

void outcome_clear (Outcome *outcome);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Outcome, outcome_clear)

/* Runs @program, "hzip" being that of this build, in @folder, or where the test
   runs if that is NULL, with arguments as in a shell, and @in, or nothing, on
   its standard input. */
Outcome zip_run (const char *program, const char *arguments, GBytes *in,
                 const char *folder);

/* As zip_run(), a script for sh in which "$Z" is the program. */
Outcome zip_script (const char *program, const char *script, GBytes *in,
                    const char *folder);

/* Returns: messages of gzip, as hzip has them: without that of the extra field,
   which hzip does not ignore. Free with g_free(). */
char *zip_messages (const char *messages);

/* TRUE: a program of this name can be found. */
gboolean zip_has (const char *program);

/* Bytes for @seed: words that compress, or none that do. */
GBytes *zip_text (gsize bytes, guint32 seed);
GBytes *zip_noise (gsize bytes, guint32 seed);

/* A new folder in the temporary one; zip_remove() removes it with its files
   and frees the name. */
char *zip_folder (void);
void zip_remove (char *folder);

/* Writes, and reads, a file of the folder. Returns: NULL: there is none. */
void zip_put (const char *folder, const char *name, GBytes *bytes);
GBytes *zip_get (const char *folder, const char *name);

/* TRUE: both have the same bytes; NULL has none. */
gboolean zip_same (GBytes *a, GBytes *b);

#endif
