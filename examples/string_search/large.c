/* SPDX-License-Identifier: MIT */
/* large.c: a partition farm over one large mapped file.

   DESIGN. The file is one divisible load of bytes. A worker scans the lines
   that start in its run of blocks; its result is a sequence of LineBlocks.
   The collector gets them in order, adds up line numbers and prints. Whether
   the file is binary is known only a while after a line, because grep reads
   ahead: so lines are held back until enough of what follows is known to
   have no NUL.

   A worker unmaps what it has searched and nothing is to be printed of: the
   page tables of a file of gigabytes cost tens of milliseconds to take down,
   which munmap() at the end would do on one core.  So that no worker tears
   a huge page from another's hands, blocks of a large file are whole ones.

   A GPU worker tells in which segments of a block matches start; the lines
   there are found on its proxy thread, which gives the same LineBlocks.

   Thread safety: workers touch nothing shared but the matcher; the
   collector's state is its own. */
#include "search.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../mapped_file.h"
#include "binary.h"
#include "offload.h"

/* NULs are looked for while this much is still in the cache. */
#define STEP_BYTES (256 << 10)
#define HUGE_BYTES (2 << 20)
/* grep reads no further ahead than this beyond a line of ordinary length. */
#define AHEAD_BYTES (1 << 20)

typedef struct
{
  Search *search;
  const char *name; /* to print, or NULL */
  const char *path;
  const guint8 *base;
  const GpuFilter *filter; /* or NULL: no GPUs */
  gsize size;
  gsize block_bytes;
  int fd;

  /* The collector's. */
  guint64 n_lines, newlines;
  gsize known; /* no NUL before it, but first_nul */
  gsize first_nul, limit;
  gboolean has_limit, left_out;
  BinaryHoles holes;
  GQueue held; /* LineBlock, copies */
  GString *out;
} Large;

/* Blocks of whole huge pages where there are hundreds of them. */
static gsize
block_bytes (gsize size)
{
  gsize huge = size / 512 & ~(gsize)(HUGE_BYTES - 1);
  return huge > 0 ? MIN (huge, 2 * HUGE_BYTES) : STEP_BYTES;
}

/* A thread that needs a page again, for a line that a neighbour owns, maps it
   again. */
static void
unmap_searched (const guint8 *begin, const guint8 *end)
{
  gsize page = (gsize)sysconf (_SC_PAGESIZE);
  gsize first = ((gsize)begin + page - 1) & ~(page - 1);
  gsize last = (gsize)end & ~(page - 1);
  if (first < last)
    madvise ((gpointer)first, last - first, MADV_DONTNEED);
}

/* The same where blocks are not whole huge pages. */
static void
unmap_huge (const guint8 *begin, const guint8 *end)
{
  gsize first = ((gsize)begin + HUGE_BYTES - 1) & ~(gsize)(HUGE_BYTES - 1);
  gsize last = (gsize)end & ~(gsize)(HUGE_BYTES - 1);
  if (first < last)
    unmap_searched ((gconstpointer)first, (gconstpointer)last);
}

/* NULs matter only where lines are printed. */
static LineScan
wanted_lines (const Large *large)
{
  LineScanFlags flags = scan_flags (large->search);
  if (!(flags & LINE_SCAN_COUNT))
    flags |= LINE_SCAN_NUL;
  return (LineScan){ large->search->matcher, large->base, large->size, flags };
}

/* Appends the LineBlocks of [first, end); returns whether one has records. */
static gboolean
scan (const Large *large, gsize first, gsize end, LineBuffer *lines)
{
  const LineScan wanted = wanted_lines (large);
  gboolean has_records = FALSE;
  gsize step = wanted.flags & LINE_SCAN_COUNT ? end - first : STEP_BYTES;
  for (; first < end; first += step)
    {
      gsize at = lines->length;
      line_scan (&wanted, first, MIN (step, end - first), lines);
      const LineBlock *block = (const LineBlock *)(gpointer)(lines->bytes + at);
      has_records |= block->n_records > 0;
    }
  return has_records;
}

