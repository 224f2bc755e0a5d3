/* SPDX-License-Identifier: MIT */
/* skmd_train.c: collects the samples of SKMD in the first rounds and divides
   every round by the predictions.

   Lee et al. 2015, sections 3.3, 3.4 (EstAllDevsTime) and 4 (profiling mode).

   DESIGN. The paper trains offline. Here the first round trains, and later ones
   if it was too short:
   1. Each GPU runs bundles of 4, 8, 12 and 16 units, then twice as many each
      time (section 4: "by four until it reaches 16, then increases the
      granularity"), up to a quarter of its equal part, as long as the next
      bundle is predicted to take at most half of the remaining round. The first
      bundle is a warm-up, which counts only until there is another.
   2. The CPU pulls from the common range meanwhile; its samples are its
      progress. A device that has finished its training runs smaller bundles
      until all have.
   3. Then, and when each later round begins, parts are carved, one bundle for
      each device, without stealing. Their times are further samples.
   Rates of the profile store, or calibrated ones if it has none, stand in for a
   device without samples.

   Interpretation:
   - The time of a device is its wait for the link, its entry copies
     (entry_bytes over the bandwidth of the link), the copies in, the kernel,
     and the copies out. Copies in wait for those of the devices before it on
     the same link (figure 11), copies out for all of these and for those of
     devices that were ready earlier ("serialization of PCIe transfer"). The
     copy time of a part is predicted from earlier copies, per work; the paper
     divides the size of buffers by the bandwidth of PCIe.
   - The cores of the CPU compute whole units, so its time is that of a multiple
     of its cores.

   Thread safety: as the strategy that owns it. */
#include "skmd-private.h"

#include <math.h>

#define FIRST_STEP 4
#define LAST_EQUAL_STEP 16
#define FORESEEN 0.02

/* Sets the models of all devices to lines by rates that are known before the
   first round: those of the profile store (measured in earlier runs) if it has
   all devices, else the calibrated ones if there is one for each device. Rates
   of the two origins are never mixed. */
static void
start (HassSkmd *s)
{
  const HassStrategyEnv *env = s->crew.env;
  gboolean profiled = env->profile != NULL, calibrated = TRUE;
  for (guint d = 0; d < s->crew.n; d++)
    {
      profiled = profiled && env->profile[d].work_per_ns > 0;
      calibrated = calibrated && env->devices[d].work_per_ns > 0;
    }
  for (guint d = 0; d < s->crew.n && (profiled || calibrated); d++)
    {
      const HassDeviceTraits *traits = &env->devices[d];
      HassSkmdModel *kernel = &s->devices[d].kernel;
      if (profiled)
        hass_skmd_model_set_linear (kernel, env->profile[d].latency_ns,
                                    env->profile[d].work_per_ns);
      else
        hass_skmd_model_set_linear (kernel, traits->latency_ns,
                                    traits->work_per_ns);
    }
}

HassSkmd *
hass_skmd_new (const HassStrategyEnv *env, HassSkmdDivideFunc divide)
{
  HassSkmd *s = g_new0 (HassSkmd, 1);
  hass_crew_init (&s->crew, env);
  s->divide = divide;
  s->devices = g_new0 (HassSkmdDevice, MAX (env->n_devices, 1));
  for (guint d = 0; d < env->n_devices; d++)
    if (d != s->crew.cpu && env->devices[d].link_bytes_per_ns > 0)
      s->devices[d].entry_ns
          = env->entry_bytes / env->devices[d].link_bytes_per_ns;
  start (s);
  return s;
}

void
hass_skmd_destroy (gpointer self)
{
  HassSkmd *s = self;
  g_free (s->devices);
  hass_crew_destroy (self);
}

/* -- Estimates ---------------------------------------------------------- */

/* Returns: @units, for a CPU pool rounded up to a multiple of its cores: the
   pool takes as long as the core that gets most units. */
static double
whole (const HassSkmd *s, guint device, double units)
{
  guint cores = MAX (s->crew.env->devices[device].cores, 1);
  return device == s->crew.cpu ? ceil (units / cores) * cores : units;
}

/* Returns: the predicted kernel time of @units units on the device, in ns;
   infinite if there is no prediction or the device fails. The last two results
   are cached. */
