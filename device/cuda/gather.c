/* SPDX-License-Identifier: MIT */
/* gather.c: inputs that go through pinned staging; way 4 of in.c.

   DESIGN. Several threads gather, a piece of 256 KiB at a time. The proxy
   thread is one of them; between its pieces it enqueues the copy of the bytes
   that are gathered without a gap, a stripe of 1 to 4 MiB. The first stripe is
   small, so that the link is soon busy, and so is the last, since nothing
   overlaps its copy. A piece may begin and end within a block, except for
   tiles. With two threads smaller pieces are slower.

   Small inputs and tiles have room in staging of the slot. Others pass through
   the ring (HassGpuRing): a piece waits until the copies of what its chunk held
   before have ended. As a link is faster than the threads that gather, pieces
   seldom wait. A chunk belongs to one bundle, so the next one begins with the
   next chunk.

   Thread safety: the device's proxy thread; pieces by any. */
#include "cuda-private.h"

#include <stdatomic.h>

#include <sched.h>

#include "device/copy_crew.h"
#include "device/stream_copy.h"

#define LEAST_STRIPE ((gsize)1 << 20)
#define MOST_STRIPE ((gsize)4 << 20)
#define PIECE_BYTES ((gsize)256 << 10)
/* Chunks after which a copy is marked. Measured on an H200: with a mark at
   each, 1 GiB in loads of 1 MiB takes a quarter longer. */
#define MARK_CHUNKS 4
#define PIECES_OF_CHUNK (HASS_GPU_CHUNK_BYTES / PIECE_BYTES)
#define RING_BYTES (HASS_GPU_RING_CHUNKS * HASS_GPU_CHUNK_BYTES)
/* Blocks shorter than this, in bytes, are prefetched several blocks ahead,
   since the copy of one is too short to hide the latency of memory. A guess. */
#define SHORT_BYTES 512
#define LINE_BYTES 64

/* Enqueues the copies of the blocks, each of @bytes_of bytes at @place in
   pinned memory, to or from @on_device, where they lie one after another.
   Adjacent ones are one copy, as each takes a microsecond of this thread.
   Returns: the CUDA code. */
int
hass_cuda_copy_each (const HassLayout *layout, HassBlockPlaceFunc place,
                     HassBlockBytesFunc bytes_of, guint8 *on_device,
                     HassCudaDirection direction, gpointer stream)
{
  g_autofree gpointer *there = g_new (gpointer, layout->n);
  g_autofree gpointer *here = g_new (gpointer, layout->n);
  g_autofree gsize *bytes = g_new (gsize, layout->n);
  gboolean in = direction == HASS_CUDA_TO_DEVICE;
  gsize n = 0;
  for (gsize i = 0; i < layout->n; i++)
    {
      const HassBlock *b = &layout->blocks[i];
      guint8 *at = (guint8 *)place (b);
      gsize more = bytes_of (b);
      if (n > 0 && (guint8 *)here[n - 1] + bytes[n - 1] == at
          && hass_memory_is_pinned (here[n - 1], bytes[n - 1] + more))
        bytes[n - 1] += more;
      else if (more > 0)
        {
          there[n] = on_device;
          here[n] = at;
          bytes[n++] = more;
        }
      on_device += more;
    }
  return hass_cudart ()->copy_batch (in ? there : here, in ? here : there,
                                     bytes, n, direction, stream);
}

gboolean
hass_cuda_copy_in (HassCudaDevice *d, HassCudaSlot *slot, gsize to,
                   gconstpointer from, gsize bytes, GError **error)
{
  return bytes == 0
         || hass_gpu_check (d->gpu,
                            hass_cudart ()->copy (slot->kit->in.data + to, from,
                                                  bytes, HASS_CUDA_TO_DEVICE,
                                                  slot->in_stream),
                            "copy to the device", error);
}

/* Enqueues the copy of a group's tables (offsets and halos of its blocks)
   alone. */
gboolean
hass_cuda_send_tables (HassCudaDevice *d, HassCudaSlot *slot,
                       const HassCudaGroup *group, GError **error)
{
  return hass_cuda_copy_in (d, slot, group->in_at,
                            slot->kit->host_in.data + group->host_at,
                            group->layout.table_bytes, error);
}

