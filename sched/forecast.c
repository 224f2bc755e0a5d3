/* SPDX-License-Identifier: MIT */
/* forecast.c: see forecast.h.
   Thread safety: as hass/strategy.h. */
#include "forecast.h"

#include <math.h>

/* A device is absent, and planned without, when it has not asked during
   LATE_TOLD completions of a round. A guess: less, and a GPU that opens late is
   planned without; more, and a round waits for a GPU that is gone. */
#define LATE_TOLD 16
/* A device is also absent when it has not asked in more than MUTE_ROUNDS rounds
   in a row in which it could have. A guess: more, and rounds wait for a lost
   device. */
#define MUTE_ROUNDS 1
/* A device could have asked in a round if units waited during at least
   ENOUGH_WAITED completions. A guess: less, and a device that opens late is
   planned without. */
#define ENOUGH_WAITED 2
/* A GPU that holds nothing is planned without after this many completions of
   other devices without asking. A guess: more lets the plan count on a lost
   GPU. */
#define SILENT_TOLD 4
/* Number of bundles after which the rate of a GPU is settled. A guess: more,
   and cores wait longer; less, and the rate may be that of a warm-up. */
#define SETTLED_BUNDLES 3
/* Number of bundles after which the rate of a GPU is settled even if predicted
   times are still wrong. Until it is, no core begins a unit that takes a large
   part of the remaining time. A guess: more, and cores idle longer. */
#define EARLY_BUNDLES 8
/* Relative error of predicted bundle times above which a rate is not settled
   before EARLY_BUNDLES bundles. A guess: less, and cores that must not begin a
   long unit until then idle longer. */
#define UNSETTLED 0.3

void
hass_forecast_init (HassForecast *f, const HassEstimates *e)
{
  *f = (HassForecast){ .u = e->u, .e = e };
  f->seats = g_new0 (HassSeat, MAX (e->u->n, 1));
}

void
hass_forecast_clear (HassForecast *f)
{
  g_free (f->seats);
}

/* -- What happens ------------------------------------------------------- */

void
hass_forecast_begin_round (HassForecast *f)
{
  for (guint d = 0; d < f->u->n; d++)
    {
      HassSeat *m = &f->seats[d];
      if (m->asked)
        m->mute_rounds = 0;
      else
        m->mute_rounds += f->n_waited >= ENOUGH_WAITED;
      m->absent |= !m->asked
                   && (f->n_told > m->asked_at + LATE_TOLD
                       || m->mute_rounds > MUTE_ROUNDS);
      m->asked = m->entered = m->back = FALSE;
      m->asked_at = f->n_told;
      m->n_bundles = 0;
      m->queue_ns = m->round_largest = 0;
      m->units = 0;
    }
  f->n_waited = 0;
  f->begun = FALSE;
  f->begin_ns = f->now_ns;
}

void
hass_forecast_entry (HassForecast *f, guint device)
{
  const HassStrategyEnv *env = f->u->env;
  const HassDeviceTraits *t = &env->devices[device];
  guint turns = 1;
  if (t->kind == HASS_DEVICE_CPU || !(t->link_bytes_per_ns > 0))
    return;
  for (guint d = 0; d < device; d++)
    turns += t->link != 0 && env->devices[d].link == t->link
             && !hass_forecast_out (f, d);
  f->seats[device].copy_ns = env->entry_bytes / t->link_bytes_per_ns;
  f->seats[device].entry_ns = turns * f->seats[device].copy_ns;
}

void
hass_forecast_asked (HassForecast *f, guint device, gboolean force)
{
  HassSeat *m = &f->seats[device];
  m->asked = TRUE;
  m->absent = FALSE;
  m->asked_at = f->n_told;
  m->back = FALSE;
  for (guint d = 0; d < f->u->n && force; d++)
    f->seats[d].absent |= !f->seats[d].asked;
}

void
hass_forecast_cpu_granted (HassForecast *f, gint64 units)
{
  f->seats[f->u->cpu].units += units;
}

