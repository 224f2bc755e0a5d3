/* SPDX-License-Identifier: MIT */
/* common.c: measuring, mapping, taking and stealing, as the strategies share
   them. The DESIGN paragraph is in common-private.h.
   Thread safety: as the strategy that owns the crew. */
#include "common-private.h"

#include <math.h>

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
  /* Rates of another origin than ours must not be mixed with ours: they may
     count other units of work. So all of them or none. */
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

/* Where the CPU pool is the only device there is nothing to decide: its
   cores pull from the common range, in order of emission. */
gboolean
hass_crew_alone (const HassCrew *crew)
{
  return crew->n == 1 && crew->cpu == 0;
}

/* -- What is measured --------------------------------------------------- */

static gboolean
unmeasured (const HassMember *m)
{
  return m->rate <= 0 && !m->failed;
}

/* Every device that works is measured, so the round can be mapped. */
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

/* Busy time of a GPU is its service time, launch latency included: that is
   what a share costs it. With several bundles in flight a bundle is served
   from the end of the one before. */
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

/* Takes the round into the rates, older rounds counting half as much each.
   largest_bundle: a GPU's rate is that of its largest bundle alone, which is
   the like of what it will get next; else that of all its bundles. Sums of
   work over sums of time, so a round with little work changes little. */
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

/* The next round to be learned from shall count alone. */
void
hass_crew_forget (HassCrew *crew)
{
  for (guint d = 0; d < crew->n; d++)
    crew->members[d].past_work = crew->members[d].past_ns = 0;
}

/* The rate with what this round has shown so far; 0: unknown. */
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

/* What to plan with: the rates, 0 for a device that fails; all equal where
   nothing is known of any. Valid until the next call. */
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

/* -- Steps of a round --------------------------------------------------- */

/* While a device is not measured: TRUE, and the answer. A device that was
   not even asked until all others waited (force) is planned without. */
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

/* Sums are made here, so that no decision has to be more than O(devices). */
static void
set_mapped (HassCrew *crew, HassRound *round)
{
  crew->mapped = TRUE;
  if (crew->n > 1 && hass_round_units (round) > 0)
    crew->unit_work = hass_round_total_work (round) / hass_round_units (round);
}

typedef struct
{
  const double *rates;
  double *ready_ns;
  guint n;
} Mapping;

/* The device that would finish this unit first. */
static guint
first_to_finish (HassRound *round, guint64 position, gpointer user_data)
{
  Mapping *map = user_data;
  double work = hass_round_work (round, position, 1), best_ns = INFINITY;
  guint best = map->n;
  for (guint d = 0; d < map->n; d++)
    if (map->rates[d] > 0 && map->ready_ns[d] + work / map->rates[d] < best_ns)
      {
        best = d;
        best_ns = map->ready_ns[d] + work / map->rates[d];
      }
  if (best < map->n)
    map->ready_ns[best] = best_ns;
  return best;
}

/* Min-min. Times are taken as linear in the work (Zhang 2011, chapter 4), so
   the unit that can finish first is always the shortest one left: Min-min is
   one pass in ascending order. Equal units need no pass at all, only how
   many each device gets, and then stay adjacent. */
void
hass_crew_map (HassCrew *crew, HassRound *round)
{
  set_mapped (crew, round);
  if (crew->n == 1)
    return;
  const double *rates = hass_crew_weights (crew);
  if (crew->env->cost != HASS_COST_SIZED
      || crew->env->farm == HASS_FARM_PARTITION)
    {
      hass_share_min_min (hass_round_waiting (round), rates, crew->n,
                          crew->counts);
      hass_round_carve (round, crew->counts);
      return;
    }
  Mapping map = { rates, g_new0 (double, crew->n), crew->n };
  hass_round_order_by_work (round);
  hass_round_assign (round, first_to_finish, &map);
  for (guint d = 0; d < crew->n; d++)
    crew->counts[d] = hass_round_share (round, d);
  g_free (map.ready_ns);
}

/* Shares in proportion to weights: where these are rates, all devices finish
   together. */
void
hass_crew_carve (HassCrew *crew, HassRound *round, const double *weights)
{
  set_mapped (crew, round);
  if (crew->n == 1)
    return;
  hass_share_largest_remainder (hass_round_waiting (round), weights, crew->n,
                                crew->counts);
  hass_round_carve (round, crew->counts);
}

