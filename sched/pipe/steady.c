/* SPDX-License-Identifier: MIT */
/* steady.c: solves the linear program of a pipeline's steady state.

   DESIGN. Maximise the loads per time r, where x[c][d] >= 0 units of class c
   run on device d per time, subject to
   1. flow: r * reach[c] - sum over d of x[c][d] <= 0 for each class;
   2. sum over c of x[c][cpu] * ns <= cores, and <= 1 on each other device, for
      which ns is that of bundles as long as the tokens in flight allow;
   3. for each link and direction the times of copies sum up to <= 1;
   4. x[c][cpu] * ns <= at_once for a class with such a bound.
   A class that runs one at a time limits the rate, but no other division would
   help it. So that limit is left out, and the optimum is one in which the other
   classes have as much room as can be.
   No right side is negative, so x = 0, r = 0 is a first solution, and the
   simplex method needs no first phase. The tableau is the dictionary: a row for
   each basic variable, a column for each other one. Rows 1 begin with 0 on the
   right side, where pivots could go round in a circle; a little more than 0,
   different in each row, prevents that.

   Giving each class to the device with the greatest comparative advantage is
   exact for the cores and one GPU, but not for several unlike GPUs, nor where
   links bind or a class has a bound.

   Thread safety: see steady.h. */
#include "steady.h"

#include <string.h>

/* Coefficients below this part of 1 count as 0. */
#define TINY 1e-11
/* What rows 1 have on the right side, times their number, in units of a time
   scale in which the largest time is 1. */
#define NUDGE 1e-9

/* Time in ns between two solutions: the first are soon after another, while
   paces are being measured. Longer times follow changes later. Measured on
   random pipelines: 2 ms is better than 5 and 1. */
#define FIRST_NS 1e5
#define EVERY_NS 2e6
/* A device is behind or ahead by so many of the class's largest grants at most:
   more, and what it could not do once is made up for long after; less, and a
   device with a small part of the class gets more than that. A guess. */
#define MOST_BEHIND 4

/**
 * Tableau: a dictionary of the simplex method.
 * @m, @n: rows, columns. @a: [(m + 1) * (n + 1)]; the last column is the right
 *   side, the last row the objective.
 * @basic: [m] variable of each row. @other: [n] that of each column. Variables
 *   below n are those of the program, the others the slacks of rows.
 */
typedef struct
{
  guint m, n;
  double *a;
  guint *basic, *other;
} Tableau;

static double *
cell (const Tableau *t, guint row, guint col)
{
  return &t->a[row * (t->n + 1) + col];
}

static void
pivot (Tableau *t, guint row, guint col)
{
  double inverse = 1 / *cell (t, row, col);
  for (guint j = 0; j <= t->n; j++)
    *cell (t, row, j) *= inverse;
  *cell (t, row, col) = inverse;
  for (guint i = 0; i <= t->m; i++)
    {
      double factor = *cell (t, i, col);
      if (i == row || factor == 0)
        continue;
      *cell (t, i, col) = 0;
      for (guint j = 0; j <= t->n; j++)
        *cell (t, i, j) -= factor * *cell (t, row, j);
    }
  guint left = t->basic[row];
  t->basic[row] = t->other[col];
  t->other[col] = left;
}

/* Returns: whether the tableau is at its optimum; FALSE: it is unbounded, or
   took too many pivots. */
static gboolean
maximise (Tableau *t)
{
  for (guint turn = 0; turn < 50 * (t->m + t->n); turn++)
    {
      guint col = 0, row = t->m;
      double least = 0;
      for (guint j = 1; j < t->n; j++)
        if (*cell (t, t->m, j) > *cell (t, t->m, col))
          col = j;
      if (*cell (t, t->m, col) <= TINY)
        return TRUE;
      for (guint i = 0; i < t->m; i++)
        {
          double a = *cell (t, i, col);
          if (a <= TINY)
            continue;
          double ratio = *cell (t, i, t->n) / a;
          if (row == t->m || ratio < least)
            {
              row = i;
              least = ratio;
            }
        }
      if (row == t->m)
        return FALSE;
      pivot (t, row, col);
    }
  return FALSE;
}

/* The program that is being built: variable 0 is r, variable(c, d) x[c][d]. */
typedef struct
{
  const HassSteady *s;
  const HassPaces *p;
  double scale; /* 1 / the largest time */
  Tableau t;
} Program;

/* Returns: time in ns for which a unit occupies a device: of a GPU that its
   bundles do not fill, its part of the kernels of a bundle. */
static double
unit_ns (const HassSteady *s, guint c, guint d)
{
  const HassPaces *p = s->paces;
  double ns = hass_pace (p, c, d)->ns;
  if (d == p->cpu || !hass_pace_can (p, c, d))
    return ns;
  double n = (double)hass_steady_bundle (s, c, d);
  return ns * MAX (hass_pace_width (p, c, d) / n, 1);
}

static gboolean
usable (const Program *g, guint c, guint d)
{
  return !hass_steady_is_out (g->s, c, d) && hass_pace_can (g->p, c, d)
         && hass_pace_ns (g->p, c, d) > 0 && !g->p->env->devices[d].opening;
}

