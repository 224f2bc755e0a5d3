/* SPDX-License-Identifier: MIT */
/* test_pipeline_accounts.c: reports of random pipelines on modelled machines,
   compared with what their workers have counted.

   DESIGN. A seed makes a machine, whose devices need a known time for each
   token, and a pipeline. The workers add up that time themselves, each call for
   the device that has made it. In virtual time nothing else takes time, so the
   report must have the same sums.

   In most pipelines one thing is made to bind: it is busy for MARGIN times as
   long as all else. Then the report must name it. The generator takes no time
   on a modelled machine, so it cannot bind.

   TEST_FARMS is the number of pipelines, TEST_SEED the seed of the first one,
   the next have the next seeds.

   Thread safety: single-threaded. */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "hass/hass.h"
#include "hass_test.h"
#include "plan.h"
#include "tests/engine/trial.h"
#include "tests/chance.h"

#define PIPELINES 1000
#define MOST_WRONG 10 /* then it is enough */
#define STAGES 5
#define DEVICES 2
#define CORES 16
#define AGAINS 3 /* of one token */
#define WORK 1e6 /* of a token of cost 1; rates are whole numbers */
#define TOLERANCE 0.02
/* Of the time of what is made to bind to that of all other stages, each of
   which a token may pass 1 + AGAINS times. */
#define MARGIN 5

/* What is made to bind. */
typedef enum
{
  ANYTHING,
  ONE_AT_A_TIME, /* a stage that is ordered, serial or the caller's */
  AT_ONCE,       /* a parallel stage with at_once = 1 */
  TOKENS,        /* tokens = 1 */
  ALL_CORES,
  DEVICE,
  N_BINDS
} Bind;

/**
 * Place: a stage.
 * @linked: devices can compute it.
 * @drop, @again: of 1000 calls.
 * @again_to: where tokens are sent back to.
 * @rate: work per us of a core and of each device.
 * @calls, @busy_s: of the cores and of each device.
 */
typedef struct
{
  const struct Case *of;
  guint index;
  HassStageMode mode;
  gboolean linked;
  guint at_once, drop, again, again_to;
  guint rate[1 + DEVICES];
  guint64 calls[1 + DEVICES];
  double busy_s[1 + DEVICES];
} Place;

typedef struct Case
{
  guint64 seed;
  Bind bind;
  guint slow; /* the stage that is made to bind */
  guint n_stages, n_cores, n_devices, n_loads;
  guint speed; /* of all devices; the higher, the more tokens in a batch */
  gsize tokens;
  Place places[STAGES];
} Case;

/* -- The pipeline ------------------------------------------------------- */

static void
make_stage (GRand *r, Case *c, guint s)
{
  static const HassStageMode modes[]
      = { HASS_STAGE_PARALLEL, HASS_STAGE_PARALLEL, HASS_STAGE_PARALLEL,
          HASS_STAGE_ORDERED,  HASS_STAGE_SERIAL,   HASS_STAGE_CALLER };
  Place *p = &c->places[s];
  gboolean plain = c->bind == TOKENS || c->bind == ALL_CORES;
  *p = (Place){ .of = c, .index = s, .again_to = s };
  p->mode = plain ? HASS_STAGE_PARALLEL : modes[below (r, 6)];
  if (p->mode == HASS_STAGE_PARALLEL && !plain && below (r, 4) == 0)
    p->at_once = 1 + below (r, 4);
  p->linked
      = p->mode == HASS_STAGE_PARALLEL && c->n_devices > 0 && below (r, 2) == 0;
  for (guint d = 0; d <= DEVICES; d++)
    p->rate[d] = (guint)(c->speed * WORK / (2 + below (r, 30)));
}

/* Makes the stage MARGIN times as slow as all others together, if a token
   passes each of those as often as it may and this one once. */
static void
make_slow (GRand *r, Case *c)
{
  static const HassStageMode modes[]
      = { HASS_STAGE_ORDERED, HASS_STAGE_SERIAL, HASS_STAGE_CALLER };
  Place *slow = &c->places[c->slow];
  double us = 0;
  for (guint s = 0; s < c->n_stages; s++)
    {
      double most = 0;
      for (guint d = 0; d <= c->n_devices; d++)
        most = MAX (most, WORK / c->places[s].rate[d]);
      us += s == c->slow ? 0 : most;
    }
  slow->mode
      = c->bind == ONE_AT_A_TIME ? modes[below (r, 3)] : HASS_STAGE_PARALLEL;
  slow->at_once = c->bind == AT_ONCE ? 1 : 0;
  slow->linked = c->bind == DEVICE;
  for (guint d = 0; d <= DEVICES; d++)
    slow->rate[d] = (guint)(WORK / (MARGIN * (1 + AGAINS) * us));
}

