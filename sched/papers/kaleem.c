/* SPDX-License-Identifier: MIT */
/* kaleem.c: profiling, ratio and division of Kaleem's schemes. The DESIGN
   paragraph is in kaleem-private.h.
   Thread safety: as the strategy that owns it. */
#include "kaleem-private.h"

#include <math.h>

HassKaleem *
hass_kaleem_new (const HassStrategyEnv *env, const HassKaleemScheme *scheme)
{
  HassKaleem *k = g_new0 (HassKaleem, 1);
  hass_crew_init (&k->crew, env);
  k->scheme = scheme;
  k->devices = g_new0 (HassKaleemDevice, MAX (env->n_devices, 1));
  return k;
}

void
hass_kaleem_destroy (gpointer self)
{
  HassKaleem *k = self;
  g_free (k->devices);
  hass_crew_destroy (self);
}

/* Returns: the number of units of a profile with @elements elements; with 0,
   the number that fills the GPU (section 4.2). Where the farm makes each unit
   one thread block, a unit fills one multiprocessor, whatever its elements. */
guint64
hass_fill_units (const HassStrategyEnv *env, HassRound *round, guint device,
                 double elements)
{
  const HassDeviceTraits *traits = &env->devices[device];
  guint64 front = hass_round_front (round);
  guint64 each = front < hass_round_back (round)
                     ? hass_round_elements (round, front)
                     : 1;
  gboolean block = env->farm == HASS_FARM_INDIVISIBLE
                   || (env->farm == HASS_FARM_FUNCTION && each <= 1);
  double units = elements > 0 ? elements : traits->width;
  if (block)
    units = elements > 0 ? elements : traits->cores;
  else
    units = ceil (units / MAX (each, 1) / MAX (env->element_threads, 1));
  return (guint64)CLAMP (units, 1, 1e15);
}

guint64
hass_kaleem_profile (const HassKaleem *k, HassRound *round, guint device)
{
  (void)round;
  return k->devices[device].profile;
}

static gboolean
is_gpu (const HassKaleem *k, guint device)
{
  return device != k->crew.cpu;
}

static gboolean
failed (const HassKaleem *k, guint device)
{
  return k->crew.members[device].failed;
}

/* -- 2. Division -------------------------------------------------------- */

/* Ends profiling and carves the waiting units (moves them into the devices'
   shares) by the measured ratio. Without a measurement the CPU pool gets all
   of them or, if there is none, the GPUs get equal parts. */
static void
divide (HassKaleem *k, HassRound *round)
{
  HassCrew *crew = &k->crew;
  double sum = 0;
  k->profiling = FALSE;
  for (guint d = 0; d < crew->n; d++)
    {
      crew->weights[d] = failed (k, d) ? 0 : k->devices[d].ratio;
      sum += crew->weights[d];
    }
  for (guint d = 0; d < crew->n && !(sum > 0); d++)
    crew->weights[d]
        = !failed (k, d) && (d == crew->cpu || crew->cpu == crew->n);
  hass_crew_carve_parts (crew, round, crew->weights);
}

/* Returns: whether profiling has to wait for this device: an invited GPU that
   has asked and has not finished a profile, or a CPU pool without a rate. With
   a barrier the pool must also finish all units of its profile. */
static gboolean
owes (const HassKaleem *k, HassRound *round, guint device)
{
  const HassKaleemDevice *p = &k->devices[device];
  if (failed (k, device))
    return FALSE;
  if (is_gpu (k, device))
    return p->invited && p->asked && p->steps == 0;
  if (k->scheme->barrier)
    return p->taken == 0
           || hass_round_progress (round, device).units < p->taken;
  return p->rate <= 0;
}

/* Ends the profiling phase and divides the waiting units as soon as no device
   has to be waited for and the scheme's `over` agrees; if no GPU finished a
   profile or no unit waits, `over` is not asked. */
static void
look (HassKaleem *k, HassRound *round)
{
  guint n_gpus = 0;
  for (guint d = 0; d < k->crew.n; d++)
    {
      if (owes (k, round, d))
        return;
      n_gpus += is_gpu (k, d) && k->devices[d].steps > 0 && !failed (k, d);
    }
  if (n_gpus > 0 && k->scheme->over && hass_round_waiting (round) > 0
      && !k->scheme->over (k, round))
    return;
  divide (k, round);
}