HassBundle
hass_forecast_bundle (const HassForecast *f, const HassRound *round,
                      const HassGrant *grant, guint device, double work,
                      double unfilled)
{
  const HassSeat *m = &f->seats[device];
  const HassEstimate *known = &f->e->of[device];
  double level = hass_units_level (f->u, grant->first, grant->taken);
  gboolean enters = !m->entered && m->entry_ns > 0;
  guint fit = (m->n_bundles == 0 ? HASS_FIT_IDLE : 0)
              + (f->u->env->farm == HASS_FARM_FUNCTION
                         && grant->first < f->u->first_parallel
                     ? HASS_FIT_SIMPLE
                     : 0);
  const HassFit *of
      = hass_estimates_fit (f->e, round, device, fit & HASS_FIT_IDLE);
  double ns = hass_estimates_bundle_ns (f->e, device, of, work, level)
              * (1 + known->link_wait);
  if (of->seen == 0 && known->prior_rate > 0)
    ns = known->prior_ns + work / known->prior_rate;
  return (HassBundle){ .work = work,
                       .ns = ns + (enters ? m->entry_ns : 0),
                       .unfilled = unfilled,
                       .fit = fit,
                       .enters = enters,
                       .first = grant->first,
                       .n = grant->taken,
                       .level = level };
}

void
hass_forecast_granted (HassForecast *f, guint device, const HassBundle *bundle)
{
  HassSeat *m = &f->seats[device];
  if (m->n_bundles == 0)
    m->since_ns = f->now_ns;
  m->entered = TRUE;
  m->bundles[m->n_bundles++] = *bundle;
  m->n_given++;
  m->queue_ns += bundle->ns;
  m->round_largest = MAX (m->round_largest, bundle->work);
}

/* Sets the time to the end of a completion. The round's first completion shows
   when the round began, and the function returns how much later that is than
   was assumed. A CPU pool that completes a grant for the first time may have
   been granted it before, so the begin is no earlier than assumed. */
double
hass_forecast_clock (HassForecast *f, const HassRound *round,
                     const HassCompletion *done)
{
  double shift_ns = 0;
  if (!f->begun)
    {
      f->begun = TRUE;
      f->begin_ns = MAX (done->grant_ns, f->now_ns);
      for (guint d = 0; d < f->u->n; d++)
        f->seats[d].since_ns = MAX (f->seats[d].since_ns, f->begin_ns);
      shift_ns = f->begin_ns - f->now_ns;
    }
  f->now_ns = MAX (f->now_ns, done->end_ns);
  f->seats[done->device].asked_at = ++f->n_told;
  f->n_waited += hass_round_waiting (round) > 0;
  f->seats[done->device].back = TRUE;
  return shift_ns;
}

gboolean
hass_forecast_done (HassForecast *f, const HassCompletion *done,
                    HassBundle *bundle, double *ns)
{
  HassSeat *m = &f->seats[done->device];
  m->failed = done->failed;
  if (m->n_bundles == 0)
    return FALSE;
  *bundle = m->bundles[0];
  *ns = done->end_ns - MAX (done->grant_ns, m->end_ns);
  m->queue_ns -= bundle->ns;
  m->n_bundles--;
  for (guint i = 0; i < m->n_bundles; i++)
    m->bundles[i] = m->bundles[i + 1];
  m->since_ns = m->end_ns = done->end_ns;
  return TRUE;
}

/* -- What is predicted -------------------------------------------------- */

gboolean
hass_forecast_out (const HassForecast *f, guint device)
{
  const HassSeat *m = &f->seats[device];
  return m->failed || m->absent || m->hopeless;
}

gboolean
hass_forecast_all_measured (const HassForecast *f, const HassRound *round)
{
  for (guint d = 0; d < f->u->n; d++)
    if (!hass_forecast_out (f, d) && !hass_estimates_measured (f->e, round, d))
      return FALSE;
  return TRUE;
}

gboolean
hass_forecast_all_known (const HassForecast *f, const HassRound *round)
{
  for (guint d = 0; d < f->u->n; d++)
    if (!hass_forecast_out (f, d) && !hass_estimates_known (f->e, round, d))
      return FALSE;
  return TRUE;
}

