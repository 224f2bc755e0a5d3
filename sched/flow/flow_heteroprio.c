/* SPDX-License-Identifier: MIT */
/* flow_heteroprio.c: devices take the codelets that they speed up most, cores
   those that devices speed up least.

   E. Agullo, B. Bramas, O. Coulaud, E. Darve, M. Messner, T. Takahashi:
   Task-Based FMM for Heterogeneous Architectures, Concurrency and Computation
   28(9), 2016, and StarPU's "heteroprio"; with acceleration ratios in the place
   of the user's priorities as O. Beaumont, L. Eyraud-Dubois, S. Kumar:
   Approximation Proofs of a Fast and Efficient List Scheduling Algorithm for
   Task-Based Runtime Systems on Multicores and GPUs, IPDPS 2017. The tasks of a
   codelet wait in a queue of their own, by priority. The acceleration of a
   codelet is its mean time on a core by that on a device. A device looks into
   the queues from the highest acceleration on, a core from the lowest.

   The end. A core takes a task only if the queue has at least as many tasks
   for each device as devices are faster (StarPU's slow factor): else the
   devices would come to it earlier. IPDPS 2017 takes tasks back from slow
   workers instead (spoliation). Here none is taken back: one that has begun is
   not stopped, and of one that a device has taken and not begun the data have
   memory there and copies under way, which end at the device's own pace.

   Deviations. A codelet whose time on cores is unknown counts as the one with
   the highest acceleration, and one core tries it when many tasks are known
   (try.h). The acceleration is that of the mean device: devices that differ
   share one order.

   Cost of a decision: O(codelets), and one task of each queue. It loses where
   all tasks are of one codelet, and where data lie far from the device that
   takes the task: copies do not count.

   Thread safety: as hass/strategy.h. */
#include "sched/flow/explain.h"
#include "sched/flow/try.h"

#include <string.h>

/* @order: [@n] codelets by acceleration, the highest first. @acceleration: by
   codelet; 0: not seen yet. */
typedef struct
{
  guint n;
  guint8 order[HASS_FLOW_QUEUES];
  double acceleration[HASS_FLOW_QUEUES];
  HassFlowExplain explain;
} Heteroprio;

G_STATIC_ASSERT (HASS_FLOW_QUEUES <= 256);

static gpointer
create (const HassStrategyEnv *env, GError **error)
{
  Heteroprio *s = g_new0 (Heteroprio, 1);
  (void)error;
  hass_flow_explain_init (&s->explain, env);
  return s;
}

static void
destroy (gpointer self)
{
  Heteroprio *s = self;
  hass_flow_explain_clear (&s->explain);
  g_free (s);
}

static double
acceleration_of (const HassFlowTask *task)
{
  if (task->core_ns == 0)
    return G_MAXDOUBLE;
  return task->device_ns > 0 ? task->core_ns / task->device_ns : 1;
}

/* Moves a codelet to its place in the order. */
static void
sort (Heteroprio *s, guint codelet, double acceleration)
{
  guint at = 0;
  while (at < s->n && s->order[at] != codelet)
    at++;
  s->n = MAX (s->n, at + 1);
  s->acceleration[codelet] = acceleration;
  for (; at > 0 && s->acceleration[s->order[at - 1]] < acceleration; at--)
    s->order[at] = s->order[at - 1];
  for (; at + 1 < s->n && s->acceleration[s->order[at + 1]] > acceleration;
       at++)
    s->order[at] = s->order[at + 1];
  s->order[at] = (guint8)codelet;
}

static void
place (gpointer self, const HassFlowState *state, const HassFlowTask *task,
       HassFlowSpot *spot)
{
  Heteroprio *s = self;
  double acceleration = acceleration_of (task);
  (void)state;
  if (s->acceleration[task->codelet] != acceleration)
    sort (s, task->codelet, acceleration);
  spot->queue = task->codelet;
}

static gboolean
look (gpointer self, const HassFlowState *state, gint worker, guint n,
      HassFlowLook *look)
{
  const Heteroprio *s = self;
  (void)state;
  if (n >= s->n)
    return FALSE;
  look->queue = s->order[worker == HASS_FLOW_CORES ? s->n - 1 - n : n];
  return TRUE;
}

/* Tells why a worker takes a task or leaves it. @n: as hass_flow_tells()
   returned. */
static void
explain (const HassFlowExplain *e, const HassFlowTask *task, gint worker,
         gboolean leave, guint n)
{
  double acceleration = acceleration_of (task);
  g_autoptr (GString) why = g_string_new (NULL);
  if (task->devices == 0)
    g_string_assign (why, "no device can compute it");
  else if (task->core_ns == 0)
    g_string_assign (why, "its time on cores is unknown");
  else if (task->device_ns == 0)
    g_string_assign (why, "the time of devices is unknown");
  else
    g_string_printf (why, "devices are %.4g times as fast", acceleration);
  if (worker == HASS_FLOW_CORES && task->device_ns > 0)
    g_string_append_printf (why, ", cores leave fewer than %.4g, %u wait",
                            acceleration * __builtin_popcountll (task->devices),
                            task->n_waiting);
  hass_flow_explain_answer (e, task, worker, leave, why->str, n);
}

static HassFlowAnswer
suits (gpointer self, const HassFlowState *state, gint worker,
       const HassFlowTask *task, HassFlowVerdict *verdict)
{
  Heteroprio *s = self;
  guint n_devices = (guint)__builtin_popcountll (task->devices);
  gboolean shared = worker == HASS_FLOW_CORES && n_devices > 0;
  gboolean tries = shared && task->core_ns == 0;
  gboolean leave
      = tries
            ? !hass_flow_may_try (task)
            : shared
                  && (task->device_ns <= 0
                      || task->n_waiting < n_devices * acceleration_of (task));
  (void)state, (void)verdict;
  guint n = !tries || task->n_known > 0
                ? hass_flow_tells (&s->explain, task, worker, leave + 2 * tries)
                : 0;
  if (n > 0 && tries)
    hass_flow_explain_try (&s->explain, task, leave, n);
  else if (n > 0)
    explain (&s->explain, task, worker, leave, n);
  return leave ? HASS_FLOW_LEAVE : HASS_FLOW_TAKE;
}

const HassStrategyOps hass_flow_heteroprio = {
  .struct_size = sizeof (HassStrategyOps),
  .name = "flow-heteroprio",
  .summary = "dataflow: devices take what they speed up most, cores least",
  .source = "Agullo et al., CCPE 28(9) 2016; Beaumont et al., IPDPS 2017",
  .farms = HASS_FARM_DATAFLOW,
  .create = create,
  .destroy = destroy,
  .place = place,
  .look = look,
  .suits = suits,
};