/* -- 1. Profiling ------------------------------------------------------- */

void
hass_kaleem_begin_round (gpointer self, HassRound *round)
{
  HassKaleem *k = self;
  HassCrew *crew = &k->crew;
  guint64 needed = 0, least = G_MAXUINT64;
  guint64 waiting = hass_round_waiting (round);
  hass_crew_begin_round (crew, round);
  k->profiling = FALSE;
  for (guint d = 0; d < crew->n; d++)
    {
      HassKaleemDevice *p = &k->devices[d];
      *p = (HassKaleemDevice){ .rate = p->rate,
                               .ratio = p->ratio,
                               .step_change = INFINITY };
      if (!is_gpu (k, d) || failed (k, d))
        continue;
      p->profile
          = hass_fill_units (crew->env, round, d, crew->env->parameters[0]);
      least = MIN (least, p->profile);
      /* With a barrier the CPU pool runs a profile too, of as many units as
         the smallest profile of a GPU: room is kept for it in the round. */
      guint64 beside = k->scheme->barrier && crew->cpu < crew->n ? least : 0;
      p->invited = needed + p->profile + beside <= waiting;
      needed += p->invited ? p->profile : 0;
      k->profiling |= p->invited && p->rate <= 0;
    }
  if (crew->cpu < crew->n)
    k->devices[crew->cpu].profile = MIN (least, MAX (waiting, 1));
  k->profiling = k->profiled = k->profiling && crew->n > 1;
  if (!k->profiling && crew->n > 1)
    divide (k, round);
}

/* Answers a device that asks during the profiling phase: a core pulls single
   units, an invited GPU gets a profile, a GPU that failed one unit. With a
   barrier a device that has run its profile waits for the others. */
static HassAnswer
profile (HassKaleem *k, HassRound *round, guint device, HassGrant *grant)
{
  HassKaleemDevice *p = &k->devices[device];
  gboolean first = p->taken == 0;
  grant->source = HASS_FROM_FRONT;
  if (!is_gpu (k, device))
    {
      grant->units = k->scheme->barrier ? p->profile : 0;
      grant->chunk = 1;
      return k->scheme->barrier && !first ? HASS_WAIT : HASS_TAKE;
    }
  if (failed (k, device))
    grant->units = 1;
  else if (p->invited && (first || !k->scheme->barrier))
    grant->units = MAX (k->scheme->step (k, round, device), 1);
  else if (hass_round_exclusive (round, device) > 0)
    grant->units = MAX (p->profile, 1);
  else
    return HASS_WAIT;
  return HASS_TAKE;
}

HassAnswer
hass_kaleem_grant (gpointer self, HassRound *round, guint device,
                   gboolean force, HassGrant *grant)
{
  HassKaleem *k = self;
  k->devices[device].asked = TRUE;
  if (k->profiling && force)
    divide (k, round);
  else if (k->profiling)
    look (k, round);
  if (k->profiling
      && hass_round_waiting (round) + hass_round_exclusive (round, device) > 0)
    return profile (k, round, device, grant);
  HassAnswer answer = hass_crew_take_part (&k->crew, round, device, grant);
  /* HASS_DONE would exclude the device from the rest of the round. While
     profiling lasts, the device waits instead, since it gets a share of the
     remaining units afterwards. */
  return answer == HASS_DONE && k->profiling ? HASS_WAIT : answer;
}

void
hass_kaleem_granted (gpointer self, HassRound *round, guint device,
                     const HassGrant *grant)
{
  HassKaleem *k = self;
  (void)round;
  if (k->profiling)
    k->devices[device].taken += grant->taken;
}

/* -- 3. Learning -------------------------------------------------------- */

/* Returns: w of section 5.3.1, the weight of a new sample of @sampled work
   beside earlier samples of @samples work: ratio = w * new + (1 - w) * old. */
double
hass_kaleem_sample_weight (double sampled, double samples)
{
  return sampled > 0 ? sampled / (sampled + samples) : 0;
}