/* Lets the stage drop tokens and send them back. Devices can do neither. */
static void
make_fates (GRand *r, Case *c, guint s)
{
  Place *p = &c->places[s];
  if (p->linked)
    return;
  p->drop = below (r, 4) == 0 ? below (r, 200) : 0;
  p->again = below (r, 3) == 0 ? below (r, 400) : 0;
  for (guint to = s; to > 0 && below (r, 3) > 0; p->again_to = --to)
    if (c->places[to - 1].mode == HASS_STAGE_ORDERED
        || c->places[to - 1].mode == HASS_STAGE_CALLER)
      break;
}

/* A stage that binds is not one of the cores, which are all busy where there is
   one; with one token in flight three cores are busy for a third. */
static Case
make_case (guint64 seed)
{
  Case c = { .seed = seed };
  g_autoptr (GRand) r = g_rand_new_with_seed ((guint32)seed);
  c.bind = (Bind)below (r, N_BINDS);
  c.speed = below (r, 2) ? 1 : 16;
  c.n_stages = 2 + below (r, STAGES - 1);
  c.slow = below (r, c.n_stages);
  c.n_cores = 1 + below (r, CORES);
  if (c.bind != ANYTHING && c.bind != ALL_CORES)
    c.n_cores = MAX (c.n_cores, c.bind == TOKENS ? 3 : 2);
  c.n_devices = below (r, DEVICES + 1);
  if (c.bind == TOKENS || c.bind == ALL_CORES)
    c.n_devices = 0;
  else if (c.bind == DEVICE)
    c.n_devices = MAX (c.n_devices, 1);
  c.tokens = c.bind == TOKENS      ? 1
             : c.bind == ALL_CORES ? 0
             : below (r, 2) == 0   ? 0
                                   : 1 + below (r, below (r, 3) == 0 ? 2 : 40);
  c.n_loads = c.bind == ALL_CORES ? 60 * c.n_cores : 20 + below (r, 200);
  for (guint s = 0; s < c.n_stages; s++)
    make_stage (r, &c, s);
  if (c.bind == ONE_AT_A_TIME || c.bind == AT_ONCE || c.bind == DEVICE)
    make_slow (r, &c);
  for (guint s = 0; s < c.n_stages; s++)
    make_fates (r, &c, s);
  return c;
}

/* Computes a token on a core or, in the place of a device, its results. The tag
   says how often the token was sent back. */
static gboolean
compute (HassToken *token, HassWorker *worker, gpointer data, GError **error)
{
  Place *p = data;
  const Case *c = p->of;
  guint index = hass_worker_index (worker);
  guint d = index < c->n_cores ? 0 : index - c->n_cores + 1;
  guint agains = GPOINTER_TO_UINT (token->tag);
  guint chance = plan_random (c->seed, token->seq, p->index, agains) % 1000;
  (void)error;
  p->calls[d]++;
  p->busy_s[d] += token->load->cost / p->rate[d] * 1e-6;
  if (chance < p->drop)
    hass_token_drop (token, worker);
  else if (chance < p->drop + p->again && agains < AGAINS)
    {
      token->tag = GUINT_TO_POINTER (agains + 1);
      return hass_token_again (token, worker, p->again_to);
    }
  return TRUE;
}

/* What a modelled device runs is the stage's CPU worker. */
static gboolean
on_device (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
           GError **error)
{
  (void)bundle, (void)stream, (void)data, (void)error;
  return TRUE;
}

/* Nothing but the tokens takes time: no pull, launch or copy. One token fills a
   device, so a bundle takes as long as its tokens. */
static char *
make_machine (const Case *c)
{
  g_autoptr (GString) text = g_string_new ("[platform]\nname = test\n");
  g_string_append_printf (
      text, "[cpu]\ncores = %u\nwork_per_us = 1\npull_us = 0\n", c->n_cores);
  for (guint d = 0; d < c->n_devices; d++)
    g_string_append_printf (text,
                            "[gpu%u]\nmultiprocessors = 1\nwidth = 1\n"
                            "work_per_us = 1\nlaunch_us = 0\nlink_us = 0\n"
                            "h2d_gbps = 10\n",
                            d);
  for (guint s = 0; s < c->n_stages; s++)
    {
      const guint *rate = c->places[s].rate;
      g_string_append_printf (text, "[stage s%u]\ncpu_work_per_us = %u\n", s,
                              rate[0]);
      for (guint d = 0; d < c->n_devices; d++)
        g_string_append_printf (text, "gpu%u_work_per_us = %u\n", d,
                                rate[1 + d]);
    }
  return trial_file (text->str);
}

