/* SPDX-License-Identifier: MIT */
/* small.c: searches a run of small files with one combine farm.

   DESIGN. The walk is the generator: a load is a file of known size. The
   worker reads the file, searches it and formats the output. The collector
   only writes the results, in the order of the loads.

   Thread safety: workers touch nothing shared but the matcher. */
#include "search.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "binary.h"

/* A result: the header, the bytes for stdout, those for stderr. */
typedef struct
{
  guint64 n_lines;
  guint64 n_out, n_message; /* bytes */
  guint64 failed;
} Header;

/**
 * Scratch: the file that one worker searches, on cache lines of its own.
 * @bytes: [@capacity]; the first @length are the file's.
 * @fd: of the file; -1 where it is not open.
 * @out: room for the header, then the bytes for stdout.
 * @message: the bytes for stderr.
 */
typedef struct
{
  _Alignas(64) guint8 *bytes;
  gsize capacity, length;
  int fd;
  LineBuffer lines;
  Header header;
  GString *out, *message;
} Scratch;

/**
 * Small: one farm.
 * @large: the file that ended the run of small files; NULL: none.
 * @scratch: [@n_scratch] by worker index.
 */
typedef struct
{
  Search *search;
  Walk *walk;
  FileItem *large;
  Scratch *scratch;
  guint n_scratch;
} Small;

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

/* Opens the file and reads it to its end. FALSE with errno. */
static gboolean
read_file (const FileItem *item, Scratch *s)
{
  s->length = 0;
  s->fd = open (item->open_as ? item->open_as : item->path,
                O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (s->fd < 0)
    return FALSE;
  for (;;)
    {
      if (s->length + 1 >= s->capacity)
        {
          s->capacity = MAX (2 * s->capacity, item->size + 65536);
          s->bytes = g_realloc (s->bytes, s->capacity);
        }
      gssize got
          = read (s->fd, s->bytes + s->length, s->capacity - s->length - 1);
      if (got < 0 && errno == EINTR)
        continue;
      if (got <= 0)
        return got == 0;
      s->length += (gsize)got;
    }
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
scan (const Small *small, const FileItem *item, Scratch *s)
{
  const Search *search = small->search;
  const char *name = walk_names_files (small->walk) ? item->path : NULL;
  const LineScan wanted
      = { search->matcher, s->bytes, s->length, scan_flags (search) };
  s->lines.length = 0;
  line_scan (&wanted, 0, s->length, &s->lines);
  const LineBlock *block = (const LineBlock *)(gpointer)s->lines.bytes;
  s->header.n_lines = block->n_lines;
  if (search->options->count)
    format_count (name, block->n_lines, s->out);
  else if (block->n_lines > 0)
    {
      gsize limit
          = binary_find_limit (s->fd, s->bytes, s->length, last_line (block));
      const FormatText text = { name, s->bytes, 0, limit };
      if (format_block (&search->format, &text, block, s->out))
        format_binary_message ("string_search", item->path, s->message);
    }
}

static void
begin_result (Scratch *s)
{
  if (!s->out)
    {
      s->out = g_string_new (NULL);
      s->message = g_string_new (NULL);
    }
  s->fd = -1;
  s->header = (Header){ 0 };
  g_string_set_size (s->out, sizeof s->header);
  g_string_truncate (s->message, 0);
}

/* A file without lines and messages gives no result. */
static gboolean
end_result (Scratch *s, HassWorker *worker)
{
  Header *header = &s->header;
  header->n_out = s->out->len - sizeof *header;
  header->n_message = s->message->len;
  if (header->n_lines == 0 && header->n_out == 0 && header->n_message == 0)
    return TRUE;
  memcpy (s->out->str, header, sizeof *header);
  g_string_append_len (s->out, s->message->str, (gssize)s->message->len);
  return hass_worker_result (worker, s->out->str, s->out->len);
}

static gboolean
work (const HassBlock *block, HassWorker *worker, gpointer user_data,
      GError **error)
{
  Small *small = user_data;
  Scratch *s = &small->scratch[hass_worker_index (worker)];
  const FileItem *item = block->load->tag;
  (void)error;
  begin_result (s);
  if (item->error)
    {
      g_string_printf (s->message, "string_search: %s\n", item->error);
      s->header.failed = TRUE;
    }
  else if (!read_file (item, s))
    {
      g_string_printf (s->message, "string_search: %s: %s\n", item->path,
                       g_strerror (errno));
      s->header.failed = TRUE;
    }
  else
    scan (small, item, s);
  if (s->fd >= 0)
    close (s->fd);
  return end_result (s, worker);
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
        {
          g_string_free (s->out, TRUE);
          g_string_free (s->message, TRUE);
        }
    }
  g_aligned_free (small.scratch);
  *large = small.large;
  return ok;
}
