/* SPDX-License-Identifier: MIT */
/* qilin.c: fits a line of time over work to each device in a training run, and
   divides every later round where the lines meet.

   Qilin: Luk, Hong and Kim 2009, as Zhang 2011, 2.4.1 (figure 6) and Kaleem
   2014, section 3 describe it: t = a + b * n for each device, and the division
   for which the predicted times are equal. After training a round costs
   O(devices^2 + devices * log n), a decision O(devices). One bundle for each
   device and round.

   Loses when the run differs from the training: another speed, a GPU that the
   bundles of the training did not fill, other costs (Kaleem 2014, section 3).
   The models are not updated.

   Interpretation:
   - The lines of two devices meet at the time T at which both end; for any
     number of devices T solves sum (T - a_d) / b_d = n, without devices that
     cannot begin before T (a_d >= T). This includes Luk's rule for lines that
     do not meet between the ends: one device gets all.
   - Training takes `part` of each of the first `training` rounds, in equal
     parts, as Luk trains on a smaller input than that of the run; the remainder
     of such a round is divided by the current lines. Figure 31 of the thesis is
     qilin:training=7,part=1.
   - Each device runs its part of the training in bundles of 1, 1, 2, 3, up to
     `sizes` units, and is fitted by least squares. The first bundle of a round
     is a warm-up, which counts only if there is no other.
   - A line with a negative intercept is replaced by one through the origin; so
     is a line through bundles of one size.
   - Time is busy time, copies and launches included; for a CPU pool the mean of
     its cores. Luk's factor p / (p - 1), for the core that drives the GPU, is
     omitted, since that core sleeps here.
   - The database of models is the profile store: if it has rates of all
     devices, there is no training; a is the fixed cost and b = 1 / rate.

   Thread safety: as hass/strategy.h. */
#include "sched/phases.h"

#include <math.h>

enum
{
  TRAINING,
  PART,
  SIZES
};

static const HassParameter parameters[] = {
  { "training", 1, 1, 1000, "rounds with a training part" },
  { "part", 1 / 4., 1e-6, 1, "of such a round that is training" },
  { "sizes", 4, 2, 32, "of bundles in training" },
  { .name = NULL },
};

/* The time of one device's bundles as a line t = a + b * work, in ns, and the
   sums over the training bundles that the line is fitted to by least squares:
   number n, work x, time y, x * x and x * y. */
typedef struct
{
  double a, b; /* ns, and ns per work; b is 0 while the line is unknown */
  double n, x, y, xx, xy;
  double warm_work, warm_ns; /* sums over the warm-up bundles */
  guint64 share;             /* units of this round's training on the device */
  guint step;                /* training bundles granted in this round */
  /* The device has finished this round's warm-up bundle. */
  gboolean warm;
} Model;

typedef struct
{
  HassPhases phases;
  Model *models;    /* [n] */
  guint trained;    /* number of rounds that trained all devices */
  gboolean drill;   /* the current phase is training, not execution */
  gboolean counted; /* this round had a training phase */
  HassProgress cpu; /* what the CPU pool had finished at its last completion */
} Qilin;

/* -- Lines -------------------------------------------------------------- */

static void
fit (Model *m)
{
  double spread = m->n * m->xx - m->x * m->x;
  if (m->n < 1)
    {
      m->b = m->warm_work > 0 ? m->warm_ns / m->warm_work : 0;
      return;
    }
  m->b = spread > 1e-9 * m->n * m->xx ? (m->n * m->xy - m->x * m->y) / spread
                                      : 0;
  m->a = m->b > 0 ? (m->y - m->b * m->x) / m->n : 0;
  if (m->a < 0 || m->b <= 0)
    {
      m->a = 0;
      m->b = m->xy / m->xx;
    }
}

/* Sets the devices' parts of @work so that all lines predict the same end T. A
   device whose fixed time a is not below T gets no part, and T is computed
   again without it. If the line of a device is unknown, the parts follow from
   the slopes b alone. */
static void
intersect (Qilin *s, double work)
{
  HassPhases *p = &s->phases;
  guint n = p->crew.n;
  gboolean again = TRUE;
  double end_ns = 0;
  g_autofree double *speeds = g_new0 (double, n);
  for (guint d = 0; d < n; d++)
    speeds[d] = s->models[d].b > 0 ? 1 / s->models[d].b : 0;
  if (!hass_phases_known (p, speeds))
    {
      hass_phases_by_speed (p, speeds);
      return;
    }
  hass_phases_equal (p);
  while (again)
    {
      double late = 0, rates = 0;
      again = FALSE;
      for (guint d = 0; d < n; d++)
        if (p->parts[d] > 0)
          {
            late += speeds[d] * s->models[d].a;
            rates += speeds[d];
          }
      end_ns = (work + late) / rates;
      for (guint d = 0; d < n; d++)
        if (p->parts[d] > 0 && s->models[d].a >= end_ns)
          {
            p->parts[d] = 0;
            again = TRUE;
          }
    }
  for (guint d = 0; d < n; d++)
    if (p->parts[d] > 0)
      p->parts[d] = (end_ns - s->models[d].a) * speeds[d] / work;
}