/* How many of the n units from `first` on come nearest to so much work. */
guint64
hass_round_units_of (HassRound *round, guint64 first, guint64 n, double work)
{
  guint64 lo = 0, hi = n;
  while (lo < hi)
    {
      guint64 middle = lo + (hi - lo + 1) / 2;
      if (hass_round_work (round, first, middle) <= work)
        lo = middle;
      else
        hi = middle - 1;
    }
  if (lo == n)
    return n;
  double below = work - hass_round_work (round, first, lo);
  double above = hass_round_work (round, first, lo + 1) - work;
  return below <= above ? lo : lo + 1;
}

/* Units of what waits in the common range, as it lies, by parts of its work:
   whole numbers of equal units, else cut where the sum comes nearest. */
static void
count_parts (HassCrew *crew, HassRound *round, const double *parts)
{
  guint64 first = hass_round_front (round), before = 0;
  guint64 n = hass_round_back (round) - first;
  double sum = 0, up_to = 0;
  hass_share_largest_remainder (n, parts, crew->n, crew->counts);
  for (guint d = 0; d < crew->n; d++)
    sum += parts[d];
  if (crew->env->cost != HASS_COST_SIZED || n == 0 || !(sum > 0))
    return;
  double work = hass_round_work (round, first, n);
  for (guint d = 0; d < crew->n; d++)
    {
      up_to += parts[d];
      guint64 end = hass_round_units_of (round, first, n, work * (up_to / sum));
      crew->counts[d] = end - before;
      before = end;
    }
}

/* Shares by parts of the work, cut from the range as it lies. A device that
   fails has no part; instead of it one unit stays common, for it to show that
   it works again. */
void
hass_crew_carve_parts (HassCrew *crew, HassRound *round, const double *parts)
{
  guint most = 0;
  set_mapped (crew, round);
  for (guint d = 0; d < crew->n; d++)
    crew->weights[d] = crew->members[d].failed ? 0 : parts[d];
  count_parts (crew, round, crew->weights);
  for (guint d = 1; d < crew->n; d++)
    if (crew->counts[d] > crew->counts[most])
      most = d;
  for (guint d = 0; d < crew->n; d++)
    if (crew->members[d].failed && crew->counts[most] > 1)
      crew->counts[most]--;
  hass_round_carve (round, crew->counts);
}

/* Who left its part to others is lost, or as good as that. */
void
hass_crew_absent (HassCrew *crew, const HassRoundSummary *summary)
{
  for (guint d = 0; d < crew->n; d++)
    if (crew->mapped && crew->counts[d] > 0 && summary->devices[d].units == 0)
      crew->members[d].failed = TRUE;
}

/* -- What a device with room takes -------------------------------------- */

/* The cores pull from the source on their own, one unit at a time so that
   as much as can be remains to steal; the engine pulls more where units are
   too short for that. */
static void
let_cores_pull (const HassCrew *crew, HassGrant *grant)
{
  grant->units = 0;
  grant->chunk = hass_crew_alone (crew) ? 0 : 1;
}

/* units: of a GPU's bundle; 0: the whole share. */
gboolean
hass_crew_own (HassCrew *crew, HassRound *round, guint device, guint64 units,
               HassGrant *grant)
{
  HassMember *m = &crew->members[device];
  m->own = hass_round_share (round, device) > 0;
  if (!m->own)
    return FALSE;
  m->begun = TRUE;
  grant->source = HASS_FROM_SHARE;
  grant->share = device;
  grant->units = units;
  if (device == crew->cpu)
    let_cores_pull (crew, grant);
  return TRUE;
}

/* What nobody owns: common units, those that only this kind can run, and the
   shares of devices that fail. Without bundle, GPUs take them one by one;
   with it, the part that would be theirs if all took alike. */
gboolean
hass_crew_leftovers (const HassCrew *crew, HassRound *round, guint device,
                     gboolean bundle, HassGrant *grant)
{
  guint64 waiting = hass_round_waiting (round);
  gboolean common = waiting + hass_round_exclusive (round, device) > 0;
  gboolean cpu = device == crew->cpu;
  grant->source = cpu ? HASS_FROM_FRONT : HASS_FROM_BACK;
  for (guint d = 0; d < crew->n && !common; d++)
    if (d != device && crew->members[d].failed)
      {
        waiting = hass_round_share (round, d);
        common = waiting > 0;
        grant->source = cpu ? HASS_FROM_SHARE : HASS_FROM_THEFT;
        grant->share = d;
      }
  /* A device that fails gets single units until one of them succeeds. */
  bundle = bundle && !crew->members[device].failed;
  grant->units = bundle ? MAX (waiting / crew->n, 1) : 1;
  if (cpu)
    let_cores_pull (crew, grant);
  return common;
}

