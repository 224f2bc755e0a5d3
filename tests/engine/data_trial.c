/* SPDX-License-Identifier: MIT */
/* data_trial.c: see data_trial.h.

   DESIGN. A datum knows what its bytes must be, or that they are undefined,
   and at most one operation in flight writes it or several read it. What a copy
   to the host brings is compared with that, and the gaps between the rows must
   be as they were.

   Thread safety: see data_trial.h. */
#include "data_trial.h"

#include <gio/gio.h>
#include <string.h>

#include "hass/error.h"
#include "hass/memory.h"

#define DATA 12
#define MOST_IN_FLIGHT 8
#define GAP 0x77
#define GAP_BYTES 100
#define WAIT_NS 20000000
#define MOST_WAITS 1000 /* without an end, of WAIT_NS each */

typedef struct
{
  guint8 *memory; /* NULL: not allocated */
  guint8 *value;  /* [row_bytes * rows] */
  gsize row_bytes, rows;
  gboolean known;
  guint reads;
  gboolean written;
} Datum;

typedef struct
{
  guint64 ticket;
  gboolean busy, to_host, computes, pinned;
  Datum *datum, *from;
  guint8 *host;
  gsize host_bytes, pitch;
  guint8 add;
} Op;

typedef struct
{
  HassDevice *device;
  const HassDeviceDataOps *ops;
  gboolean open, lost;
  Datum data[DATA];
  Op operations[MOST_IN_FLIGHT];
  guint in_flight;
} Side;

typedef struct
{
  const DataTrial *trial;
  DataTrialCounts *counts;
  GRand *rand;
  Side sides[DATA_TRIAL_DEVICES];
  guint64 next_ticket;
  const char *wrong;
} Run;

static guint
below (Run *r, gsize n)
{
  return (guint)g_rand_int_range (r->rand, 0, (gint32)n);
}

static void
wrong (Run *r, const char *what)
{
  if (!r->wrong)
    r->wrong = what;
}

static Side *
enter (Run *r, guint i)
{
  if (r->trial->enter)
    r->trial->enter (i);
  return &r->sides[i];
}

static Datum *
any_datum (Run *r, Side *side)
{
  return &side->data[below (r, DATA)];
}

static Op *
free_op (Run *r, Side *side)
{
  for (guint i = 0; i < MOST_IN_FLIGHT; i++)
    if (!side->operations[i].busy)
      {
        Op *op = &side->operations[i];
        *op = (Op){ .ticket = r->next_ticket++ };
        return op;
      }
  return NULL;
}

/* -- Steps ----------------------------------------------------------------- */

static void
allocate (Run *r, Side *side, Datum *d)
{
  g_autoptr (GError) error = NULL;
  gpointer memory = NULL;
  d->rows = 1 + below (r, 40);
  d->row_bytes = 1 + below (r, MAX (r->trial->most_bytes / d->rows, 1));
  gsize bytes = d->rows * d->row_bytes;
  r->counts->allocs++;
  if (side->ops->alloc (side->device, bytes, &memory, &error))
    {
      if (error || !memory || (gsize)memory % 256 != 0)
        wrong (r, "memory is not aligned, or there is an error");
      d->memory = memory;
      d->value = g_malloc (bytes);
      d->known = FALSE;
    }
  else if (!error)
    wrong (r, "alloc fails without an error");
  else if (g_error_matches (error, HASS_ERROR, HASS_ERROR_NO_MEMORY))
    r->counts->no_memory++;
}

static void
release (Side *side, Datum *d)
{
  if (d->memory)
    side->ops->free (side->device, d->memory);
  d->memory = NULL;
  g_clear_pointer (&d->value, g_free);
}

/* Half of the copies are from or to pinned memory. */
static void
make_host (Run *r, Op *op)
{
  if (below (r, 2))
    op->host = hass_memory_alloc (op->host_bytes, NULL);
  op->pinned = op->host != NULL;
  if (!op->host)
    op->host = g_malloc (op->host_bytes);
  memset (op->host, GAP, op->host_bytes);
}

static void
free_host (Op *op)
{
  if (op->pinned)
    hass_memory_free (op->host);
  else
    g_free (op->host);
  op->host = NULL;
}

static void
begun (Run *r, Side *side, Op *op, gboolean ok, GError *error)
{
  if (ok != !error)
    wrong (r, "an operation begins with an error, or fails without");
  if (!ok)
    {
      r->counts->refused++;
      if (!op->to_host) /* a part of it may have run */
        op->datum->known = FALSE;
      free_host (op);
      return;
    }
  op->busy = TRUE;
  side->in_flight++;
  r->counts->begun++;
  if (op->to_host)
    op->datum->reads++;
  else
    op->datum->written = TRUE;
  if (op->from)
    op->from->reads++;
}

