/* SPDX-License-Identifier: MIT */
/* string_search.c: string_search in one large file in memory. Its lines go
   to memory as well, and are held against those of a plain loop.
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
  GString *expected;
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
  g_string_free (t->expected, TRUE);
  g_free (t);
}

/* The lines that have a needle, in order; the text ends with a newline. */
static void
find_lines (const guint8 *text, gsize n, GString *lines)
{
  const guint8 *end = text + n, *at = text, *hit;
  while ((hit = memmem (at, (gsize)(end - at), NEEDLE, strlen (NEEDLE))))
    {
      const guint8 *line = hit;
      const guint8 *next = memchr (hit, '\n', (gsize)(end - hit));
      next = next ? next + 1 : end;
      while (line > text && line[-1] != '\n')
        line--;
      g_string_append_len (lines, (const char *)line, next - line);
      at = next;
    }
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
  find_lines (text, n, t->expected);
  munmap (text, n);
  return TRUE;
}

static gpointer
prepare (const AppsMachine *machine, const AppsSize *size, GError **error)
{
  Task *t = g_new0 (Task, 1);
  gsize n_patterns;
  t->expected = g_string_new (NULL);
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
  const Task *t = self;
  if (t->n_found == t->expected->len
      && memcmp (t->found, t->expected->str, t->n_found) == 0)
    return TRUE;
  return apps_wrong (error,
                     "not the lines that a plain loop finds (%zu bytes "
                     "of lines, not %zu)",
                     t->n_found, t->expected->len);
}

static char *
describe (gpointer self)
{
  const Task *t = self;
  return g_strdup_printf ("String search: lines with " NEEDLE " in a file of "
                          "%.3f GiB in memory",
                          t->item.size / (double)GIB);
}

static gboolean
has_gpu_worker (void)
{
  return string_search_gpu_worker != NULL;
}

const AppsProgram apps_string_search = { .name = "string_search",
                                         .prepare = prepare,
                                         .run = run,
                                         .check = check,
                                         .describe = describe,
                                         .release = release,
                                         .has_gpu_worker = has_gpu_worker };