/* Whether the CPU has its share done before a GPU is back from even its
   shortest trip: then a theft would only hold up the round. */
static gboolean
too_late (const HassCrew *crew, const HassRound *round, guint device)
{
  double rate = hass_crew_rate (crew, round, crew->cpu);
  double units = hass_round_share (round, crew->cpu)
                 + crew->env->devices[crew->cpu].cores;
  return rate > 0
         && units * crew->unit_work / rate < crew->members[device].least_ns;
}

/* The own share as one bundle, then what nobody owns, and no stealing. Units
   that only GPUs can run come first whatever is granted, so each GPU takes
   its part of them. */
HassAnswer
hass_crew_take_part (HassCrew *crew, HassRound *round, guint device,
                     HassGrant *grant)
{
  guint64 only = hass_round_exclusive (round, device);
  if (hass_crew_own (crew, round, device, 0, grant))
    {
      grant->chunk = 0; /* the cores divide it as suits them */
      if (device != crew->cpu && only > 0)
        grant->units = MAX (only / crew->n_gpus, 1);
      return HASS_TAKE;
    }
  return hass_crew_leftovers (crew, round, device, TRUE, grant) ? HASS_TAKE
                                                                : HASS_DONE;
}

/* From the CPU's share or, when that is empty, from the fullest share of a
   GPU that could not take it as one bundle. The CPU steals a unit for each
   core. */
gboolean
hass_crew_steal (const HassCrew *crew, HassRound *round, guint device,
                 guint64 units, HassGrant *grant)
{
  guint64 most = 0;
  for (guint d = 0; d < crew->n; d++)
    {
      guint64 waiting = d == device ? 0 : hass_round_share (round, d);
      if (d == crew->cpu && waiting > 0)
        waiting = too_late (crew, round, device) ? 0 : G_MAXUINT64;
      else if (!crew->members[d].begun)
        waiting = 0;
      if (waiting > most)
        {
          most = waiting;
          grant->share = d;
        }
    }
  grant->source = HASS_FROM_THEFT;
  grant->units = units;
  if (device == crew->cpu)
    grant->units = MAX (crew->env->devices[device].cores, 1);
  return most > 0;
}

/* -- Whole numbers ------------------------------------------------------ */

/* What is a device's in proportion, rounded down. Returns what is over. */
static guint64
whole_parts (guint64 units, const double *weights, guint n, guint64 *counts)
{
  double sum = 0;
  guint64 over = units;
  for (guint d = 0; d < n; d++)
    sum += weights[d];
  for (guint d = 0; d < n; d++)
    {
      counts[d] = sum > 0 ? (guint64)(units * (weights[d] / sum)) : 0;
      counts[d] = MIN (counts[d], over);
      over -= counts[d];
    }
  return sum > 0 ? over : 0;
}

/* What is over goes where most was rounded off. */
void
hass_share_largest_remainder (guint64 units, const double *weights, guint n,
                              guint64 *counts)
{
  double sum = 0;
  for (guint d = 0; d < n; d++)
    sum += weights[d];
  for (guint64 over = whole_parts (units, weights, n, counts); over > 0; over--)
    {
      guint best = 0;
      double most = -INFINITY;
      for (guint d = 0; d < n; d++)
        {
          double off = units * (weights[d] / sum) - counts[d];
          if (weights[d] > 0 && off > most)
            {
              best = d;
              most = off;
            }
        }
      counts[best]++;
    }
}

/* How many of `units` equal units Min-min gives each device. Unit by unit it
   would choose the least (count + 1) / rate; nobody falls below the part
   that is his by rate, rounded down, so only what is over is chosen. */
void
hass_share_min_min (guint64 units, const double *rates, guint n,
                    guint64 *counts)
{
  for (guint64 over = whole_parts (units, rates, n, counts); over > 0; over--)
    {
      guint best = 0;
      double least = INFINITY;
      for (guint d = 0; d < n; d++)
        if (rates[d] > 0 && (counts[d] + 1) / rates[d] < least)
          {
            best = d;
            least = (counts[d] + 1) / rates[d];
          }
      counts[best]++;
    }
}

