/* SPDX-License-Identifier: MIT */
/* string_search.c: string_search counts lines of one large file in memory; the
   count is compared with that of a plain loop.

   Lines are not printed: that would first ask for the holes of the file, which
   takes tens of milliseconds for gigabytes of this kind of file, outside any
   strategy's control.

   Thread safety: one thread. */
#include "apps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "examples/string_search/offload.h"
#include "examples/string_search/search.h"

#define TEXT_BYTES (4 * GIB)
#define NEEDLE "Sherlock"
#define SEED 1

typedef struct
{
  Options options;
  Matcher *matcher;
  Terminal *terminal;
  FileItem item;
  int fd; /* of the text, a file without a name */
  FILE *sink;
  char *found; /* [n_found]: what was written to it */
  gsize n_found;
  char *expected;
} Task;

static void
release (gpointer self)
{
  Task *t = self;
  if (t->sink)
    fclose (t->sink);
  free (t->found);
  if (t->fd >= 0)
    close (t->fd);
  g_free (t->item.path);
  g_clear_pointer (&t->options.patterns, pattern_list_free);
  g_clear_pointer (&t->matcher, matcher_free);
  g_clear_pointer (&t->terminal, terminal_free);
  g_free (t->expected);
  g_free (t);
}

/* Lines that have a needle. */
static guint64
count_lines (const guint8 *text, gsize n)
{
  const guint8 *end = text + n, *at = text;
  guint64 n_lines = 0;
  while ((at = memmem (at, (gsize)(end - at), NEEDLE, strlen (NEEDLE))))
    {
      n_lines++;
      at = memchr (at, '\n', (gsize)(end - at));
      if (!at)
        break;
    }
  return n_lines;
}

static gboolean
fill (Task *t, const AppsMachine *machine, const AppsSize *size, GError **error)
{
  gsize n = t->item.size;
  if (t->fd < 0 || ftruncate (t->fd, (off_t)n) != 0)
    return apps_wrong (error, "no file of %zu bytes in memory", n);
  if (machine->platform)
    return TRUE;
  guint8 *text = mmap (NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, t->fd, 0);
  if (text == MAP_FAILED)
    return apps_wrong (error, "no map of %zu bytes", n);
  text_fill (text, n, SEED, (const guint8 *)NEEDLE, strlen (NEEDLE),
             size->crew);
  t->expected
      = g_strdup_printf ("%" G_GUINT64_FORMAT "\n", count_lines (text, n));
  munmap (text, n);
  return TRUE;
}

static gpointer
prepare (const AppsMachine *machine, const AppsSize *size, GError **error)
{
  Task *t = g_new0 (Task, 1);
  gsize n_patterns;
  t->options.count = TRUE;
  t->fd = memfd_create ("gpu-apps-text", MFD_CLOEXEC);
  t->item = (FileItem){ .path = g_strdup_printf ("/proc/self/fd/%d", t->fd),
                        .size = size->small ? TEXT_BYTES / 64 : TEXT_BYTES,
                        .is_regular = TRUE };
  t->options.patterns = pattern_list_new ();
  pattern_list_add_text (t->options.patterns, (const guint8 *)NEEDLE,
                         strlen (NEEDLE));
  const Pattern *patterns = pattern_list_get (t->options.patterns, &n_patterns);
  t->matcher = matcher_new (patterns, n_patterns, FALSE, FALSE, NULL, error);
  t->terminal = terminal_new (FALSE);
  t->sink = open_memstream (&t->found, &t->n_found);
  if (t->matcher && fill (t, machine, size, error))
    return t;
  release (t);
  return NULL;
}

static gboolean
run (gpointer self, const AppsMachine *machine, const char *strategy,
     HassReport **report, GError **error)
{
  Task *t = self;
  Options options = t->options;
  options.strategy = strategy;
  options.platform = machine->platform;
  options.dry = machine->platform != NULL;
  options.gpu = machine->n_gpus > 0 ? GPU_ALWAYS : GPU_NEVER;
  Search search = { .options = &options,
                    .matcher = t->matcher,
                    .terminal = t->terminal,
                    .output = t->sink };
  rewind (t->sink);
  gboolean ok = search_large_file (&search, &t->item, FALSE, error);
  gpu_filter_free (search.filter);
  *report = search.total;
  if (ok && (search.failed || search.write_error || fflush (t->sink) != 0))
    return apps_wrong (error, "the text could not be read or lines written");
  return ok;
}

static gboolean
check (gpointer self, GError **error)
{
  Task *t = self;
  if (strcmp (t->found, t->expected) == 0)
    return TRUE;
  return apps_wrong (error, "a plain loop counts %s lines, not %s",
                     g_strstrip (t->expected), g_strstrip (t->found));
}

static char *
describe (gpointer self)
{
  const Task *t = self;
  return g_strdup_printf ("String search: a count of lines with " NEEDLE
                          " in a file of "
                          "%.3f GiB in memory",
                          t->item.size / (double)GIB);
}

static gboolean
has_gpu_worker (void)
{
  return string_search_gpu_worker != NULL;
}

const AppsProgram apps_string_search = { .name = "string_search",
                                         .farm = "string_search",
                                         .prepare = prepare,
                                         .run = run,
                                         .check = check,
                                         .describe = describe,
                                         .release = release,
                                         .has_gpu_worker = has_gpu_worker };