double
hass_skmd_kernel_ns (HassSkmd *s, guint device, guint64 units)
{
  HassSkmdDevice *p = &s->devices[device];
  if (s->crew.members[device].failed
      || p->kernel.linear + p->kernel.curved <= 0)
    return INFINITY;
  for (guint i = 0; i < 2; i++)
    if (p->known_units[i] == units && units > 0)
      return p->known_ns[i];
  double work = whole (s, device, units) * s->unit_work;
  p->oldest = !p->oldest;
  p->known_units[p->oldest] = units;
  p->known_ns[p->oldest] = hass_skmd_model_ns (&p->kernel, work);
  return p->known_ns[p->oldest];
}

/* Returns: whether both devices copy over the same link, on which their copies
   wait for each other. */
static gboolean
linked (const HassSkmd *s, guint a, guint b)
{
  const HassDeviceTraits *traits = s->crew.env->devices;
  return traits[a].link != 0 && traits[a].link == traits[b].link;
}

/* Predicts the ends of the device's copies in and of its kernel. Devices on
   one link copy in one after another, in the order of their numbers. In a
   training round the entry copies (once in each round) are already done. */
static void
run_kernel (HassSkmd *s, const guint64 *partition, guint device)
{
  HassSkmdDevice *p = &s->devices[device];
  double work = partition[device] * s->unit_work;
  gboolean shared = s->crew.env->devices[device].link != 0;
  p->in_end_ns = s->trained_in || device == s->crew.cpu ? 0 : p->entry_ns;
  if (p->copied_work > 0)
    p->in_end_ns += p->in_ns / p->copied_work * work;
  double free_ns = 0;
  for (guint d = 0; d < device && shared; d++)
    if (partition[d] > 0 && linked (s, d, device))
      free_ns = MAX (free_ns, s->devices[d].in_end_ns);
  p->in_end_ns += free_ns;
  p->ready_ns
      = p->in_end_ns + hass_skmd_kernel_ns (s, device, partition[device]);
}

/* Predicts and returns the end of the device's copies out, in ns from the
   beginning of the round. On a shared link they follow all copies in, and the
   copies out of the devices that were ready before. */
static double
copy_out (HassSkmd *s, const guint64 *partition, guint device)
{
  HassSkmdDevice *p = &s->devices[device];
  double end_ns = p->ready_ns;
  gboolean shared = s->crew.env->devices[device].link != 0;
  for (guint d = 0; d < s->crew.n && shared; d++)
    if (partition[d] > 0 && linked (s, d, device))
      end_ns = MAX (end_ns,
                    MAX (s->devices[d].in_end_ns, s->devices[d].out_end_ns));
  if (p->copied_work > 0)
    end_ns += p->out_ns / p->copied_work * partition[device] * s->unit_work;
  p->out_end_ns = end_ns;
  return end_ns;
}

/* Predicts the time of each device if the round is divided as @partition says
   (EstAllDevsTime of Algorithm 1): sets @times_ns [n], in ns, 0 for a device
   without units. Devices on a link copy their results out in the order in
   which their kernels end. */
void
hass_skmd_times (const guint64 *partition, double *times_ns, gpointer skmd)
{
  HassSkmd *s = skmd;
  guint n_left = 0;
  for (guint d = 0; d < s->crew.n; d++)
    {
      times_ns[d] = 0;
      s->devices[d].out_end_ns = 0;
      if (partition[d] == 0)
        continue;
      run_kernel (s, partition, d);
      if (s->crew.env->devices[d].link == 0)
        times_ns[d] = copy_out (s, partition, d);
      else
        n_left++;
    }
  for (; n_left > 0; n_left--)
    {
      guint next = s->crew.n;
      for (guint d = 0; d < s->crew.n; d++)
        if (partition[d] > 0 && times_ns[d] <= 0
            && (next == s->crew.n
                || s->devices[d].ready_ns < s->devices[next].ready_ns))
          next = d;
      times_ns[next] = copy_out (s, partition, next);
    }
}

/* -- 3. Division -------------------------------------------------------- */