typedef struct
{
  HassCudaDevice *d;
  HassCudaSlot *slot;
  const HassCudaGroup *group;
  /* Offset of each block in the packed input; NULL: the input is one
     contiguous stretch. */
  const guint64 *offsets;
  guint8 *to; /* staging address of byte 0 of the packed input */
  /* NULL: there is room for all. Else the piece at @first is that at the begin
     of a chunk, @first_chunk. */
  HassGpuRing *ring;
  guint64 first_chunk;
  gsize first, end;
  gsize look_ahead; /* number of blocks that are prefetched ahead */
  /* Used by the proxy only, the thread that drives the GPU. */
  gsize sent; /* packed bytes before this one are enqueued for the GPU */
  /* Number of pieces gathered from the first one on without a gap. */
  guint n_gathered;
  gboolean failed;
  GError *error;
  pthread_t proxy;
  _Atomic guint n_roomy; /* pieces from the first one on for which is room */
  guint n_pieces;
  _Atomic guint8 gathered[]; /* [n_pieces] */
} Gather;

/* Returns: the index of the first block that begins at or after byte @at of
   the packed input; the number of blocks if there is none. */
static gsize
block_at (const Gather *g, gsize at)
{
  gsize lo = 0, hi = g->group->layout.n;
  while (lo < hi)
    {
      gsize middle = lo + (hi - lo) / 2;
      if (g->offsets[middle] < at)
        lo = middle + 1;
      else
        hi = middle;
    }
  return lo;
}

/* Returns: the packed byte at which piece @i begins; for @i = n_pieces the end
   of the last piece. Pieces are the parts of the input that threads gather in
   parallel. */
static gsize
piece_at (const Gather *g, guint i)
{
  return MIN (g->first + i * PIECE_BYTES, g->end);
}

/* Returns: where byte @at of the packed input lies in staging, and the bytes of
   its piece that follow. */
static guint8 *
staging_at (const Gather *g, gsize at)
{
  if (!g->ring)
    return g->to + at;
  return g->ring->memory.data
         + (g->first_chunk * HASS_GPU_CHUNK_BYTES + (at - g->first))
               % RING_BYTES;
}

/* Prefetches the first two cache lines of the block that is look_ahead blocks
   after block @k. Without this the copy would wait for memory at the beginning
   of each block, as scattered blocks are unknown to the hardware's
   prefetcher. */
static void
look_ahead (const Gather *g, gsize k)
{
  const HassLayout *l = &g->group->layout;
  const guint8 *next
      = hass_layout_input (&l->blocks[MIN (k + g->look_ahead, l->n - 1)]);
  __builtin_prefetch (next);
  __builtin_prefetch (next + LINE_BYTES);
}

/* Copies bytes [a, b) of the packed input from the blocks into the staging
   buffer. Both a and b may lie within a block. */
static void
gather_bytes (const Gather *g, gsize a, gsize b)
{
  const HassLayout *l = &g->group->layout;
  guint8 *to = staging_at (g, a);
  gsize k = block_at (g, a);
  if (k == l->n || g->offsets[k] > a)
    k--;
  for (gsize at = a; at < b; k++)
    {
      const guint8 *from = hass_layout_input (&l->blocks[k]);
      gsize end = MIN (g->offsets[k + 1], b);
      look_ahead (g, k);
      if (from && end > at)
        hass_stream_copy (to + (at - a), from + (at - g->offsets[k]), end - at);
      at = end;
    }
}

/* Copies the tiles (blocks of a matrix, rows with gaps in host memory) that
   begin in bytes [a, b) of the packed input into the staging buffer, without
   the gaps. */
static void
gather_tiles (const Gather *g, gsize a, gsize b)
{
  gsize last = block_at (g, b);
  for (gsize k = block_at (g, a); k < last; k++)
    hass_layout_copy_in (&g->group->layout.blocks[k], g->to + g->offsets[k]);
}

/* Enqueues the copy of a stretch of staging that holds the packed input from
   byte g->sent on. @before: bytes of tables that lie there before these. */