/* Returns the number of units that the cores were granted in this round and
   have not finished. */
static gint64
core_units (const HassForecast *f, const HassRound *round)
{
  return f->seats[f->u->cpu].units
         - (gint64)hass_round_progress (round, f->u->cpu).units;
}

gboolean
hass_forecast_busy (const HassForecast *f, const HassRound *round, guint device)
{
  if (device != f->u->cpu)
    return f->seats[device].n_bundles > 0;
  return core_units (f, round) > 0;
}

double
hass_forecast_queue_ns (const HassForecast *f, guint device)
{
  const HassSeat *m = &f->seats[device];
  if (m->n_bundles == 0)
    return 0;
  double first_ns = m->bundles[0].ns, past_ns = f->now_ns - m->since_ns;
  return m->queue_ns - first_ns + fabs (first_ns - past_ns);
}

/* Returns the time in ns until a core is free, as if all cores had begun their
   units together. */
double
hass_forecast_core_free_ns (const HassForecast *f, const HassRound *round,
                            double unit_ns)
{
  if (!hass_forecast_busy (f, round, f->u->cpu))
    return 0;
  double busy_ns = hass_round_progress (round, f->u->cpu).busy_ns;
  double begun_ns = f->begun ? f->now_ns - f->begin_ns - busy_ns : 0;
  return CLAMP (unit_ns - begun_ns, 0, unit_ns);
}

double
hass_forecast_busy_cores (const HassForecast *f, const HassRound *round)
{
  gint64 begun
      = core_units (f, round) - (gint64)hass_units_cpu_share (f->u, round);
  if (!hass_forecast_busy (f, round, f->u->cpu))
    return 0;
  return f->u->env->cost == HASS_COST_UNKNOWN
             ? 1
             : CLAMP (begun / (double)f->u->cores, 0, 1);
}

gboolean
hass_forecast_silent (const HassForecast *f, const HassRound *round,
                      guint device)
{
  const HassSeat *m = &f->seats[device];
  return device != f->u->cpu && m->n_bundles == 0
         && f->n_told > m->asked_at + SILENT_TOLD
         && hass_estimates_measured (f->e, round, device);
}

gboolean
hass_forecast_settled (const HassForecast *f, const HassRound *round,
                       const HassRunner *plan)
{
  for (guint d = 0; d < f->u->n; d++)
    {
      const HassSeat *m = &f->seats[d];
      guint64 n_done = f->e->of[d].n_done;
      if (d != f->u->cpu && (m->n_bundles > 0 || (m->back && plan[d].runs))
          && (n_done < SETTLED_BUNDLES
              || (n_done < EARLY_BUNDLES
                  && hass_estimates_fit (f->e, round, d, FALSE)->error
                         > UNSETTLED)))
        return FALSE;
    }
  return TRUE;
}

gboolean
hass_forecast_warming_up (const HassForecast *f, const HassRound *round,
                          const HassRunner *plan, double soon_ns, gboolean few)
{
  for (guint d = 0; d < f->u->n; d++)
    {
      const HassSeat *m = &f->seats[d];
      const HassEstimate *known = &f->e->of[d];
      const HassFit *fit = hass_estimates_fit (f->e, round, d, TRUE);
      double left = known->n_done == 1 ? 1
                    : few ? 2. * (EARLY_BUNDLES - (double)known->n_done)
                          : 0;
      if (d != f->u->cpu && known->n_done > 0 && left > 0
          && (m->n_bundles > 0 || (m->back && plan[d].runs))
          && left * hass_fit_ns (fit, known->largest) <= soon_ns
          && (m->n_bundles == 0 || m->bundles[0].ns <= soon_ns))
        return TRUE;
    }
  return FALSE;
}

guint64
hass_forecast_kept_units (const HassForecast *f, const HassRound *round)
{
  guint64 n = 0;
  for (guint d = 0; d < f->u->n; d++)
    n += d != f->u->cpu && !f->u->devices[d].opening
         && !hass_forecast_out (f, d) && !hass_forecast_busy (f, round, d)
         && !hass_estimates_known (f->e, round, d);
  return n;
}
