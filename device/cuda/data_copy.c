/* SPDX-License-Identifier: MIT */
/* data_copy.c: copies of data to a GPU, from it and between GPUs.

   DESIGN. Pinned host memory is copied directly, rows with their pitch. Other
   memory is staged: the copy is cut into pieces, which pass alternately through
   the halves of a pinned buffer, so that cores gather or scatter one piece
   while the link carries the other. With a deadline for bundles all copies to
   the host are staged: one that ends late must not write to memory that is used
   again by then.

   Thread safety: the device's proxy thread. */
#include "cuda-private.h"

#include <string.h>

#include "device/copy_crew.h"
#include "device/stream_copy.h"

/* Bytes that one core copies at a time; as in gather.c. */
#define PART_BYTES ((gsize)256 << 10)

static gsize
size_of (const HassDataCopy *c)
{
  return c->row_bytes * c->rows;
}

/* -- Between the datum in host memory and a half of the buffer ------------- */

typedef struct
{
  const HassDataCopy *copy;
  guint8 *half; /* holds the packed bytes from @begin on */
  gsize begin, end;
} Packing;

/* Copies the packed bytes [a, b), row by row. */
static void
pack (const Packing *p, gsize a, gsize b)
{
  const HassDataCopy *c = p->copy;
  gsize row_bytes = c->host_pitch == c->row_bytes ? size_of (c) : c->row_bytes;
  while (a < b)
    {
      gsize row = a / row_bytes, column = a % row_bytes;
      gsize n = MIN (row_bytes - column, b - a);
      guint8 *host = (guint8 *)c->host + row * c->host_pitch + column;
      if (c->to_host)
        memcpy (host, p->half + (a - p->begin), n);
      else
        hass_stream_copy (p->half + (a - p->begin), host, n);
      a += n;
    }
}

static void
pack_part (guint i, gpointer data)
{
  const Packing *p = data;
  gsize a = p->begin + i * PART_BYTES;
  pack (p, a, MIN (a + PART_BYTES, p->end));
}

static void
pack_all (HassCudaOp *op, guint half)
{
  Packing p = { .copy = &op->copy,
                .half = op->kit->host_in.data + half * HASS_CUDA_PIECE_BYTES,
                .begin = op->pieces[half].begin,
                .end = op->pieces[half].end };
  guint n = (guint)((p.end - p.begin + PART_BYTES - 1) / PART_BYTES);
  if (n > 1)
    hass_copy_crew_run (n, pack_part, &p);
  else
    pack (&p, p.begin, p.end);
}

/* -- Staged copies --------------------------------------------------------- */

/* Begins the next piece of a staged copy, in a half that is free. */
static gboolean
begin_piece (HassCudaDevice *d, HassCudaOp *op, GError **error)
{
  const HassCudart *cuda = hass_cudart ();
  const HassDataCopy *c = &op->copy;
  HassGpuKit *kit = op->kit;
  guint half = op->n_begun % 2;
  gsize begin = op->at, end = MIN (begin + HASS_CUDA_PIECE_BYTES, size_of (c));
  guint8 *there = kit->host_in.data + half * HASS_CUDA_PIECE_BYTES;
  guint8 *here = (guint8 *)c->memory + begin;
  op->pieces[half].begin = begin;
  op->pieces[half].end = end;
  int code;
  if (c->to_host)
    code
        = cuda->copy (there, here, end - begin, HASS_CUDA_TO_HOST, kit->stream);
  else
    {
      pack_all (op, half);
      code = cuda->copy (here, there, end - begin, HASS_CUDA_TO_DEVICE,
                         kit->stream);
    }
  if (code == 0)
    code = cuda->event_record (half ? kit->computed : kit->copied, kit->stream);
  if (code == 0 && end == size_of (c))
    code = cuda->event_record (kit->done, kit->stream);
  op->at = end;
  op->n_begun++;
  return hass_gpu_check (d->gpu, code, "copy a datum", error);
}

/* Goes on with a staged copy as far as it can without waiting. Returns: whether
   the copy has ended; FALSE with an error if it fails. */
