/* SPDX-License-Identifier: MIT */
/* small.c: a combine farm over a crowd of small files.

   DESIGN. The walk is the generator: a load is a file, its size known, its
   bytes read by the worker, which also formats the output. The collector, in
   sequence order, only writes.

   Thread safety: workers touch nothing shared but the matcher. */
#include "search.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "binary.h"

/* What one worker needs, on lines of its own. */
typedef struct
{
  _Alignas(64) guint8 *bytes;
  gsize capacity;
  LineBuffer lines;
  GString *out;
} Scratch;

typedef struct
{
  Search *search;
  Walk *walk;
  FileItem *large;  /* that ended the stretch */
  Scratch *scratch; /* [n], by worker index */
  guint n_scratch;
} Small;

/* A result: this, then the bytes for stdout, then those for stderr. */
typedef struct
{
  guint64 n_lines;
  guint64 n_out, n_message;
  guint64 failed;
} Header;

static gboolean
generate (HassEmitter *emitter, gpointer user_data, GError **error)
{
  Small *small = user_data;
  FileItem *item;
  (void)error;
  while ((item = walk_next (small->walk)))
    {
      if (is_large (item))
        {
          small->large = item;
          return TRUE;
        }
      HassLoad load = { .input_bytes = item->size,
                        .size = item->size,
                        .cost = (gfloat)item->size + 20000, /* opening */
                        .tag = item };
      terminal_add_total (small->search->terminal, item->size);
      if (!hass_emitter_emit (emitter, &load))
        {
          file_item_free (item);
          return FALSE;
        }
    }
  return TRUE;
}

/* Reads all there is. FALSE with errno. */
static gboolean
read_file (const FileItem *item, Scratch *s, gsize *length, int *fd)
{
  gsize n = 0;
  *fd = open (item->open_as ? item->open_as : item->path,
              O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (*fd < 0)
    return FALSE;
  for (;;)
    {
      if (n + 1 >= s->capacity)
        {
          s->capacity = MAX (2 * s->capacity, item->size + 65536);
          s->bytes = g_realloc (s->bytes, s->capacity);
        }
      gssize got = read (*fd, s->bytes + n, s->capacity - n - 1);
      if (got < 0 && errno == EINTR)
        continue;
      if (got < 0)
        return FALSE;
      if (got == 0)
        break;
      n += (gsize)got;
    }
  *length = n;
  return TRUE;
}

static guint64
last_line (const LineBlock *block)
{
  guint64 start = 0;
  for (const LineRecord *r = line_block_next (block, NULL); r;
       r = line_block_next (block, r))
    start = r->start;
  return start;
}

static void
scan (Small *small, const FileItem *item, Scratch *s, gsize length, int fd,
      Header *header, GString *message)
{
  Search *search = small->search;
  const char *name = walk_names_files (small->walk) ? item->path : NULL;
  s->lines.length = 0;
  line_scan (search->matcher, s->bytes, length, 0, length, scan_flags (search),
             &s->lines);
  const LineBlock *block = (const LineBlock *)(gpointer)s->lines.bytes;
  header->n_lines = block->n_lines;
  if (search->options->count)
    format_count (name, block->n_lines, s->out);
  else if (block->n_lines > 0)
    {
      gsize limit = binary_find_limit (fd, s->bytes, length, last_line (block));
      if (format_block (&search->format, name, s->bytes, block, 0, limit,
                        s->out))
        format_binary_message ("string_search", item->path, message);
    }
}

static gboolean
work (const HassBlock *block, HassWorker *worker, gpointer user_data,
      GError **error)
{
  Small *small = user_data;
  Scratch *s = &small->scratch[hass_worker_index (worker)];
  const FileItem *item = block->load->tag;
  g_autoptr (GString) message = g_string_new (NULL);
  Header header = { 0 };
  gsize length = 0;
  int fd = -1;
  (void)error;
  if (!s->out)
    s->out = g_string_new (NULL);
  g_string_set_size (s->out, sizeof header);
  if (item->error)
    {
      g_string_printf (message, "string_search: %s\n", item->error);
      header.failed = TRUE;
    }
  else if (!read_file (item, s, &length, &fd))
    {
      g_string_printf (message, "string_search: %s: %s\n", item->path,
                       g_strerror (errno));
      header.failed = TRUE;
    }
  else
    scan (small, item, s, length, fd, &header, message);
  if (fd >= 0)
    close (fd);
  header.n_out = s->out->len - sizeof header;
  header.n_message = message->len;
  if (header.n_lines == 0 && header.n_out == 0 && header.n_message == 0)
    return TRUE;
  memcpy (s->out->str, &header, sizeof header);
  g_string_append_len (s->out, message->str, message->len);
  return hass_worker_result (worker, s->out->str, s->out->len);
}

static gboolean
collect (const HassResult *result, gpointer user_data, GError **error)
{
  Small *small = user_data;
  Search *search = small->search;
  Header header;
  (void)error;
  memcpy (&header, result->data, sizeof header);
  const char *text = (const char *)result->data + sizeof header;
  search_write (search, text, header.n_out);
  if (header.n_message > 0)
    {
      g_autofree char *message
          = g_strndup (text + header.n_out, header.n_message);
      search_complain (search, message);
    }
  search->n_lines += header.n_lines;
  search->failed |= header.failed != 0;
  return TRUE;
}

static void
release (const HassLoad *load, gboolean committed, gpointer user_data)
{
  (void)committed;
  (void)user_data;
  file_item_free (load->tag);
}

/* Searches the walk's files up to the next large one, which *large gets;
   NULL after the last file. */
gboolean
search_small_files (Search *search, Walk *walk, FileItem **large,
                    GError **error)
{
  Small small = { .search = search, .walk = walk };
  HassReport *report = NULL;
  HassDataFarm farm = HASS_DATA_FARM_INIT;
  small.n_scratch = 4096 + 64; /* cores and modelled devices at most */
  small.scratch = g_aligned_alloc0 (small.n_scratch, sizeof (Scratch), 64);
  farm.name = "string_search";
  farm.user_data = &small;
  farm.generate = generate;
  farm.cpu_worker = work;
  farm.cost = HASS_COST_SIZED;
  farm.collect = collect;
  farm.order = HASS_RESULTS_ORDERED;
  farm.release = release;
  farm.run = run_options (search, HASS_FARM_COMBINE);
  gboolean ok = hass_data_farm_combine (&farm, &report, error);
  search_add_report (search, report);
  for (guint i = 0; i < small.n_scratch; i++)
    {
      Scratch *s = &small.scratch[i];
      g_free (s->bytes);
      line_buffer_clear (&s->lines);
      if (s->out)
        g_string_free (s->out, TRUE);
    }
  g_aligned_free (small.scratch);
  *large = small.large;
  return ok;
}