static void
send (Gather *g, const guint8 *from, gsize before, gsize bytes)
{
  gsize to = g->group->in_at + g->group->layout.table_bytes + g->sent - before;
  if (!g->failed)
    g->failed = !hass_cuda_copy_in (g->d, g->slot, to, from - before,
                                    before + bytes, &g->error);
  g->sent += bytes;
}

/* Marks what has been sent, if that is much or all: streams of bundles are the
   slower the more marks there are (doc/results/auto-few.md, "Memory for
   inputs"); why is not known. */
static void
mark (Gather *g)
{
  gsize sent = g->sent - g->first;
  gboolean all = g->sent == g->end;
  guint64 n
      = (all ? sent + HASS_GPU_CHUNK_BYTES - 1 : sent) / HASS_GPU_CHUNK_BYTES;
  HassGpuRing *ring = g->ring;
  if (!all && g->first_chunk + n < ring->n_sent + MARK_CHUNKS)
    return;
  if (ring->n_marks == 0)
    ring->oldest_ns = hass_clock_ns ();
  guint at = (ring->first + ring->n_marks++) % HASS_GPU_RING_CHUNKS;
  ring->n_sent = ring->ends[at] = g->first_chunk + n;
  if (!g->failed)
    g->failed = !hass_gpu_check (
        g->d->gpu,
        hass_cudart ()->event_record (ring->copied[at], g->slot->in_stream),
        "record an event", &g->error);
}

/* Enqueues the copy to the GPU of the packed bytes from g->sent to @end, which
   are gathered. In staging of the slot the group's tables (offsets and halos of
   blocks) lie before byte 0; the first copy takes them along. */
static void
send_up_to (Gather *g, gsize end)
{
  if (!g->ring)
    {
      send (g, g->to + g->sent, g->sent == 0 ? g->group->layout.table_bytes : 0,
            end - g->sent);
      return;
    }
  while (g->sent < end)
    {
      const guint8 *from = staging_at (g, g->sent);
      gsize to_end = RING_BYTES - (gsize)(from - g->ring->memory.data);
      send (g, from, 0, MIN (end - g->sent, to_end));
    }
  mark (g);
}

/* Finds out for how many pieces there is room in the ring. */
static void
look_for_room (Gather *g)
{
  HassGpuRing *ring = g->ring;
  guint n_roomy = atomic_load_explicit (&g->n_roomy, memory_order_relaxed);
  if (n_roomy == g->n_pieces)
    return;
  while (!g->failed && ring->n_marks > 0
         && hass_cuda_passed (g->d, ring->copied[ring->first],
                              "copy to the device", &g->error))
    {
      ring->n_copied = ring->ends[ring->first];
      ring->first = (ring->first + 1) % HASS_GPU_RING_CHUNKS;
      ring->n_marks--;
      ring->oldest_ns = hass_clock_ns ();
    }
  if (!g->failed && !g->error && ring->n_marks > 0
      && hass_cuda_past_deadline (g->d, ring->oldest_ns))
    hass_cuda_note_hung (g->d, "a copy to the device", &g->error);
  g->failed |= g->error != NULL;
  guint64 chunks = ring->n_copied + HASS_GPU_RING_CHUNKS - g->first_chunk;
  n_roomy = g->failed ? g->n_pieces
                      : (guint)MIN (chunks * PIECES_OF_CHUNK, g->n_pieces);
  /* The release pairs with the acquire in await_room(): what the chunks held
     before has been read. */
  atomic_store_explicit (&g->n_roomy, n_roomy, memory_order_release);
}

/* Enqueues the copy of the bytes gathered so far, if they suffice for an
   efficient copy: half of the bytes sent before, or half of the remaining ones
   if these are fewer, between LEAST_STRIPE and MOST_STRIPE. Called by the
   proxy (the thread that drives the GPU) after each piece, so that copies to
   the GPU overlap gathering. */
static void
send_gathered (gpointer data)
{
  Gather *g = data;
  while (g->n_gathered < g->n_pieces
         && atomic_load_explicit (&g->gathered[g->n_gathered],
                                  memory_order_acquire))
    g->n_gathered++;
  if (g->ring)
    look_for_room (g);
  gsize there = piece_at (g, g->n_gathered);
  gsize enough = MIN (g->sent - g->first, g->end - g->sent) / 2;
  if (there >= g->sent + CLAMP (enough, LEAST_STRIPE, MOST_STRIPE))
    send_up_to (g, there);
}