gboolean
hass_cuda_go_on (HassCudaDevice *d, HassCudaOp *op, GError **error)
{
  while (op->n_landed < op->n_begun)
    {
      guint half = op->n_landed % 2;
      HassGpuKit *kit = op->kit;
      if (!hass_cuda_passed (d, half ? kit->computed : kit->copied,
                             "copy a datum", error))
        return FALSE;
      if (op->copy.to_host)
        pack_all (op, half);
      op->n_landed++;
      if (op->at < size_of (&op->copy) && !begin_piece (d, op, error))
        return FALSE;
    }
  return TRUE;
}

/* -- Beginning ------------------------------------------------------------- */

/* Lets this GPU and @peer access each other's memory if the machine can; else
   the driver copies through the host. Both, as the driver may let the copy
   engine of either carry a copy: one that writes to memory which its GPU cannot
   access breaks the context of the process. Returns: a code of the runtime. */
static int
share (HassCudaDevice *d, HassCudaDevice *peer)
{
  const HassCudart *cuda = hass_cudart ();
  int own = (int)d->gpu->index, other = (int)peer->gpu->index;
  guint64 bit = G_GUINT64_CONSTANT (1) << peer->gpu->index;
  if (d->data->shared & bit)
    return 0;
  int code = cuda->pool_share (other, own);
  if (code == 0)
    code = cuda->pool_share (own, other);
  if (code == 0)
    d->data->shared |= bit;
  return code;
}

static int
copy_directly (HassCudaDevice *d, const HassCudaOp *op)
{
  const HassCudart *cuda = hass_cudart ();
  const HassDataCopy *c = &op->copy;
  gpointer stream = op->kit->stream;
  gboolean packed = c->rows == 1 || c->host_pitch == c->row_bytes;
  HassCudaDirection direction
      = c->to_host ? HASS_CUDA_TO_HOST : HASS_CUDA_TO_DEVICE;
  if (c->peer)
    {
      HassCudaDevice *peer = (HassCudaDevice *)c->peer;
      int code = share (d, peer);
      return code != 0 ? code
                       : cuda->copy_peer (c->memory, (int)d->gpu->index,
                                          c->peer_memory, (int)peer->gpu->index,
                                          size_of (c), stream);
    }
  if (packed)
    return cuda->copy (c->to_host ? c->host : c->memory,
                       c->to_host ? c->memory : c->host, size_of (c), direction,
                       stream);
  if (c->to_host)
    return cuda->copy_rows (c->host, c->host_pitch, c->memory, c->row_bytes,
                            c->row_bytes, c->rows, direction, stream);
  return cuda->copy_rows (c->memory, c->row_bytes, c->host, c->host_pitch,
                          c->row_bytes, c->rows, direction, stream);
}

/* Enqueues a copy, or the first pieces of a staged one, on the stream of its
   kit. */
gboolean
hass_cuda_begin_copy (HassCudaDevice *d, HassCudaOp *op, GError **error)
{
  const HassDataCopy *c = &op->copy;
  gsize host_bytes = (c->rows - 1) * c->host_pitch + c->row_bytes;
  op->staged = c->host
               && ((c->to_host && d->farm->bundle_deadline_ns > 0)
                   || !hass_memory_is_pinned (c->host, host_bytes));
  if (c->host && !c->to_host)
    *(op->staged ? &d->transfers.staged_bytes : &d->transfers.direct_bytes)
        += size_of (c);
  if (!op->staged)
    return hass_gpu_check (d->gpu, copy_directly (d, op), "copy a datum", error)
           && hass_gpu_check (
               d->gpu,
               hass_cudart ()->event_record (op->kit->done, op->kit->stream),
               "record an event", error);
  if (!hass_gpu_reserve_host (d->gpu, &op->kit->host_in,
                              2 * HASS_CUDA_PIECE_BYTES, error)
      || !begin_piece (d, op, error))
    return FALSE;
  return op->at == size_of (c) || begin_piece (d, op, error);
}