/* With random bytes. */
static void
fill (Run *r, Op *op)
{
  guint8 *host = op->host;
  for (gsize i = 0; i < op->host_bytes; i += 4)
    {
      guint32 bytes = g_rand_int (r->rand);
      memcpy (host + i, &bytes, MIN (4, op->host_bytes - i));
    }
}

static void
copy_host (Run *r, Side *side, Datum *d, gboolean to_host)
{
  g_autoptr (GError) error = NULL;
  Op *op = free_op (r, side);
  if (!op || d->written || (to_host ? !d->known : d->reads > 0))
    return;
  op->datum = d;
  op->to_host = to_host;
  op->pitch = d->row_bytes + (below (r, 2) ? below (r, GAP_BYTES) : 0);
  op->host_bytes = (d->rows - 1) * op->pitch + d->row_bytes;
  make_host (r, op);
  if (!to_host)
    fill (r, op);
  HassDataCopy copy = { .memory = d->memory,
                        .host = op->host,
                        .row_bytes = d->row_bytes,
                        .rows = d->rows,
                        .host_pitch = op->pitch,
                        .to_host = to_host };
  gboolean ok = side->ops->copy (side->device, op->ticket, &copy, &error);
  begun (r, side, op, ok, error);
}

static void
copy_peer (Run *r, Side *side, Datum *d)
{
  g_autoptr (GError) error = NULL;
  Side *other = &r->sides[below (r, r->trial->n_devices)];
  Datum *from = any_datum (r, other);
  Op *op = free_op (r, side);
  gsize bytes = d->row_bytes * d->rows;
  if (!op || other == side || other->lost || !from->memory || !from->known
      || from->written || d->written || d->reads > 0
      || from->row_bytes * from->rows < bytes)
    return;
  op->datum = d;
  op->from = from;
  HassDataCopy copy = { .memory = d->memory,
                        .row_bytes = d->row_bytes,
                        .rows = d->rows,
                        .peer = other->device,
                        .peer_memory = from->memory };
  gboolean ok = side->ops->copy (side->device, op->ticket, &copy, &error);
  begun (r, side, op, ok, error);
}

typedef struct
{
  Run *run;
  Op *op;
  gboolean fails;
} Enqueue;

static gboolean
enqueue (HassGpuStream *stream, gpointer data, GError **error)
{
  Enqueue *e = data;
  Datum *d = e->op->datum;
  if (e->fails)
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_WORKER, "enqueue fails");
      return FALSE;
    }
  e->run->trial->launch (stream, d->memory, d->row_bytes * d->rows, e->op->add);
  return TRUE;
}

static void
compute (Run *r, Side *side, Datum *d)
{
  g_autoptr (GError) error = NULL;
  Op *op = free_op (r, side);
  if (!op || d->written || d->reads > 0)
    return;
  op->datum = d;
  op->computes = TRUE;
  op->add = (guint8)below (r, 256);
  Enqueue e = { r, op, below (r, 20) == 0 };
  gboolean ok
      = side->ops->compute (side->device, op->ticket, enqueue, &e, &error);
  if (e.fails && !side->lost && ok)
    wrong (r, "a computation begins though its function failed");
  begun (r, side, op, ok, error);
}

/* -- Ends ------------------------------------------------------------------ */

/* The rows that came to the host, and the gaps between them, which are shorter
   than GAP_BYTES. */
static gboolean
is_as_expected (const Op *op)
{
  const Datum *d = op->datum;
  guint8 gap[GAP_BYTES];
  memset (gap, GAP, sizeof gap);
  for (gsize row = 0; row < d->rows; row++)
    {
      const guint8 *host = op->host + row * op->pitch;
      gsize left = row + 1 < d->rows ? op->pitch - d->row_bytes : 0;
      if (memcmp (host, d->value + row * d->row_bytes, d->row_bytes) != 0
          || memcmp (host + d->row_bytes, gap, left) != 0)
        return FALSE;
    }
  return TRUE;
}

/* No other thread sees the values, so ThreadSanitizer need not watch this. */
__attribute__ ((no_sanitize ("thread"))) static void
add (guint8 *value, gsize bytes, guint8 what)
{
  for (gsize i = 0; i < bytes; i++)
    value[i] = (guint8)(value[i] + what);
}

static void
take_effect (Run *r, Op *op)
{
  Datum *d = op->datum;
  gsize bytes = d->row_bytes * d->rows;
  if (op->to_host)
    {
      if (!is_as_expected (op))
        wrong (r, "what a copy brings to the host is not what was there");
      return;
    }
  if (op->computes)
    add (d->value, bytes, op->add);
  else if (op->from)
    memcpy (d->value, op->from->value, bytes);
  else
    for (gsize row = 0; row < d->rows; row++)
      memcpy (d->value + row * d->row_bytes, op->host + row * op->pitch,
              d->row_bytes);
  d->known = op->computes ? d->known : TRUE;
}