/* Returns: the report; NULL if the pipeline has failed, with @error. */
static HassReport *
run (Case *c, GError **error)
{
  g_autofree char *machine = make_machine (c), *strategy = NULL;
  g_autofree HassLoad *loads = g_new0 (HassLoad, c->n_loads);
  HassStage stages[STAGES];
  char names[STAGES][8];
  HassReport *report = NULL;
  HassPipeline p = HASS_PIPELINE_INIT;
  for (guint i = 0; i < c->n_loads; i++)
    loads[i].cost = WORK * (1 + plan_random (c->seed, i, STAGES, 0) % 4);
  for (guint s = 0; s < c->n_stages; s++)
    {
      Place *place = &c->places[s];
      g_snprintf (names[s], sizeof names[s], "s%u", s);
      stages[s]
          = (HassStage)HASS_STAGE (.name = names[s], .mode = place->mode,
                                   .cpu = compute,
                                   .gpu = place->linked ? on_device : NULL,
                                   .user_data = place,
                                   .at_once = place->at_once);
    }
  if (c->bind == DEVICE)
    strategy = g_strdup_printf ("pipe-fixed:s%u=1", c->slow + 1);
  p.name = "accounts";
  p.loads = loads;
  p.n_loads = c->n_loads;
  p.stages = stages;
  p.n_stages = c->n_stages;
  p.tokens = c->tokens;
  p.run.platform = machine;
  p.run.strategy = strategy;
  if (!hass_pipeline (&p, &report, error))
    g_clear_pointer (&report, hass_report_free);
  unlink (machine);
  return report;
}

/* -- Checks ------------------------------------------------------------- */

static void
describe (const Case *c)
{
  static const char modes[] = "POSC";
  printf ("\n    seed %" G_GUINT64_FORMAT ", bind %d at %u: %u loads, %u "
          "cores, %u devices, tokens %zu, stages",
          c->seed, c->bind, c->slow, c->n_loads, c->n_cores, c->n_devices,
          c->tokens);
  for (guint s = 0; s < c->n_stages; s++)
    {
      const Place *p = &c->places[s];
      printf (" %c%s%s", modes[p->mode], p->linked ? "g" : "",
              p->drop ? "D" : "");
      if (p->at_once)
        printf ("@%u", p->at_once);
      if (p->again)
        printf ("A%u", p->again_to);
    }
}

/* Returns whether a number of the report is right, and says so if not. */
static gboolean
near (const Case *c, const char *what, guint which, double reported,
      double counted)
{
  if (fabs (reported - counted) <= TOLERANCE * counted)
    return TRUE;
  describe (c);
  printf ("\n      %s %u: %.9g is reported, %.9g counted", what, which,
          reported, counted);
  return FALSE;
}

static gboolean
same (const Case *c, const char *what, guint which, guint64 reported,
      guint64 counted)
{
  if (reported == counted)
    return TRUE;
  describe (c);
  printf ("\n      %s %u: %" G_GUINT64_FORMAT
          " are reported, %" G_GUINT64_FORMAT " counted",
          what, which, reported, counted);
  return FALSE;
}

/* Tokens, and times of cores. */
static gboolean
stages_are_right (const Case *c, const HassReport *r)
{
  gboolean right = same (c, "stages", 0, r->n_stages, c->n_stages);
  for (guint s = 0; right && s < c->n_stages; s++)
    {
      const Place *p = &c->places[s];
      const HassStageReport *stage = &r->stages[s];
      guint n = p->mode != HASS_STAGE_PARALLEL ? 1
                : p->at_once > 0               ? MIN (p->at_once, c->n_cores)
                                               : c->n_cores;
      guint64 calls = 0;
      for (guint d = 0; d <= c->n_devices; d++)
        calls += p->calls[d];
      right = same (c, "tokens of stage", s, stage->tokens, calls)
              && near (c, "busy_s of stage", s, stage->busy_s, p->busy_s[0])
              && near (c, "utilisation of stage", s, stage->utilisation,
                       p->busy_s[0] / (n * r->makespan_s));
    }
  return right;
}

/* A device may compute consecutive stages without copies in between. Their time
   is then that of the first one, so it is compared for all of them together. */
static gboolean
device_times_are_right (const Case *c, const HassReport *r)
{
  gboolean right = TRUE;
  double reported = 0, counted = 0;
  for (guint s = 0; right && s < c->n_stages; s++)
    {
      const Place *p = &c->places[s];
      reported += r->stages[s].device_s;
      for (guint d = 1; d <= c->n_devices; d++)
        counted += p->busy_s[d];
      if (p->linked && s + 1 < c->n_stages && c->places[s + 1].linked)
        continue;
      right = near (c, "device_s up to stage", s, reported, counted);
      reported = counted = 0;
    }
  return right;
}