/* Makes a sample of the work that each device did since the last one: sets the
   rates of the devices, and moves their ratios towards the new rates with
   weight w of section 5.3.1. The first rate of a device restarts the ratio,
   and a barrier allows one sample only, so w is 1 in both cases. */
static void
sample (HassKaleem *k)
{
  double sampled = 0, sum = 0;
  gboolean first = k->samples <= 0;
  for (guint d = 0; d < k->crew.n; d++)
    {
      HassKaleemDevice *p = &k->devices[d];
      if (p->work > 0 && p->ns > 0)
        {
          first |= p->rate <= 0;
          p->rate = p->work / p->ns;
          sampled += p->work;
        }
      p->work = p->ns = 0;
      sum += p->rate;
    }
  if (sampled <= 0)
    return;
  double w = first || k->scheme->barrier
                 ? 1
                 : hass_kaleem_sample_weight (sampled, k->samples);
  for (guint d = 0; d < k->crew.n; d++)
    {
      HassKaleemDevice *p = &k->devices[d];
      p->ratio = w * (p->rate / sum) + (1 - w) * p->ratio;
    }
  k->samples += sampled;
}

static void
sample_cpu (HassKaleem *k, double work, double ns)
{
  HassKaleemDevice *p = &k->devices[k->crew.cpu];
  p->work = work - p->seen_work;
  p->ns = ns - p->seen_ns;
  /* With a barrier, each sample counts from the beginning of the profile, so
     that the CPU's rate is that of the whole profile. */
  if (k->scheme->barrier)
    return;
  p->seen_work = work;
  p->seen_ns = ns;
}

static void
profile_ended (HassKaleem *k, HassRound *round, const HassCompletion *done)
{
  HassKaleemDevice *p = &k->devices[done->device];
  double sum = 0;
  if (is_gpu (k, done->device))
    p->steps++;
  if (k->crew.cpu < k->crew.n)
    {
      HassProgress now = hass_round_progress (round, k->crew.cpu);
      sample_cpu (k, now.work, now.busy_ns);
    }
  sample (k);
  for (guint d = 0; d < k->crew.n; d++)
    sum += k->devices[d].rate;
  if (!is_gpu (k, done->device) || sum <= 0)
    return;
  double ratio = p->rate / sum;
  p->step_change = p->steps > 1 ? fabs (ratio - p->step_ratio) : INFINITY;
  p->step_ratio = ratio;
}

void
hass_kaleem_observe (gpointer self, HassRound *round,
                     const HassCompletion *done)
{
  HassKaleem *k = self;
  HassKaleemDevice *p = &k->devices[done->device];
  hass_crew_observe (&k->crew, round, done);
  if (!done->failed && done->units > 0 && is_gpu (k, done->device))
    {
      p->work += done->work;
      p->ns += MAX (done->end_ns - done->start_ns, 1);
    }
  if (!k->profiling)
    return;
  if (!done->failed && done->units > 0
      && (is_gpu (k, done->device) || k->scheme->barrier))
    profile_ended (k, round, done);
  look (k, round);
}

/* Ends a round: marks devices as failed that were invited to profile and never
   asked, and updates the ratio with what the round measured. With a barrier a
   ratio that is known is never updated (section 4). */
void
hass_kaleem_end_round (gpointer self, const HassRoundSummary *summary)
{
  HassKaleem *k = self;
  HassCrew *crew = &k->crew;
  if (crew->n < 2)
    return;
  hass_crew_absent (crew, summary);
  for (guint d = 0; d < crew->n && k->profiled; d++)
    if (k->devices[d].invited && !k->devices[d].asked)
      crew->members[d].failed = TRUE;
  if (k->scheme->barrier && k->samples > 0)
    {
      for (guint d = 0; d < crew->n; d++)
        k->devices[d].work = k->devices[d].ns = 0;
      return;
    }
  if (crew->cpu < crew->n)
    sample_cpu (k, summary->devices[crew->cpu].work,
                summary->devices[crew->cpu].busy_ns);
  /* Without an earlier sample the CPU pool ran the round alone, which measures
     no ratio. */
  if (k->samples > 0)
    sample (k);
}