static void
over (Run *r, Side *side, Op *op, gboolean ok)
{
  if (ok)
    take_effect (r, op);
  else if (!op->to_host)
    op->datum->known = FALSE;
  if (op->to_host)
    op->datum->reads--;
  else
    op->datum->written = FALSE;
  if (op->from)
    op->from->reads--;
  free_host (op);
  op->busy = FALSE;
  side->in_flight--;
}

/* Only close may follow; nothing is written to the host from now on. */
static void
lose (Run *r, Side *side)
{
  side->lost = TRUE;
  r->counts->lost++;
  for (guint i = 0; i < MOST_IN_FLIGHT; i++)
    if (side->operations[i].busy)
      over (r, side, &side->operations[i], FALSE);
  side->ops = NULL;
  side->device->ops->close (side->device);
  side->open = FALSE;
}

/* Returns: whether an operation has ended, or the device was lost. */
static gboolean
await (Run *r, Side *side, gint64 timeout_ns)
{
  g_autoptr (GError) error = NULL;
  HassDataDone done = { 0 };
  gboolean ok = side->ops->wait (side->device, timeout_ns, &done, &error);
  if (error)
    g_strlcpy (r->counts->why, error->message, sizeof r->counts->why);
  if (!ok)
    {
      if (error)
        lose (r, side);
      return error != NULL;
    }
  if (done.failed != (error != NULL))
    wrong (r, "an operation fails without an error, or ends with one");
  for (guint i = 0; i < MOST_IN_FLIGHT; i++)
    {
      Op *op = &side->operations[i];
      if (!op->busy || op->ticket != done.ticket)
        continue;
      r->counts->ended++;
      r->counts->failed += done.failed;
      over (r, side, op, !done.failed);
      return TRUE;
    }
  wrong (r, "a ticket ends that was not in flight");
  return TRUE;
}

static void
drain (Run *r, Side *side)
{
  guint n = 0;
  while (!side->lost && side->in_flight > 0 && !r->wrong && n < MOST_WAITS)
    n = await (r, side, WAIT_NS) ? 0 : n + 1;
  if (n == MOST_WAITS)
    wrong (r, "an operation does not end");
}

/* -- The trial ------------------------------------------------------------- */

static void
step (Run *r)
{
  if (r->trial->n_devices == 0)
    return;
  Side *side = enter (r, below (r, r->trial->n_devices));
  Datum *d = any_datum (r, side);
  if (side->lost)
    return;
  guint what = below (r, 10);
  if (!d->memory)
    allocate (r, side, d);
  else if (what == 0 && !d->written && d->reads == 0)
    release (side, d);
  else if (what <= 2)
    copy_host (r, side, d, FALSE);
  else if (what <= 4)
    copy_host (r, side, d, TRUE);
  else if (what <= 6)
    compute (r, side, d);
  else if (what == 7)
    copy_peer (r, side, d);
  else if (side->in_flight > 0)
    await (r, side, what == 8 ? 0 : WAIT_NS);
}

static void
end_all (Run *r)
{
  for (guint i = 0; i < r->trial->n_devices; i++)
    drain (r, enter (r, i));
  for (guint i = 0; i < r->trial->n_devices; i++)
    {
      Side *side = enter (r, i);
      for (guint k = 0; k < DATA; k++)
        {
          if (!side->open)
            side->data[k].memory = NULL;
          release (side, &side->data[k]);
        }
      if (side->open)
        side->device->ops->close (side->device);
    }
}

const char *
data_trial_run (const DataTrial *trial, DataTrialCounts *counts)
{
  HassDeviceFarm farm = { .name = "trial",
                          .kind = HASS_FARM_DATAFLOW,
                          .bundle_deadline_ns = trial->deadline_ns };
  Run r = { .trial = trial,
            .counts = counts,
            .rand = g_rand_new_with_seed (trial->seed),
            .next_ticket = 1 };
  *counts = (DataTrialCounts){ 0 };
  for (guint i = 0; i < trial->n_devices; i++)
    {
      Side *side = &r.sides[i];
      g_autoptr (GError) error = NULL;
      side->device = trial->devices[i];
      side->ops = side->device->ops->data;
      side->open = side->device->ops->open (side->device, &farm, &error);
      side->lost = !side->open;
      counts->lost += side->lost;
      if (error)
        g_strlcpy (counts->why, error->message, sizeof counts->why);
    }
  for (guint i = 0; i < trial->steps && !r.wrong; i++)
    step (&r);
  end_all (&r);
  g_rand_free (r.rand);
  return r.wrong;
}