static gboolean
devices_are_right (const Case *c, const HassReport *r)
{
  gboolean right = same (c, "devices", 0, r->n_devices, 1 + c->n_devices);
  double of_devices = 0, of_stages = 0;
  for (guint s = 0; s < r->n_stages; s++)
    of_stages += r->stages[s].busy_s + r->stages[s].device_s;
  for (guint d = 0; right && d <= c->n_devices; d++)
    {
      double busy_s = r->devices[d].busy_s * (d == 0 ? c->n_cores : 1);
      double counted_s = 0;
      guint64 calls = 0;
      for (guint s = 0; s < c->n_stages; s++)
        {
          calls += c->places[s].calls[d];
          counted_s += c->places[s].busy_s[d];
        }
      of_devices += busy_s;
      right
          = near (c, "busy_s of device", d, busy_s, counted_s)
            && (d > 0
                || same (c, "units of device", d, r->devices[d].units, calls));
    }
  return right
         && near (c, "busy_s of devices and stages", 0, of_devices, of_stages);
}

/* One token in flight waits for nothing, unless a strategy chooses between
   devices, which may wait for one. */
static gboolean
makespan_is_right (const Case *c, const HassReport *r)
{
  gboolean chosen = c->n_devices == 0 || c->bind == DEVICE;
  double busy_s = 0;
  for (guint s = 0; s < c->n_stages; s++)
    for (guint d = 0; d <= c->n_devices; d++)
      busy_s += c->places[s].busy_s[d];
  return !chosen || c->tokens != 1
         || near (c, "makespan", 0, r->makespan_s, busy_s);
}

/* Returns: how the sentence begins that names what was made to bind. */
static char *
what_binds (const Case *c)
{
  static const char *const modes[]
      = { "at most 1 token at once", "ordered", "serial", "caller" };
  switch (c->bind)
    {
    case ONE_AT_A_TIME:
    case AT_ONCE:
      return g_strdup_printf ("stage 's%u' binds: %s, busy ", c->slow,
                              modes[c->places[c->slow].mode]);
    case TOKENS:
      return g_strdup ("the bound on tokens (tokens = 1) binds: ");
    case ALL_CORES:
      return g_strdup ("the cores bind: all busy ");
    case DEVICE:
      return g_strdup ("gpu0 binds: busy ");
    default:
      return g_strdup ("");
    }
}

static gboolean
binding_is_right (const Case *c, const HassReport *r)
{
  g_autofree char *due = what_binds (c);
  if (r->binding && g_str_has_prefix (r->binding, due))
    return TRUE;
  describe (c);
  printf ("\n      '%s' in place of '%s'", r->binding ? r->binding : "NULL",
          due);
  return FALSE;
}

static gboolean
is_right (guint64 seed, guint *n_bound)
{
  Case c = make_case (seed);
  for (guint s = 0; s < c.n_stages; s++)
    c.places[s].of = &c;
  g_autoptr (GError) error = NULL;
  g_autoptr (HassReport) r = run (&c, &error);
  n_bound[c.bind]++;
  if (r)
    return stages_are_right (&c, r) && device_times_are_right (&c, r)
           && devices_are_right (&c, r) && makespan_is_right (&c, r)
           && binding_is_right (&c, r);
  describe (&c);
  printf ("\n      failed: %s", error ? error->message : "no report");
  return FALSE;
}

static guint64
from_environment (const char *name, guint64 otherwise)
{
  const char *text = g_getenv (name);
  return text ? g_ascii_strtoull (text, NULL, 10) : otherwise;
}

static void
accounts (void)
{
  guint64 first = from_environment ("TEST_SEED", 1);
  guint64 n = from_environment ("TEST_FARMS", PIPELINES);
  guint n_wrong = 0, n_bound[N_BINDS] = { 0 };
  for (guint64 i = 0; i < n && n_wrong < MOST_WRONG; i++)
    n_wrong += !is_right (first + i, n_bound);
  CU_ASSERT_EQUAL (n_wrong, 0);
  for (guint b = 0; n >= PIPELINES && n_wrong == 0 && b < N_BINDS; b++)
    CU_ASSERT_TRUE (n_bound[b] > 0);
}

HASS_TEST_SUITE (pipeline_accounts,
                 { "reports of random pipelines in virtual time have the "
                   "tokens and times that workers count, and name what binds",
                   accounts })
