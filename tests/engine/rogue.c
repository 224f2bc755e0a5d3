/* SPDX-License-Identifier: MIT */
/* rogue.c: see rogue.h.
   Thread safety: see rogue.h. */
#include "rogue.h"

#include "hass/strategy.h"

typedef struct
{
  guint n_devices;
  GRand *rand;
} Rogue;

static gpointer
create (const HassStrategyEnv *env, GError **error)
{
  Rogue *r = g_new0 (Rogue, 1);
  (void)error;
  r->n_devices = env->n_devices;
  r->rand = g_rand_new_with_seed ((guint32)env->seed);
  return r;
}

static void
destroy (gpointer self)
{
  Rogue *r = self;
  g_rand_free (r->rand);
  g_free (r);
}

static HassAnswer
always_wait (gpointer self, HassRound *round, guint device, gboolean force,
             HassGrant *grant)
{
  (void)self, (void)round, (void)device, (void)force, (void)grant;
  return HASS_WAIT;
}

static HassAnswer
always_done (gpointer self, HassRound *round, guint device, gboolean force,
             HassGrant *grant)
{
  (void)self, (void)round, (void)device, (void)force, (void)grant;
  return HASS_DONE;
}

/* Shares that nobody has carved are empty. */
static HassAnswer
take_nothing (gpointer self, HassRound *round, guint device, gboolean force,
              HassGrant *grant)
{
  (void)self, (void)round, (void)force;
  grant->source = HASS_FROM_SHARE;
  grant->share = device;
  grant->units = 5;
  return HASS_TAKE;
}

/* Each device waits for a completion of another one before it goes on, and
   gets two units at a time. */
static HassAnswer
take_turns (gpointer self, HassRound *round, guint device, gboolean force,
            HassGrant *grant)
{
  Rogue *r = self;
  guint64 done = 0;
  for (guint d = 0; d < r->n_devices; d++)
    done += hass_round_progress (round, d).units;
  if (!force && (done / 2) % r->n_devices != device)
    return HASS_WAIT;
  grant->source = device % 2 ? HASS_FROM_BACK : HASS_FROM_FRONT;
  grant->units = 2;
  return HASS_TAKE;
}

static HassAnswer
at_random (gpointer self, HassRound *round, guint device, gboolean force,
           HassGrant *grant)
{
  Rogue *r = self;
  (void)device, (void)force;
  guint64 units[16] = { 0 };
  if (g_rand_int_range (r->rand, 0, 20) == 0 && r->n_devices <= 16)
    {
      for (guint d = 0; d < r->n_devices; d++)
        units[d] = g_rand_int_range (r->rand, 0, 10);
      hass_round_carve (round, units);
    }
  if (g_rand_int_range (r->rand, 0, 30) == 0)
    hass_round_order_by_work (round);
  grant->source = g_rand_int_range (r->rand, 0, 4);
  grant->share = g_rand_int_range (r->rand, 0, 2 * r->n_devices);
  grant->units = g_rand_int_range (r->rand, 0, 9);
  grant->work = g_rand_int_range (r->rand, -1, 9);
  grant->multiple = g_rand_int_range (r->rand, 0, 5);
  grant->chunk = g_rand_int_range (r->rand, 0, 5);
  grant->in_flight = g_rand_int_range (r->rand, 0, 100);
  return g_rand_int_range (r->rand, 0, 4); /* 3 is no answer at all */
}

/* Takes any of what cores have begun. */
static gint64
spoliate (gpointer self, HassRound *round, guint device, HassBegun *begun,
          guint n)
{
  Rogue *r = self;
  (void)round, (void)device;
  for (guint i = 0; i < n; i++)
    begun[i].take = g_rand_int_range (r->rand, 0, 3) == 0;
  return g_rand_int_range (r->rand, -1, 30000);
}

/* No rogue: lets only GPUs work, and those only when it must. */
static HassAnswer
when_forced (gpointer self, HassRound *round, guint device, gboolean force,
             HassGrant *grant)
{
  (void)self, (void)round;
  grant->source = HASS_FROM_BACK;
  grant->units = 5;
  return force && device > 0 ? HASS_TAKE : HASS_WAIT;
}

/* No rogue: keeps a device as full as it may be. */
static HassAnswer
take_five (gpointer self, HassRound *round, guint device, gboolean force,
           HassGrant *grant)
{
  (void)self, (void)round, (void)device, (void)force;
  grant->source = HASS_FROM_BACK;
  grant->units = 5;
  grant->in_flight = 100;
  return HASS_TAKE;
}

#define ROGUE(id, text)                                                        \
  {                                                                            \
    .struct_size = sizeof (HassStrategyOps), .name = text,                     \
    .summary = "misbehaves", .source = "tests", .farms = HASS_FARM_ANY,        \
    .create = create, .grant = id, .destroy = destroy, .spoliate = spoliate    \
  }

static const HassStrategyOps rogues[] = {
  ROGUE (always_wait, "rogue-wait"),     ROGUE (always_done, "rogue-done"),
  ROGUE (take_nothing, "rogue-nothing"), ROGUE (take_turns, "rogue-turns"),
  ROGUE (at_random, "rogue-random"),     ROGUE (take_five, "rogue-deep"),
  ROGUE (when_forced, "rogue-forced")
};

const char *const *
rogue_strategies (void)
{
  static const char *names[G_N_ELEMENTS (rogues) + 1];
  static gsize once;
  if (g_once_init_enter (&once))
    {
      for (guint i = 0; i < G_N_ELEMENTS (rogues); i++)
        {
          hass_strategy_register (&rogues[i], NULL);
          names[i] = rogues[i].name;
        }
      g_once_init_leave (&once, 1);
    }
  return names;
}