static gboolean
work (const HassBlock *block, HassWorker *worker, gpointer user_data,
      GError **error)
{
  Large *large = user_data;
  LineBuffer lines = { 0 };
  gsize end = block->first + block->count, next;
  (void)error;
  for (gsize first = block->first; first < end && !mapped_file_shrank ();
       first = next)
    {
      next = MIN (first + large->block_bytes, end);
      if (!scan (large, first, next, &lines)
          && large->block_bytes >= HUGE_BYTES)
        unmap_searched (large->base + first, large->base + next);
    }
  gboolean ok = hass_worker_result (worker, lines.bytes, lines.length);
  line_buffer_clear (&lines);
  return ok;
}

/* Unmaps whole huge pages between the records of a block. */
static void
unmap_between_records (const Large *large, const LineBlock *block)
{
  gsize at = block->first;
  gsize end = block->first + block->count;
  for (const LineRecord *r = line_block_next (block, NULL); r;
       r = line_block_next (block, r))
    {
      unmap_huge (large->base + at, large->base + r->start);
      at = r->start + r->length;
    }
  if (at < end)
    unmap_huge (large->base + at, large->base + end);
}

static gboolean
take_gpu_result (const HassBlock *block, gconstpointer records, gsize n_records,
                 HassWorker *worker, gpointer user_data, GError **error)
{
  const Large *large = user_data;
  const LineScan wanted = wanted_lines (large);
  const GpuFindings found
      = { large->filter, block->first, block->count, records, n_records };
  LineBuffer lines = { 0 };
  gboolean ok = offload_resolve (&wanted, &found, &lines, error);
  if (ok)
    {
      unmap_between_records (large, (const LineBlock *)(gpointer)lines.bytes);
      ok = hass_worker_result (worker, lines.bytes, lines.length);
    }
  line_buffer_clear (&lines);
  return ok;
}

static guint64
last_end (const LineBlock *block)
{
  guint64 end = 0;
  for (const LineRecord *r = line_block_next (block, NULL); r;
       r = line_block_next (block, r))
    end = r->start + 2 * r->length;
  return end;
}

static void
print (Large *large, const LineBlock *block)
{
  const FormatText text
      = { large->name, large->base, large->newlines, large->limit };
  g_string_truncate (large->out, 0);
  large->left_out
      |= format_block (&large->search->format, &text, block, large->out);
  large->newlines += block->n_newlines;
  if (!mapped_file_shrank ()) /* else lines may be of zeros */
    search_write (large->search, large->out->str, large->out->len);
}

/* Prints held blocks that are known to be text or binary; at the end all. */
static void
print_held (Large *large, gboolean at_end)
{
  LineBlock *block;
  while ((block = g_queue_peek_head (&large->held)))
    {
      gboolean decided = at_end || large->has_limit || block->n_records == 0
                         || last_end (block) + AHEAD_BYTES < large->known;
      if (!decided)
        return;
      if (!large->has_limit && (at_end || block->n_records > 0))
        {
          large->limit
              = binary_output_limit (&large->holes, large->base, large->size,
                                     large->first_nul, large->size);
          large->has_limit = at_end || large->first_nul != BINARY_NEVER
                             || large->limit != BINARY_NEVER;
        }
      print (large, block);
      g_free (g_queue_pop_head (&large->held));
    }
}

static gboolean
collect (const HassResult *result, gpointer user_data, GError **error)
{
  Large *large = user_data;
  const guint8 *bytes = result->data;
  (void)error;
  for (gsize at = 0; at < result->bytes;)
    {
      LineBlock head;
      memcpy (&head, bytes + at, sizeof head);
      large->n_lines += head.n_lines;
      if (!large->search->options->count)
        {
          large->known = head.first + head.count;
          if (large->first_nul == BINARY_NEVER && head.first_nul != LINE_NO_NUL)
            large->first_nul = head.first_nul;
          g_queue_push_tail (&large->held,
                             g_memdup2 (bytes + at, head.n_bytes));
          if (large->first_nul != BINARY_NEVER && !large->has_limit)
            {
              large->limit = binary_output_limit (&large->holes, large->base,
                                                  large->size, large->first_nul,
                                                  large->size);
              large->has_limit = TRUE;
            }
          print_held (large, FALSE);
        }
      at += head.n_bytes;
    }
  return TRUE;
}