/* -- Mapping as a round begins, or once speeds are known --------------- */

/* The begin_round of strategies that map each round by min-min. */
void
hass_crew_begin_mapped (gpointer self, HassRound *round)
{
  hass_crew_begin_round (self, round);
  if (hass_crew_known (self))
    hass_crew_map (self, round);
}

/* FALSE: the round is not mapped yet, because a device is still measured;
   the answer for this one is filled in. */
gboolean
hass_crew_mapped (HassCrew *crew, HassRound *round, guint device,
                  gboolean force, HassGrant *grant, HassAnswer *answer)
{
  if (crew->mapped)
    return TRUE;
  if (hass_crew_probe (crew, round, device, force, grant, answer))
    return FALSE;
  hass_crew_map (crew, round);
  return TRUE;
}

/* -- Maps in other orders than Min-min's, and cuts by work -------------- */

typedef struct
{
  const guint *owners;
  guint64 first;
} Owners;

static guint
owner_of (HassRound *round, guint64 position, gpointer user_data)
{
  const Owners *map = user_data;
  (void)round;
  return map->owners[position - map->first];
}

/* As hass_crew_map, but each unit in its turn. Units of the same work have no
   order that matters. */
void
hass_crew_map_in_order (HassCrew *crew, HassRound *round, HassMapOrder order)
{
  if (crew->n == 1 || crew->env->cost != HASS_COST_SIZED
      || crew->env->farm == HASS_FARM_PARTITION)
    {
      hass_crew_map (crew, round);
      return;
    }
  set_mapped (crew, round);
  if (order == HASS_MAP_LARGEST_FIRST)
    hass_round_order_by_work (round);
  guint64 first = hass_round_front (round);
  guint64 n = hass_round_back (round) - first;
  guint *owners = g_new (guint, MAX (n, 1));
  Mapping map = { hass_crew_weights (crew), g_new0 (double, crew->n), crew->n };
  for (guint64 i = 0; i < n; i++)
    {
      guint64 at = order == HASS_MAP_LARGEST_FIRST ? n - 1 - i : i;
      owners[at] = first_to_finish (round, first + at, &map);
    }
  hass_round_assign (round, owner_of, &(Owners){ owners, first });
  for (guint d = 0; d < crew->n; d++)
    crew->counts[d] = hass_round_share (round, d);
  g_free (map.ready_ns);
  g_free (owners);
}

/* Cuts so much work, or all, off the front of the common range, as it lies,
   into the shares of the devices: each is right to a unit, and there is one at
   least. one_each: whoever has a part gets one, while there are any. */
void
hass_crew_carve_work (HassCrew *crew, HassRound *round, double work,
                      const double *parts, gboolean one_each)
{
  guint64 first = hass_round_front (round), before = 0;
  guint64 n = hass_round_back (round) - first;
  double sum = 0, up_to = 0;
  guint largest = 0;
  for (guint d = 0; d < crew->n; d++)
    {
      crew->counts[d] = 0;
      sum += parts[d];
      largest = parts[d] > parts[largest] ? d : largest;
    }
  if (n == 0 || !(sum > 0))
    return;
  work = MIN (work, hass_round_work (round, first, n));
  for (guint d = 0; d < crew->n; d++)
    {
      up_to += parts[d];
      guint64 end = hass_round_units_of (round, first, n, work * (up_to / sum));
      crew->counts[d] = end - before;
      if (one_each && parts[d] > 0)
        crew->counts[d] = MAX (crew->counts[d], 1);
      before = end;
    }
  if (before == 0) /* less than half a unit */
    crew->counts[largest] = MAX (crew->counts[largest], 1);
  hass_round_carve (round, crew->counts);
}

/* Units that only this kind of device can run, and nothing else: an equal
   part of them for each GPU. */
gboolean
hass_crew_exclusive (const HassCrew *crew, HassRound *round, guint device,
                     HassGrant *grant)
{
  guint64 waiting = hass_round_exclusive (round, device);
  grant->source = HASS_FROM_SHARE; /* they come first, and fill the grant */
  grant->share = device;
  grant->units = waiting;
  if (device != crew->cpu)
    grant->units = MIN (waiting, MAX (crew->gpu_part, 1));
  if (crew->members[device].failed)
    grant->units = 1;
  return waiting > 0;
}

/* What the profile store or else the engine says of all devices. FALSE: at
   least one is unknown, and nothing is filled in. */
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
