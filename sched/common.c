/* SPDX-License-Identifier: MIT */
/* common.c: the crew and what its strategies measure of their devices. The
   DESIGN paragraph is in common.h.
   Thread safety: as the strategy that owns the crew. */
#include "common.h"

void
hass_crew_init (HassCrew *crew, const HassStrategyEnv *env)
{
  guint n = env->n_devices;
  *crew = (HassCrew){ .env = env, .n = n, .cpu = n };
  crew->members = g_new0 (HassMember, MAX (n, 1));
  crew->weights = g_new0 (double, MAX (n, 1));
  crew->counts = g_new0 (guint64, MAX (n, 1));
  gboolean calibrated = TRUE;
  for (guint d = 0; d < n; d++)
    {
      calibrated = calibrated && env->devices[d].work_per_ns > 0;
      if (env->devices[d].kind == HASS_DEVICE_CPU && crew->cpu == n)
        crew->cpu = d;
      else
        crew->n_gpus++;
    }
  /* Calibrated rates are used for all devices or for none: rates that this
     strategy measures may count work in other units, so the two must not be
     mixed. */
  for (guint d = 0; d < n && calibrated; d++)
    crew->members[d].rate = env->devices[d].work_per_ns;
}

gpointer
hass_crew_create (const HassStrategyEnv *env, GError **error)
{
  (void)error;
  HassCrew *crew = g_new (HassCrew, 1);
  hass_crew_init (crew, env);
  return crew;
}

void
hass_crew_destroy (gpointer self)
{
  HassCrew *crew = self;
  g_free (crew->members);
  g_free (crew->weights);
  g_free (crew->counts);
  g_free (crew);
}

/* Returns TRUE if the CPU pool is the only device: nothing is decided then, and
   its cores pull units from the common range in order of emission. */
gboolean
hass_crew_alone (const HassCrew *crew)
{
  return crew->n == 1 && crew->cpu == 0;
}

/* -- What is measured --------------------------------------------------- */

/* Returns TRUE if the device has no rate yet and works. */
static gboolean
unmeasured (const HassMember *m)
{
  return m->rate <= 0 && !m->failed;
}

/* Returns TRUE if each device whose last grant did not fail has a rate, so that
   the round can be divided by rates. */
gboolean
hass_crew_known (const HassCrew *crew)
{
  for (guint d = 0; d < crew->n; d++)
    if (crew->n > 1 && unmeasured (&crew->members[d]))
      return FALSE;
  return TRUE;
}

void
hass_crew_begin_round (gpointer self, HassRound *round)
{
  HassCrew *crew = self;
  crew->mapped = FALSE;
  crew->gpu_part = 0;
  for (guint d = 0; d < crew->n; d++)
    {
      HassMember *m = &crew->members[d];
      if (d != crew->cpu)
        crew->gpu_part = (hass_round_exclusive (round, d) + crew->n_gpus - 1)
                         / crew->n_gpus;
      m->round_work = m->round_ns = m->bundle_work = m->bundle_ns = 0;
      m->end_ns = m->share_end_ns = 0;
      m->probing = m->begun = m->own = FALSE;
    }
}

/* Adds a finished grant to what is measured of its device. The busy time of a
   GPU is the service time of its bundles, launch latency included, since this
   is the time that the device needs for its share. With several bundles in
   flight a bundle is served from the end of the bundle before it. */
void
hass_crew_observe (gpointer self, HassRound *round, const HassCompletion *done)
{
  HassCrew *crew = self;
  HassMember *m = &crew->members[done->device];
  m->failed = done->failed;
  gint64 begin_ns = MAX (done->grant_ns, m->end_ns);
  m->end_ns = MAX (m->end_ns, done->end_ns);
  if (done->failed || done->units == 0)
    return;
  if (done->device == crew->cpu)
    {
      HassProgress p = hass_round_progress (round, done->device);
      m->round_work = m->bundle_work = p.work;
      m->round_ns = m->bundle_ns = p.busy_ns;
    }
  else
    {
      double ns = MAX (done->end_ns - begin_ns, 1);
      m->round_work += done->work;
      m->round_ns += ns;
      if (m->own)
        m->share_end_ns = m->end_ns;
      m->least_ns = m->least_ns > 0 ? MIN (m->least_ns, ns) : ns;
      if (done->work > m->bundle_work)
        {
          m->bundle_work = done->work;
          m->bundle_ns = ns;
        }
    }
  if (m->rate <= 0 && m->round_ns > 0)
    m->rate = m->round_work / m->round_ns;
}

/* Adds a finished round to the rates: sums of work over sums of time, in which
   each older round counts half as much as the next, so that a round with little
   work changes little. largest_bundle: a GPU's rate is that of its largest
   bundle alone, which resembles its next bundle; else that of all its
   bundles. */
