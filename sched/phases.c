/* SPDX-License-Identifier: MIT */
/* phases.c: see phases.h.
   Thread safety: as the strategy that owns the phases. */
#include "phases.h"

gpointer
hass_phases_new (gsize bytes, const HassStrategyEnv *env, HassPlanFunc plan)
{
  guint n = env->n_devices;
  HassPhases *p = g_malloc0 (bytes);
  hass_crew_init (&p->crew, env);
  p->plan = plan;
  p->parts = g_new0 (double, n);
  p->speeds = g_new0 (double, n);
  p->work = g_new0 (double, n);
  p->ns = g_new0 (double, n);
  p->kept = g_new0 (double, n);
  p->trying = g_new0 (gboolean, n);
  return p;
}

/* Frees what the phases own except the crew; hass_crew_destroy() frees that and
   the strategy's state. */
void
hass_phases_clear (HassPhases *p)
{
  g_free (p->parts);
  g_free (p->speeds);
  g_free (p->work);
  g_free (p->ns);
  g_free (p->kept);
  g_free (p->trying);
}

void
hass_phases_destroy (gpointer self)
{
  hass_phases_clear (self);
  hass_crew_destroy (self);
}

/* -- Parts -------------------------------------------------------------- */

/* Gives equal parts to all devices whose last grant did not fail, or to all
   devices if every last grant failed. The sum of parts is 1. */
void
hass_phases_equal (HassPhases *p)
{
  const HassCrew *crew = &p->crew;
  guint working = 0;
  for (guint d = 0; d < crew->n; d++)
    working += !crew->members[d].failed;
  for (guint d = 0; d < crew->n; d++)
    {
      gboolean part = working == 0 || !crew->members[d].failed;
      p->parts[d] = part ? 1. / (working ? working : crew->n) : 0;
    }
}

/* Gives parts in proportion to speeds; the sum of parts is 1. A working device
   without a speed, because it got nothing in the phases before, counts as the
   mean of the others. */
void
hass_phases_by_speed (HassPhases *p, const double *speeds)
{
  const HassCrew *crew = &p->crew;
  double known = 0, sum = 0;
  guint n_known = 0;
  for (guint d = 0; d < crew->n; d++)
    if (!crew->members[d].failed && speeds[d] > 0)
      {
        known += speeds[d];
        n_known++;
      }
  hass_phases_equal (p);
  for (guint d = 0; d < crew->n; d++)
    {
      if (n_known > 0 && p->parts[d] > 0)
        p->parts[d] = speeds[d] > 0 ? speeds[d] : known / n_known;
      sum += p->parts[d];
    }
  for (guint d = 0; d < crew->n; d++)
    p->parts[d] /= sum;
}

/* Returns TRUE if each device whose last grant did not fail has a speed. */
gboolean
hass_phases_known (const HassPhases *p, const double *speeds)
{
  for (guint d = 0; d < p->crew.n; d++)
    if (!p->crew.members[d].failed && !(speeds[d] > 0))
      return FALSE;
  return TRUE;
}

/* -- A phase ------------------------------------------------------------ */

/* Puts the work that the device has done in this round into *work, and its busy
   time into *ns. */
static void
done_so_far (const HassPhases *p, const HassRound *round, guint device,
             double *work, double *ns)
{
  const HassMember *m = &p->crew.members[device];
  *work = m->round_work;
  *ns = m->round_ns;
  if (device == p->crew.cpu)
    {
      HassProgress progress = hass_round_progress (round, device);
      *work = progress.work;
      *ns = progress.busy_ns;
    }
}

/* Begins a phase: updates the devices' speeds by what they did in the last
   phase, lets the strategy plan the next one, and cuts the shares. force: all
   devices wait. */
static void
begin_phase (HassPhases *p, HassRound *round, gboolean force)
{
  const HassCrew *crew = &p->crew;
  for (guint d = 0; d < crew->n; d++)
    {
      double work, ns;
      done_so_far (p, round, d, &work, &ns);
      if (work > p->work[d] && ns > p->ns[d])
        p->speeds[d] = (work - p->work[d]) / (ns - p->ns[d]);
      p->work[d] = work;
      p->ns[d] = ns;
    }
  guint64 first = hass_round_front (round);
  double waiting
      = hass_round_work (round, first, hass_round_back (round) - first);
  double phase = waiting;
  if (crew->n > 1)
    phase = p->plan (p, round, waiting);
  else
    hass_phases_equal (p); /* there is nothing to divide */
  hass_crew_carve_work (&p->crew, round, phase, p->parts,
                        p->n_begun == 0 && phase < waiting);
  p->n_begun++;
  p->untouched = force;
}