/* Waits until there is room for a piece. The proxy makes it. */
static void
await_room (Gather *g, guint i)
{
  gboolean proxy = pthread_equal (pthread_self (), g->proxy);
  while (i >= atomic_load_explicit (&g->n_roomy, memory_order_acquire))
    {
      if (proxy)
        send_gathered (g);
      sched_yield ();
    }
}

static void
gather_piece (guint i, gpointer data)
{
  Gather *g = data;
  const HassLayout *l = &g->group->layout;
  gsize a = piece_at (g, i), b = piece_at (g, i + 1);
  if (g->ring)
    await_room (g, i);
  if (!g->offsets)
    hass_stream_copy (staging_at (g, a), hass_layout_input (&l->blocks[0]) + a,
                      b - a);
  else if (l->has_tiles)
    gather_tiles (g, a, b);
  else
    gather_bytes (g, a, b);
  /* The release pairs with the acquire load in send_gathered: the proxy sees
     the bytes of the piece before it enqueues their copy. */
  atomic_store_explicit (&g->gathered[i], 1, memory_order_release);
}

/* Has the gathered input pass through the ring, behind the group's tables if it
   is all of it or its begin. Returns: FALSE with an error. */
static gboolean
use_ring (Gather *g, GError **error)
{
  HassGpuRing *ring = &g->d->slots[0].kit->ring;
  g->ring = ring;
  g->slot->kit->ringed_bytes += g->end - g->first;
  g->first_chunk = ring->n_sent;
  g->proxy = pthread_self ();
  look_for_room (g);
  if (!g->failed)
    return g->first > 0
           || hass_cuda_send_tables (g->d, g->slot, g->group, error);
  g_propagate_error (error, g->error);
  return FALSE;
}

/* Gathers bytes [first, end) of the group's packed input into pinned staging
   and enqueues their copy to the GPU, with the group's tables
   if first is 0. Returns: FALSE with an error if the copy cannot be
   enqueued. */
gboolean
hass_cuda_send_staged (HassCudaDevice *d, HassCudaSlot *slot,
                       HassCudaGroup *group, gsize first, gsize end,
                       GError **error)
{
  const HassLayout *l = &group->layout;
  guint8 *tables = slot->kit->host_in.data + group->host_at;
  gint64 begin_ns = hass_clock_ns ();
  gsize bytes = end - first;
  if (bytes == 0)
    return first > 0 || hass_cuda_send_tables (d, slot, group, error);
  gsize n = (bytes + PIECE_BYTES - 1) / PIECE_BYTES;
  g_autofree Gather *g = g_malloc0 (sizeof *g + n);
  d->transfers.staged_bytes += bytes;
  *g = (Gather){ .d = d,
                 .slot = slot,
                 .group = group,
                 .to = tables + l->table_bytes,
                 .first = first,
                 .end = end,
                 .look_ahead = l->input_bytes / l->n < SHORT_BYTES ? 8 : 1,
                 .sent = first,
                 .n_pieces = (guint)n };
  if (group->rings && !use_ring (g, error))
    return FALSE;
  if (!l->adjacent && l->n > 1)
    g->offsets = (const guint64 *)(gconstpointer)(tables + l->offsets_at);
  if (l->adjacent || l->n > 1)
    slot->host_ns += hass_copy_crew_run_between ((guint)n, gather_piece,
                                                 send_gathered, g);
  else
    {
      hass_layout_copy_in (&l->blocks[0], g->to);
      slot->host_ns += hass_clock_ns () - begin_ns;
    }
  if (g->sent < end)
    send_up_to (g, end);
  if (g->failed)
    {
      g_propagate_error (error, g->error);
      return FALSE;
    }
  if (l->adjacent && bytes >= HASS_GPU_CHOICE_BYTES)
    hass_gpu_way_took (d->gpu, HASS_GPU_STAGED, bytes,
                       hass_clock_ns () - begin_ns);
  return TRUE;
}