static gboolean
map (Large *large, const FileItem *item)
{
  struct stat st;
  large->fd = open (item->path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (large->fd < 0 || fstat (large->fd, &st) != 0)
    return FALSE;
  large->holes.fd = large->fd;
  large->size = (gsize)st.st_size;
  large->block_bytes = block_bytes (large->size);
  if (large->size == 0)
    return TRUE;
  void *base = mmap (NULL, large->size, PROT_READ, MAP_PRIVATE, large->fd, 0);
  if (base == MAP_FAILED)
    return FALSE;
  madvise (base, large->size, MADV_HUGEPAGE);
  mapped_file_guard (base, large->size);
  large->base = base;
  return TRUE;
}

/* Prints the rest. Of a file that was truncated meanwhile the lines that were
   found are so; a count of some of them is wrong, and what stands behind them
   is not known to be binary. */
static void
finish (Large *large)
{
  Search *search = large->search;
  gboolean shrank = mapped_file_shrank ();
  if (search->options->count && !shrank)
    {
      g_string_truncate (large->out, 0);
      format_count (large->name, large->n_lines, large->out);
      search_write (search, large->out->str, large->out->len);
    }
  print_held (large, TRUE);
  if (shrank)
    {
      g_string_printf (large->out,
                       "string_search: %s: truncated, or not readable, while "
                       "it was searched\n",
                       large->path);
      search_complain (search, large->out->str);
      search->failed = TRUE;
    }
  else if (large->left_out)
    {
      g_string_truncate (large->out, 0);
      format_binary_message ("string_search", large->path, large->out);
      search_complain (search, large->out->str);
    }
  search->n_lines += large->n_lines;
}

static gboolean
run (Large *large, GError **error)
{
  Search *search = large->search;
  HassReport *report = NULL;
  HassLoad load = { .input = large->base,
                    .input_bytes = large->size,
                    .size = large->size };
  HassConstant constant;
  HassDataFarm farm = HASS_DATA_FARM_INIT;
  farm.name = "string_search";
  farm.user_data = large;
  farm.loads = &load;
  farm.n_loads = large->size > 0;
  farm.cpu_worker = work;
  farm.cost = HASS_COST_SIZED;
  farm.block_elements = large->block_bytes;
  farm.halo_elements = GPU_FILTER_REACH;
  if (large->filter)
    {
      constant.data = large->filter->head;
      constant.bytes = large->filter->bytes;
      farm.constants = &constant;
      farm.n_constants = 1;
      farm.gpu_worker = string_search_gpu_worker;
      farm.gpu_result = take_gpu_result;
      farm.gpu_record_bytes = sizeof (guint64);
      farm.gpu_records_per_element = GPU_FILTER_RECORDS_PER_BYTE;
      if (search->options->gpu == GPU_ONLY)
        farm.cpu_worker = NULL;
    }
  farm.collect = collect;
  farm.order = HASS_RESULTS_ORDERED;
  farm.run = run_options (search, HASS_FARM_PARTITION);
  gboolean ok = hass_data_farm_partition (&farm, &report, error);
  search_add_report (search, report);
  return ok;
}

/* Searches one large file. */
gboolean
search_large_file (Search *search, const FileItem *item, gboolean with_name,
                   GError **error)
{
  Large large = { .search = search,
                  .name = with_name ? item->path : NULL,
                  .path = item->path,
                  .fd = -1,
                  .holes = { .fd = -1 },
                  .first_nul = BINARY_NEVER,
                  .limit = BINARY_NEVER };
  gboolean ok = TRUE;
  g_queue_init (&large.held);
  large.out = g_string_new (NULL);
  terminal_add_total (search->terminal, item->size);
  if (!map (&large, item))
    {
      g_string_printf (large.out, "string_search: %s: %s\n", item->path,
                       g_strerror (errno));
      search_complain (search, large.out->str);
      search->failed = TRUE;
    }
  else if (!offload_choose (search, large.base, large.size, &large.filter,
                            error))
    ok = FALSE;
  else
    {
      ok = run (&large, error);
      /* Lines that were found are so; a count of some of them is wrong. */
      if (ok || !search->options->count)
        finish (&large);
    }
  if (large.base)
    {
      mapped_file_leave ();
      munmap ((void *)large.base, large.size);
    }
  if (large.fd >= 0)
    close (large.fd);
  g_queue_clear_full (&large.held, g_free);
  g_string_free (large.out, TRUE);
  return ok;
}
