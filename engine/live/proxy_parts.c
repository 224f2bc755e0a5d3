/* SPDX-License-Identifier: MIT */
/* proxy_parts.c: parts of a grant, as large as a device takes them; steps 2
   and 4 of proxy.c.

   DESIGN. A part is cut from the front of what is left of a grant, within
   the bytes a device takes at once. Where the farm has a gpu_multiple it ends
   at one: pieces of rows of tiles take a kernel and a copy each. A part that
   did not fit waits until it is alone there, then it is halved, and what
   follows is cut no larger. A single unit that does not fit is left to the CPU,
   or fails with its sizes.

   Thread safety: the device's proxy thread. */
#include "proxy-private.h"

#define LEAST_BLOCKS 16
#define EXPECTED_BLOCKS 65536 /* room for more is made when they are there */

/* -- 2. Cutting --------------------------------------------------------- */

static guint64
bytes_of (const HassBlock *block)
{
  return (block->input ? block->input_bytes : block->load->input_bytes)
         + block->output_bytes;
}

static void
reserve (HassProxyPart *part, guint32 n)
{
  if (part->capacity >= n)
    return;
  part->capacity = MAX (MAX (2 * part->capacity, n), LEAST_BLOCKS);
  part->blocks = g_renew (HassBlock, part->blocks, part->capacity);
}

/* Adjacent blocks of a divisible load become one, as for a core. */
static void
cut_merged (HassProxy *p, HassProxyPart *part, HassRound *round,
            HassExtent rest, guint32 most)
{
  reserve (part, 1);
  HassBlock *block = &part->blocks[0];
  hass_round_merge (round, (HassExtent){ rest.first, 1 }, block);
  guint32 n = most;
  if (p->part_bytes > 0)
    n = (guint32)CLAMP (p->part_bytes / MAX (bytes_of (block), 1), 1, most);
  n = MIN (most, hass_part_units (rest, n, p->job->farm->gpu_multiple));
  part->extent = (HassExtent){ rest.first, n };
  hass_round_merge (round, part->extent, block);
  part->n_blocks = 1;
  part->bytes = block->input_bytes;
  part->out_bytes = block->output_bytes;
  part->all_bytes = bytes_of (block);
  part->elements = block->count;
}

/* How many there may be, by the first of them. */
static guint32
expected (const HassProxy *p, const HassRound *round, guint32 first,
          guint32 most)
{
  HassBlock block;
  if (p->part_bytes == 0)
    return most;
  hass_round_block (round, first, &block);
  return (guint32)CLAMP (p->part_bytes / MAX (bytes_of (&block), 1), 1, most);
}

static void
cut_single (HassProxy *p, HassProxyPart *part, HassRound *round,
            HassExtent rest, guint32 most)
{
  guint64 bytes = 0, out_bytes = 0, all_bytes = 0, elements = 0;
  guint32 n = 0, fit = expected (p, round, rest.first, most);
  reserve (part, MIN (fit, EXPECTED_BLOCKS));
  if (round->divisible) /* loads may be of any size */
    most = MIN (most, hass_part_units (rest, fit, p->job->farm->gpu_multiple));
  for (; n < most; n++)
    {
      reserve (part, n + 1);
      HassBlock *block = &part->blocks[n];
      if (round->divisible)
        hass_round_block (round, rest.first + n, block);
      else
        hass_round_load_block (round, rest.first + n, block);
      guint64 each = bytes_of (block);
      if (p->part_bytes > 0 && n > 0 && all_bytes + each > p->part_bytes)
        break;
      all_bytes += each;
      bytes += block->input_bytes;
      out_bytes += block->output_bytes;
      elements += block->count;
    }
  part->all_bytes = all_bytes;
  part->bytes = bytes;
  part->out_bytes = out_bytes;
  part->elements = elements;
  part->extent = (HassExtent){ rest.first, n };
  part->n_blocks = n;
}

/* Cuts one part from the front of what is left of a bundle. */
void
hass_proxy_cut (HassProxy *p, HassProxyBundle *b, HassProxyPart *part)
{
  HassRound *round = &b->round->round;
  HassExtent rest = b->rest;
  HassBlock unused;
  guint32 most = p->part_units > 0 ? MIN (p->part_units, rest.n) : rest.n;
  if (hass_round_merge (round, (HassExtent){ rest.first, 1 }, &unused))
    cut_merged (p, part, round, rest, most);
  else
    cut_single (p, part, round, rest, most);
  guint32 n = part->extent.n;
  b->rest = (HassExtent){ rest.first + n, rest.n - n };
  b->n_parts++;
  part->bundle = b;
}

/* -- 4. Memory ---------------------------------------------------------- */

static gboolean
cpu_can_take (HassProxy *p, HassRound *round, HassExtent e)
{
  return p->job->cpu >= 0
         && e.first + e.n <= round->n_units - round->n_only_gpu;
}

/* A single unit, alone on the device, has no room there. */
static void
refuse_unit (HassProxy *p, HassProxyPart *part, const char *why)
{
  HassJob *job = p->job;
  HassProxyBundle *b = part->bundle;
  HassSlot *round = b->round;
  HassExtent e = part->extent;
  gboolean elsewhere = cpu_can_take (p, &round->round, e);
  g_autofree char *message = g_strdup_printf (
      "load %" G_GUINT64_FORMAT " needs %" G_GUINT64_FORMAT " bytes on %s: %s",
      part->blocks[0].seq, bytes_of (&part->blocks[0]), job->devices[p->d].name,
      why);
  pthread_mutex_lock (&job->decision);
  hass_proxy_note_locked (p, message);
  if (elsewhere)
    hass_round_keep_from_gpus (&round->round, e);
  pthread_mutex_unlock (&job->decision);
  if (!elsewhere)
    {
      HassDone counted = { .n = e.n, .n_failed = e.n, .part = TRUE };
      hass_execute_refused (job, p->worker, round, e, message);
      hass_execute_count (job, p->worker, round, counted, 0,
                          hass_live_now (job));
    }
  b->failed |= elsewhere;
  b->n_parts--;
  part->bundle = NULL;
  if (b->n_parts == 0 && b->rest.n == 0)
    hass_proxy_finish_bundle (p, b, hass_live_now (job));
  if (!elsewhere)
    hass_job_units_finished (job, round, e.n);
  hass_live_changed (job);
}

/* A part did not fit. It was cut from the front of its bundle's rest, so it
   can go back there, unless another one was cut since. */
void
hass_proxy_make_smaller (HassProxy *p, HassProxyPart *part, const char *why)
{
  HassProxyBundle *b = part->bundle;
  HassExtent e = part->extent;
  gboolean was_alone = p->n_in_flight == 0;
  if (was_alone && e.n == 1)
    {
      p->alone = FALSE;
      refuse_unit (p, part, why);
      return;
    }
  if (was_alone)
    {
      p->part_bytes = MAX (part->all_bytes / 2, 1);
      p->part_units = e.n / 2;
    }
  p->alone = !was_alone;
  b->n_parts--;
  part->bundle = NULL;
  if (b->rest.n == 0 || e.first + e.n == b->rest.first)
    {
      b->rest = (HassExtent){ e.first, e.n + b->rest.n };
      return;
    }
  pthread_mutex_lock (&p->job->decision);
  hass_proxy_note_locked (p, why);
  hass_round_give_back (&b->round->round, e);
  pthread_mutex_unlock (&p->job->decision);
  b->failed = TRUE;
}