/* Returns: the coefficient cell of x[c][d] in the row under construction. */
static double *
of (const Program *g, guint c, guint d)
{
  return cell (&g->t, g->t.m, 1 + c * g->p->env->n_devices + d);
}

static void
end_row (Program *g, double most)
{
  *cell (&g->t, g->t.m, g->t.n) = most;
  g->t.m++;
}

static void
add_classes (Program *g)
{
  const HassStrategyEnv *env = g->p->env;
  for (guint c = 0; c < env->n_classes; c++)
    {
      guint most = env->classes[c].at_once;
      *cell (&g->t, g->t.m, 0) = g->p->reach[c];
      for (guint d = 0; d < env->n_devices; d++)
        if (usable (g, c, d))
          *of (g, c, d) = -1;
      end_row (g, NUDGE * (c + 1));
      if (most == 0 || g->p->cpu == env->n_devices || !usable (g, c, g->p->cpu))
        continue;
      *of (g, c, g->p->cpu) = hass_pace (g->p, c, g->p->cpu)->ns * g->scale;
      end_row (g, most);
    }
}

static void
add_devices (Program *g)
{
  const HassStrategyEnv *env = g->p->env;
  for (guint d = 0; d < env->n_devices; d++)
    {
      for (guint c = 0; c < env->n_classes; c++)
        if (usable (g, c, d))
          *of (g, c, d) = unit_ns (g->s, c, d) * g->scale;
      end_row (g, d == g->p->cpu ? env->devices[d].cores : 1);
    }
}

/* Adds the copies of device @d and of those that share its link. */
static void
add_link (Program *g, guint d)
{
  const HassStrategyEnv *env = g->p->env;
  guint link = env->devices[d].link;
  for (guint out = 0; out < 2; out++)
    {
      for (guint e = d; e < env->n_devices; e++)
        for (guint c = 0; c < env->n_classes; c++)
          if ((e == d || (link > 0 && env->devices[e].link == link))
              && usable (g, c, e))
            {
              const HassPace *pace = hass_pace (g->p, c, e);
              *of (g, c, e) = (out ? pace->out_ns : pace->in_ns) * g->scale;
            }
      end_row (g, 1);
    }
}

static void
build (Program *g)
{
  const HassStrategyEnv *env = g->p->env;
  add_classes (g);
  add_devices (g);
  for (guint d = 0; d < env->n_devices; d++)
    {
      gboolean first = d != g->p->cpu;
      for (guint e = 0; first && e < d; e++)
        first = env->devices[d].link == 0
                || env->devices[e].link != env->devices[d].link;
      if (first)
        add_link (g, d);
    }
  *cell (&g->t, g->t.m, 0) = 1; /* the objective is the last row */
}

/* Takes the solution over: the part of each class that each device does. */
static void
read_off (HassSteady *s, const Program *g)
{
  const HassStrategyEnv *env = g->p->env;
  guint n = env->n_devices;
  memset (s->parts, 0, env->n_classes * n * sizeof *s->parts);
  for (guint i = 0; i < g->t.m; i++)
    {
      guint variable = g->t.basic[i];
      double value = MAX (*cell (&g->t, i, g->t.n), 0);
      if (variable == 0)
        s->rate = value * g->scale;
      else if (variable < g->t.n)
        s->parts[variable - 1] = value;
    }
  for (guint c = 0; c < env->n_classes; c++)
    {
      double sum = 0;
      for (guint d = 0; d < n; d++)
        sum += s->parts[c * n + d];
      for (guint d = 0; d < n && sum > 0; d++)
        s->parts[c * n + d] /= sum;
      if (env->classes[c].one_at_a_time && usable (g, c, g->p->cpu))
        s->rate = MIN (
            s->rate, 1 / (g->p->reach[c] * hass_pace (g->p, c, g->p->cpu)->ns));
    }
}

void
hass_steady_solve (HassSteady *s)
{
  const HassStrategyEnv *env = s->paces->env;
  Program g = { .s = s, .p = s->paces };
  double longest = 0;
  guint most_rows = 2 * env->n_classes + 3 * env->n_devices;
  for (guint c = 0; c < env->n_classes; c++)
    for (guint d = 0; d < env->n_devices; d++)
      if (usable (&g, c, d))
        longest = MAX (longest,
                       MAX (unit_ns (s, c, d), hass_pace_ns (s->paces, c, d)));
  s->rate = 0;
  if (longest <= 0)
    return;
  g.scale = 1 / longest;
  g.t.n = 1 + env->n_classes * env->n_devices;
  g.t.a = g_new0 (double, (most_rows + 1) * (g.t.n + 1));
  g.t.basic = g_new (guint, most_rows);
  g.t.other = g_new (guint, g.t.n);
  for (guint j = 0; j < g.t.n; j++)
    g.t.other[j] = j;
  for (guint i = 0; i < most_rows; i++)
    g.t.basic[i] = g.t.n + i;
  build (&g);
  if (maximise (&g.t))
    read_off (s, &g);
  g_free (g.t.a);
  g_free (g.t.basic);
  g_free (g.t.other);
}