static void
divide (HassSkmd *s, HassRound *round)
{
  HassCrew *crew = &s->crew;
  double sum = 0;
  guint64 first = hass_round_front (round);
  guint64 waiting = hass_round_back (round) - first;
  s->training = FALSE;
  for (guint d = 0; d < crew->n; d++)
    {
      HassSkmdDevice *p = &s->devices[d];
      if (p->changed)
        hass_skmd_model_fit (&p->kernel);
      p->changed = FALSE;
      p->known_units[0] = p->known_units[1] = 0;
      crew->weights[d] = 0;
    }
  if (waiting > 0)
    {
      s->unit_work = hass_round_work (round, first, waiting) / waiting;
      s->divide (s, waiting);
    }
  for (guint d = 0; d < crew->n; d++)
    sum += crew->weights[d];
  for (guint d = 0; d < crew->n && !(sum > 0); d++)
    crew->weights[d] = 1;
  hass_crew_carve_parts (crew, round, crew->weights);
}

/* -- 1. and 2. Training ------------------------------------------------- */

void
hass_skmd_begin_round (gpointer self, HassRound *round)
{
  HassSkmd *s = self;
  HassCrew *crew = &s->crew;
  guint64 units = hass_round_units (round);
  hass_crew_begin_round (crew, round);
  s->training = FALSE;
  s->unit_work = units > 0 ? hass_round_total_work (round) / units : 1;
  for (guint d = 0; d < crew->n; d++)
    {
      HassSkmdDevice *p = &s->devices[d];
      p->asked = FALSE;
      p->seen_work = p->seen_ns = 0;
      p->last = 0;
      p->next
          = p->trained ? 0 : MIN (FIRST_STEP, MAX (units / (4 * crew->n), 1));
      p->in_ns /= 2;
      p->out_ns /= 2;
      p->copied_work /= 2;
      s->training |= !p->trained && !crew->members[d].failed;
    }
  s->training = s->training && crew->n > 1;
  s->trained_in = s->training;
  if (!s->training && crew->n > 1)
    divide (s, round);
}

static void
add (HassSkmdDevice *p, double work, double ns)
{
  double foreseen = hass_skmd_model_ns (&p->kernel, work);
  hass_skmd_model_add (&p->kernel, work, ns);
  p->changed |= p->kernel.n_samples < 3 || fabs (foreseen - ns) > FORESEEN * ns;
}

/* Adds a sample to the model of the CPU pool: the work that the cores did
   since the last sample, and its busy time. @work and @busy_ns count from the
   beginning of the round. */
static void
sample_cpu (HassSkmd *s, double work, double busy_ns)
{
  HassSkmdDevice *p = &s->devices[s->crew.cpu];
  add (p, work - p->seen_work, busy_ns - p->seen_ns);
  p->seen_work = work;
  p->seen_ns = busy_ns;
  p->trained = p->trained || p->kernel.n_samples > 0;
}

/* Adds a GPU's finished bundle to its model, its time split into copies and
   kernel. The kernel counts in full; copies count with the time that they
   added to the bundle, without the time in which they overlapped the kernel. */
static void
sample_gpu (HassSkmd *s, const HassCompletion *done)
{
  HassSkmdDevice *p = &s->devices[done->device];
  double service_ns = MAX (done->end_ns - done->start_ns, 1);
  double entry_ns = done->first_of_round ? p->entry_ns : 0;
  double kernel_ns = done->kernel_ns, in_ns = MAX (done->h2d_ns - entry_ns, 0);
  double copies_ns = in_ns + done->d2h_ns;
  if (kernel_ns <= 0)
    kernel_ns = MAX (service_ns - entry_ns, service_ns / 2);
  kernel_ns = MIN (kernel_ns, service_ns);
  double part = copies_ns > 0 ? (service_ns - kernel_ns) / copies_ns : 0;
  part = CLAMP (part, 0, 1);
  /* This is the second bundle; the first was the warm-up, whose measurements
     are dropped. */
  if (p->bundles == 1)
    {
      p->kernel = (HassSkmdModel){ .n_samples = 0 };
      p->in_ns = p->out_ns = p->copied_work = 0;
    }
  p->bundles++;
  p->in_ns += part * in_ns;
  p->out_ns += part * done->d2h_ns;
  p->copied_work += done->work;
  add (p, done->work, kernel_ns);
}

/* Sets the size of the device's next training bundle, larger than the one just
   finished; 0 (training over) if that is more than a quarter of an equal part
   of the round, or would take more than half of the predicted remaining
   time. */
