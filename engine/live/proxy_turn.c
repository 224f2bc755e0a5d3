/* SPDX-License-Identifier: MIT */
/* proxy_turn.c: of several devices of one kind, when a pipeline or dataflow
   opens the next one; step 1, opening, of proxy.c.

   DESIGN. While a GPU's CUDA context is made, calls for other GPUs of the
   process wait: copies that are to be started, and kernels that are loaded, 130
   to 320 ms on two H100s, the more the more memory is pinned. Many GPUs that
   are opened together all come as late as the last one. So one GPU is opened
   first: the one that opens soonest. The others follow
   1. if it has computed nothing by the time that the start of another one would
      have taken after its own,
   2. once the work that has come, or is known to come, will take the open
      devices WORTH times as long as a start, and they have been what binds for
      1/SOON of one, or
   3. if more work than that may come, or the time of what has come is
      unknown, once the open ones have been what binds for as long as a start
      takes: then all takes at most twice as long as it would have if the better
      choice had been known (ski rental, Karlin et al. 1988, competitive snoopy
      caching).
   Each of them judges for itself, so those that follow may be opened together.

   Whether the open ones bind is seen in periods as long as a start. The first
   one begins when a device has computed something. The device is opened after
   one (by rule 2 after a part of it) in which the open ones had something in
   flight for most of the time (HassRest), else the next period begins; so a
   stream that becomes heavy gets its second device at most two periods later.
   What is in flight counts up to now, so a bundle that is longer than a period
   counts in each one that it spans. If a device shows or is lost, a new period
   begins: the mean over other devices says nothing of these, and one that has
   come may suffice. A dataflow does not know its devices' busy time, and they
   are taken to bind.

   Thread safety: the device's proxy thread, under the decision lock. */
#include "proxy-private.h"

/* Where the work that is left is worth a start, the open ones have to bind for
   1/SOON of one. A guess: more, and gaps between the first bundles, while cores
   feed them, decide; fewer, and the device follows late. */
#define SOON 4

/* Returns: TRUE if another device that is not lost should be the first one, and
   may yet compute something soon. */
static gboolean
another_is_first (const HassProxy *p, const HassProxyWatch *w, gint64 now_ns)
{
  const HassJob *job = p->job;
  for (guint d = 0; d < job->n_devices; d++)
    {
      HassDevice *other = job->gpus[d];
      HassDeviceOps ops;
      if (!other || d == p->d || job->totals[d].lost
          || !hass_device_alike (other, p->device)
          || !hass_device_ops_read (&ops, other, NULL))
        continue;
      gint64 ready_ns = job->devices[d].opens_at_ns;
      gint64 takes_ns = ops.opening_ns ? ops.opening_ns (other) : 0;
      if (ready_ns == 0
          && (takes_ns < w->open_ns || (takes_ns == w->open_ns && d < p->d)))
        ready_ns = w->begin_ns + takes_ns;
      if (ready_ns > 0 && now_ns < ready_ns + w->open_ns)
        return TRUE;
    }
  return FALSE;
}

/* Returns: for how long, since the period began, the open devices have been
   what binds, in ns; 0: they do not. Begins the next period if they did not
   bind in one as long as a start, or are others than at its beginning. */
static gint64
bound_ns (HassProxyWatch *w, const HassRest *rest, gint64 now_ns)
{
  gint64 ns = now_ns - w->period_ns;
  gboolean same = w->period_ns != 0 && w->period_open == rest->open;
  if (same && rest->busy_ns - w->period_busy_ns >= rest->binds * (double)ns)
    return ns;
  if (same && ns < w->open_ns)
    return 0;
  w->period_ns = now_ns;
  w->period_open = rest->open;
  w->period_busy_ns = rest->busy_ns;
  return 0;
}

/* Returns: TRUE if the device, which takes long to open, should be opened
   now. */
gboolean
hass_proxy_has_turn (const HassProxy *p, HassProxyWatch *w, gint64 now_ns)
{
  HassRest rest = p->job->source->rest (p->job, p->d);
  if (rest.alone || hass_job_stopping (p->job))
    return FALSE;
  if (!rest.shown)
    return !another_is_first (p, w, now_ns);
  gint64 ns = bound_ns (w, &rest, now_ns);
  if (rest.ns > HASS_PROXY_WORTH * (double)w->open_ns
      && (rest.binds == 0 || ns >= w->open_ns / SOON))
    return TRUE;
  return rest.more && ns >= w->open_ns;
}