/* -- What devices should get next --------------------------------------- */

void
hass_steady_init (HassSteady *s, HassPaces *paces, double launches)
{
  const HassStrategyEnv *env = paces->env;
  *s = (HassSteady){ .paces = paces, .launches = launches };
  s->parts = g_new0 (double, env->n_classes * env->n_devices);
  s->behind = g_new0 (double, env->n_classes * env->n_devices);
  s->bundles = g_new0 (guint64, env->n_classes * env->n_devices);
  s->grain = g_new0 (double, env->n_classes);
  s->out = g_new0 (gboolean, env->n_classes * env->n_devices);
  s->why = g_new0 (HassSteadyOut, env->n_classes * env->n_devices);
}

void
hass_steady_clear (HassSteady *s)
{
  g_free (s->parts);
  g_free (s->behind);
  g_free (s->grain);
  g_free (s->bundles);
  g_free (s->out);
  g_free (s->why);
}

/* Sets the bundles of all GPUs. Tokens that may be in flight, less those that
   cores hold in the steady state, are divided among the GPUs that have a part
   in it. */
static void
cut (HassSteady *s, guint64 tokens)
{
  const HassPaces *p = s->paces;
  guint n = p->env->n_devices, gpus = 0;
  double left = (double)tokens;
  if (p->cpu < n)
    left -= hass_steady_load (s, p->cpu) * p->env->devices[p->cpu].cores;
  for (guint d = 0; d < n; d++)
    gpus += d != p->cpu && hass_steady_load (s, d) > 0;
  left = MAX (left / MAX (gpus, 1), 1);
  for (guint c = 0; c < p->env->n_classes; c++)
    for (guint d = 0; d < n; d++)
      if (d != p->cpu && hass_pace_can (p, c, d))
        s->bundles[c * n + d]
            = hass_bundle_units (p, c, d, s->launches, (guint64)left);
}

gboolean
hass_steady_update (HassSteady *s, const HassStreamState *state)
{
  guint n_open = 0;
  for (guint d = 0; d < state->n_devices; d++)
    n_open += !s->paces->env->devices[d].opening;
  if (state->now_ns < s->next_ns && n_open == s->n_open)
    return FALSE;
  s->n_open = n_open;
  s->wait_ns = CLAMP (s->wait_ns * 1.5, FIRST_NS, EVERY_NS);
  s->next_ns = state->now_ns + (gint64)s->wait_ns;
  for (guint c = 0; c < state->n_classes; c++)
    for (guint d = 0; d < state->n_devices; d++)
      s->out[c * state->n_devices + d] = state->devices[d].lost;
  hass_paces_update (s->paces, state);
  cut (s, state->most_tokens);
  hass_steady_solve (s);
  return TRUE;
}

gboolean
hass_steady_is_out (const HassSteady *s, guint c, guint device)
{
  return s->out[c * s->paces->env->n_devices + device];
}

double
hass_steady_part (const HassSteady *s, guint c, guint device)
{
  return s->parts[c * s->paces->env->n_devices + device];
}

guint64
hass_steady_bundle (const HassSteady *s, guint c, guint device)
{
  return s->bundles[c * s->paces->env->n_devices + device];
}

double
hass_steady_load (const HassSteady *s, guint device)
{
  const HassPaces *p = s->paces;
  double ns = 0;
  for (guint c = 0; c < p->env->n_classes; c++)
    ns += hass_steady_part (s, c, device) * p->reach[c]
          * unit_ns (s, c, device);
  if (device == p->cpu)
    ns /= p->env->devices[device].cores;
  return s->rate * ns;
}

double
hass_steady_link_load (const HassSteady *s, guint device)
{
  const HassPaces *p = s->paces;
  guint link = p->env->devices[device].link;
  double in_ns = 0, out_ns = 0;
  for (guint d = 0; d < p->env->n_devices; d++)
    for (guint c = 0; c < p->env->n_classes; c++)
      if (d == device || (link > 0 && p->env->devices[d].link == link))
        {
          double units = hass_steady_part (s, c, d) * p->reach[c];
          in_ns += units * hass_pace (p, c, d)->in_ns;
          out_ns += units * hass_pace (p, c, d)->out_ns;
        }
  return s->rate * MAX (in_ns, out_ns);
}

void
hass_steady_give (HassSteady *s, guint c, guint device, guint64 units)
{
  guint n = s->paces->env->n_devices;
  double *behind = &s->behind[c * n];
  if (device != s->paces->cpu)
    s->grain[c] = MAX (s->grain[c], (double)units);
  double most = MOST_BEHIND * MAX (s->grain[c], 1);
  behind[device] -= (double)units;
  for (guint d = 0; d < n; d++)
    behind[d]
        = CLAMP (behind[d] + s->parts[c * n + d] * (double)units, -most, most);
}

double
hass_steady_behind (const HassSteady *s, guint c, guint device)
{
  return s->behind[c * s->paces->env->n_devices + device];
}