/* -- A round ------------------------------------------------------------ */

static double
plan (HassPhases *p, HassRound *round, double waiting)
{
  Qilin *s = (Qilin *)p;
  const double *parameter = p->crew.env->parameters;
  (void)round;
  s->drill = p->n_begun == 0 && s->trained < (guint)parameter[TRAINING];
  if (s->drill)
    {
      s->counted = TRUE;
      hass_phases_equal (p);
      return waiting * parameter[PART];
    }
  for (guint d = 0; d < p->crew.n && s->counted; d++)
    fit (&s->models[d]);
  intersect (s, waiting);
  return waiting;
}

static void
begin_round (gpointer self, HassRound *round)
{
  Qilin *s = self;
  s->counted = s->drill = FALSE;
  s->cpu = (HassProgress){ 0 };
  hass_phases_begin_round (self, round);
  for (guint d = 0; d < s->phases.crew.n; d++)
    {
      s->models[d].share = hass_round_share (round, d);
      s->models[d].step = 0;
      s->models[d].warm = FALSE;
    }
}

/* Returns: the number of units of the device's next training bundle; 0 for the
   last one, which takes the remainder of the training. With L = share / (1 +
   sizes (sizes + 1) / 2) the bundles have L (the warm-up), L, 2 L, 3 L, ...
   units, so that a line can be fitted to different sizes. */
static guint64
next_size (const Qilin *s, Model *m)
{
  guint sizes = (guint)s->phases.crew.env->parameters[SIZES];
  guint64 length = m->share / (1 + sizes * (sizes + 1) / 2);
  guint step = m->step++;
  return step >= sizes ? 0 : MAX (length, 1) * MAX (step, 1);
}

static HassAnswer
decide (gpointer self, HassRound *round, guint device, gboolean force,
        HassGrant *grant)
{
  Qilin *s = self;
  HassAnswer answer = hass_phases_grant (self, round, device, force, grant);
  if (answer == HASS_TAKE && s->drill && grant->source == HASS_FROM_SHARE
      && grant->units == 0 && grant->share == device)
    grant->units = next_size (s, &s->models[device]);
  return answer;
}

static void
observe (gpointer self, HassRound *round, const HassCompletion *done)
{
  Qilin *s = self;
  HassCrew *crew = self;
  Model *m = &s->models[done->device];
  double work = done->work;
  double ns
      = done->end_ns - MAX (done->grant_ns, crew->members[done->device].end_ns);
  hass_phases_observe (self, round, done);
  if (done->device == crew->cpu)
    {
      HassProgress now = hass_round_progress (round, done->device);
      work = now.work - s->cpu.work;
      ns = now.busy_ns - s->cpu.busy_ns;
      s->cpu = now;
    }
  if (!s->drill || done->failed || work <= 0 || ns <= 0)
    return;
  if (!m->warm)
    {
      m->warm = TRUE;
      m->warm_work += work;
      m->warm_ns += ns;
      return;
    }
  m->n += 1;
  m->x += work;
  m->y += ns;
  m->xx += work * work;
  m->xy += work * ns;
}

/* Ends a round: fits the line of each device to the training bundles of the
   round. The round counts as a training round only if all working devices have
   a line afterwards; a round too small for that does not. */
static void
end_round (gpointer self, const HassRoundSummary *summary)
{
  Qilin *s = self;
  gboolean all = TRUE;
  (void)summary;
  for (guint d = 0; d < s->phases.crew.n && s->counted; d++)
    {
      fit (&s->models[d]);
      all = all && (s->models[d].b > 0 || s->phases.crew.members[d].failed);
    }
  s->trained += s->counted && all;
}

static gpointer
create (const HassStrategyEnv *env, GError **error)
{
  Qilin *s = hass_phases_new (sizeof *s, env, plan);
  const HassProfileRate *profile = env->profile;
  gboolean stored = profile != NULL;
  (void)error;
  s->models = g_new0 (Model, env->n_devices);
  for (guint d = 0; d < env->n_devices && stored; d++)
    stored = profile[d].work_per_ns > 0;
  for (guint d = 0; d < env->n_devices && stored; d++)
    {
      s->models[d].a = profile[d].latency_ns;
      s->models[d].b = 1 / profile[d].work_per_ns;
    }
  if (stored)
    s->trained = G_MAXUINT;
  return s;
}

static void
destroy (gpointer self)
{
  Qilin *s = self;
  g_free (s->models);
  hass_phases_destroy (self);
}

const HassStrategyOps hass_qilin = {
  .struct_size = sizeof (HassStrategyOps),
  .name = "qilin",
  .summary = "trained lines of time over work, cut where they meet",
  .source = "Luk 2009 (Qilin); Zhang 2011, 2.4.1",
  .farms = HASS_FARM_ANY,
  .parameters = parameters,
  .create = create,
  .begin_round = begin_round,
  .grant = decide,
  .observe = observe,
  .end_round = end_round,
  .destroy = destroy,
};