void
hass_phases_begin_round (gpointer self, HassRound *round)
{
  HassPhases *p = self;
  hass_crew_begin_round (self, round);
  p->n_begun = 0;
  for (guint d = 0; d < p->crew.n; d++)
    {
      p->work[d] = p->ns[d] = 0;
      p->trying[d] = FALSE;
    }
  if (!hass_crew_alone (&p->crew) && hass_round_waiting (round) > 0)
    begin_phase (p, round, FALSE);
}

/* Returns TRUE if the phase has ended: no unit is in a share, or granted to a
   device that others wait for. A device that failed and has a single unit is
   not waited for. Finished units are counted before waiting ones: a unit that
   moves between the two counts as granted. */
static gboolean
ended (const HassPhases *p, const HassRound *round)
{
  const HassCrew *crew = &p->crew;
  guint64 seen = 0;
  guint gpu = crew->n;
  for (guint d = 0; d < crew->n; d++)
    {
      seen += hass_round_progress (round, d).units + p->trying[d];
      if (d != crew->cpu)
        gpu = d;
    }
  for (guint d = 0; d < crew->n; d++)
    if (hass_round_share (round, d) > 0)
      return FALSE;
  if (crew->cpu < crew->n)
    seen += hass_round_exclusive (round, crew->cpu);
  if (gpu < crew->n)
    seen += hass_round_exclusive (round, gpu);
  return seen + hass_round_waiting (round) >= hass_round_units (round);
}

/* Grants a device its part of the units that were given back by a failed device
   and lie in no range, so that no phase would cut them into a share. Returns
   FALSE if there are none. */
static gboolean
stray (const HassCrew *crew, HassRound *round, HassGrant *grant)
{
  guint64 waiting = hass_round_waiting (round);
  guint64 whole = hass_round_back (round) - hass_round_front (round);
  if (waiting <= whole)
    return FALSE;
  grant->source = HASS_FROM_SHARE; /* the device's share is empty; units given
                                      back come first */
  grant->units = (waiting - whole + crew->n - 1) / crew->n;
  return TRUE;
}

/* Grants units from the back of the share of a device whose last grant failed
   or that is lost. single: one unit, and of any other device's share. Returns
   FALSE if there are none. */
static gboolean
take_share (const HassCrew *crew, HassRound *round, guint device,
            gboolean single, HassGrant *grant)
{
  for (guint d = 0; d < crew->n; d++)
    {
      guint64 waiting = hass_round_share (round, d);
      if (d == device || !(single || crew->members[d].failed) || waiting == 0)
        continue;
      grant->source = HASS_FROM_THEFT;
      grant->share = d;
      grant->units = single ? 1 : MAX (waiting / crew->n, 1);
      return TRUE;
    }
  return FALSE;
}

/* Grants a device whose last grant failed one unit, wherever there is any, to
   see whether it works again. Returns FALSE if the device did not fail or no
   unit waits. */
static gboolean
try_again (HassPhases *p, HassRound *round, guint device, HassGrant *grant)
{
  const HassCrew *crew = &p->crew;
  if (!crew->members[device].failed
      || !(hass_crew_leftovers (crew, round, device, FALSE, grant)
           || take_share (crew, round, device, TRUE, grant)))
    return FALSE;
  grant->units = 1;
  p->trying[device] = TRUE;
  return TRUE;
}

HassAnswer
hass_phases_grant (gpointer self, HassRound *round, guint device,
                   gboolean force, HassGrant *grant)
{
  HassPhases *p = self;
  HassCrew *crew = &p->crew;
  if (hass_crew_alone (crew))
    return hass_crew_leftovers (crew, round, device, TRUE, grant) ? HASS_TAKE
                                                                  : HASS_DONE;
  if (hass_crew_exclusive (crew, round, device, grant))
    return HASS_TAKE;
  grant->units = 0;
  if (hass_crew_own (crew, round, device, 0, grant))
    {
      grant->chunk = 0; /* other devices do not steal, so the cores may pull
                           many units at a time */
      return HASS_TAKE;
    }
  gboolean stuck = force && !p->untouched;
  for (guint d = 0; d < crew->n && stuck; d++)
    crew->members[d].failed |= hass_round_share (round, d) > 0;
  if (try_again (p, round, device, grant) || stray (crew, round, grant)
      || take_share (crew, round, device, FALSE, grant))
    return HASS_TAKE;
  if (hass_round_waiting (round) > 0 && (stuck || ended (p, round)))
    begin_phase (p, round, force);
  if (!hass_crew_own (crew, round, device, 0, grant))
    return HASS_WAIT;
  grant->chunk = 0;
  return HASS_TAKE;
}

void
hass_phases_observe (gpointer self, HassRound *round,
                     const HassCompletion *done)
{
  HassPhases *p = self;
  hass_crew_observe (self, round, done);
  p->trying[done->device] = FALSE;
  p->untouched = FALSE;
}