static void
advance (HassSkmd *s, HassRound *round, const HassCompletion *done)
{
  HassSkmdDevice *p = &s->devices[done->device];
  double rates = 0;
  if (p->next == 0 || p->bundles < 2)
    return;
  double rate = done->work / MAX (done->end_ns - done->start_ns, 1);
  for (guint d = 0; d < s->crew.n; d++)
    rates += hass_crew_rate (&s->crew, round, d);
  guint64 most = hass_round_units (round) / (4 * s->crew.n);
  p->last = p->next;
  p->next = p->next < LAST_EQUAL_STEP ? p->next + FIRST_STEP : 2 * p->next;
  if (p->next > most
      || p->next / rate > hass_round_waiting (round) / MAX (rates, rate) / 2)
    p->next = 0;
}

static gboolean
through (const HassSkmd *s, guint device)
{
  const HassSkmdDevice *p = &s->devices[device];
  if (s->crew.members[device].failed)
    return TRUE;
  return device == s->crew.cpu ? p->trained : !p->asked || p->next == 0;
}

/* Ends the training and divides the remaining units as soon as no device has
   to train any more. The CPU pool needs one sample of work that it finished. */
static void
look (HassSkmd *s, HassRound *round)
{
  if (s->crew.cpu < s->crew.n && !s->devices[s->crew.cpu].trained)
    {
      HassProgress now = hass_round_progress (round, s->crew.cpu);
      if (now.work > 0)
        sample_cpu (s, now.work, now.busy_ns);
    }
  for (guint d = 0; d < s->crew.n; d++)
    if (!through (s, d))
      return;
  for (guint d = 0; d < s->crew.n; d++)
    s->devices[d].trained |= s->devices[d].kernel.n_samples > 0;
  divide (s, round);
}

static HassAnswer
train (HassSkmd *s, guint device, HassGrant *grant)
{
  const HassSkmdDevice *p = &s->devices[device];
  grant->source = HASS_FROM_FRONT;
  if (device == s->crew.cpu)
    grant->chunk = 1;
  else if (s->crew.members[device].failed)
    grant->units = 1;
  else
    grant->units = p->next > 0 ? p->next : MAX (p->last / 4, 1);
  return HASS_TAKE;
}

HassAnswer
hass_skmd_grant (gpointer self, HassRound *round, guint device, gboolean force,
                 HassGrant *grant)
{
  HassSkmd *s = self;
  s->devices[device].asked = TRUE;
  if (s->training && force)
    divide (s, round);
  if (s->training
      && hass_round_waiting (round) + hass_round_exclusive (round, device) > 0)
    return train (s, device, grant);
  return hass_crew_take_part (&s->crew, round, device, grant);
}

void
hass_skmd_observe (gpointer self, HassRound *round, const HassCompletion *done)
{
  HassSkmd *s = self;
  hass_crew_observe (&s->crew, round, done);
  if (!done->failed && done->units > 0 && done->device != s->crew.cpu)
    {
      sample_gpu (s, done);
      if (s->training)
        advance (s, round, done);
    }
  if (s->training)
    look (s, round);
}

/* Ends a round. If the round trained, GPUs that never asked are marked as
   failed, and the cores' work since the last sample becomes a sample. Without
   training the CPU's part of the round is one sample, with the time that the
   round waited for the pool. */
void
hass_skmd_end_round (gpointer self, const HassRoundSummary *summary)
{
  HassSkmd *s = self;
  HassCrew *crew = &s->crew;
  if (crew->n < 2)
    return;
  hass_crew_absent (crew, summary);
  for (guint d = 0; d < crew->n && s->trained_in; d++)
    if (!s->devices[d].asked && d != crew->cpu)
      crew->members[d].failed = TRUE;
  if (crew->cpu == crew->n || summary->devices[crew->cpu].units == 0)
    return;
  const HassDeviceSummary *cpu = &summary->devices[crew->cpu];
  if (s->trained_in)
    sample_cpu (s, cpu->work, cpu->busy_ns);
  else
    add (&s->devices[crew->cpu],
         cpu->work / cpu->units * whole (s, crew->cpu, cpu->units),
         cpu->last_finish_ns);
}