void
hass_crew_learn (HassCrew *crew, const HassRoundSummary *summary,
                 gboolean largest_bundle)
{
  for (guint d = 0; d < crew->n; d++)
    {
      HassMember *m = &crew->members[d];
      double work = largest_bundle ? m->bundle_work : m->round_work;
      double ns = largest_bundle ? m->bundle_ns : m->round_ns;
      if (d == crew->cpu)
        {
          work = summary->devices[d].work;
          ns = summary->devices[d].busy_ns;
        }
      if (work <= 0 || ns <= 0)
        continue;
      m->past_work = m->past_work / 2 + work;
      m->past_ns = m->past_ns / 2 + ns;
      m->rate = m->past_work / m->past_ns;
    }
}

/* Drops what earlier rounds add to the rates, so that the next round alone
   counts. */
void
hass_crew_forget (HassCrew *crew)
{
  for (guint d = 0; d < crew->n; d++)
    crew->members[d].past_work = crew->members[d].past_ns = 0;
}

/* Marks each device failed that got units of this round and computed none of
   them, as it is probably lost; it is then excluded from plans. */
void
hass_crew_absent (HassCrew *crew, const HassRoundSummary *summary)
{
  for (guint d = 0; d < crew->n; d++)
    if (crew->mapped && crew->counts[d] > 0 && summary->devices[d].units == 0)
      crew->members[d].failed = TRUE;
}

/* Measures each device with one unit. Returns TRUE, with the answer for the
   asking device in *answer, while a device is not measured; FALSE when all
   rates are known. force: all devices wait, so a device that is still
   unmeasured does not ask for work, and is excluded. */
gboolean
hass_crew_probe (HassCrew *crew, HassRound *round, guint device, gboolean force,
                 HassGrant *grant, HassAnswer *answer)
{
  if (crew->cpu < crew->n && crew->members[crew->cpu].rate <= 0)
    crew->members[crew->cpu].rate = hass_crew_rate (crew, round, crew->cpu);
  for (guint d = 0; d < crew->n && force; d++)
    crew->members[d].failed |= unmeasured (&crew->members[d]);
  if (hass_crew_known (crew)
      || hass_round_waiting (round) + hass_round_exclusive (round, device) == 0)
    return FALSE;
  HassMember *m = &crew->members[device];
  *answer = HASS_WAIT;
  if (!unmeasured (m) || m->probing)
    return TRUE;
  m->probing = TRUE;
  grant->source = device == crew->cpu ? HASS_FROM_FRONT : HASS_FROM_BACK;
  grant->units = 1;
  *answer = HASS_TAKE;
  return TRUE;
}

/* -- What is known ------------------------------------------------------ */

/* Returns the rate of a device in work per ns, including what this round has
   shown so far; 0: unknown. */
double
hass_crew_rate (const HassCrew *crew, const HassRound *round, guint device)
{
  const HassMember *m = &crew->members[device];
  double work = m->past_work + m->round_work;
  double ns = m->past_ns + m->round_ns;
  if (device == crew->cpu)
    {
      HassProgress p = hass_round_progress (round, device);
      work = m->past_work + p.work;
      ns = m->past_ns + p.busy_ns;
    }
  return work > 0 && ns > 0 ? work / ns : m->rate;
}

/* Returns [n] rates to plan with: 0 for a device whose last grant failed; all
   equal where none is known. Valid until the next call. */
const double *
hass_crew_weights (HassCrew *crew)
{
  double sum = 0;
  for (guint d = 0; d < crew->n; d++)
    {
      const HassMember *m = &crew->members[d];
      crew->weights[d] = m->failed ? 0 : m->rate;
      sum += crew->weights[d];
    }
  for (guint d = 0; d < crew->n && !(sum > 0); d++)
    crew->weights[d] = 1;
  return crew->weights;
}

/* Fills in the rates of all devices from the profile store (earlier runs) or
   else from their traits. Returns FALSE, and fills in nothing, if neither has a
   rate of each device. */
gboolean
hass_crew_told_rates (const HassCrew *crew, double *rates)
{
  const HassProfileRate *profile = crew->env->profile;
  gboolean stored = profile != NULL, told = TRUE;
  for (guint d = 0; d < crew->n; d++)
    {
      stored = stored && profile[d].work_per_ns > 0;
      told = told && crew->env->devices[d].work_per_ns > 0;
    }
  for (guint d = 0; d < crew->n && (stored || told); d++)
    rates[d]
        = stored ? profile[d].work_per_ns : crew->env->devices[d].work_per_ns;
  return stored || told;
}
