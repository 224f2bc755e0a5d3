/* SPDX-License-Identifier: MIT */
/* round_trial.h: the round of the tests, of a CPU and two GPUs.
   Thread safety: one thread, but for what a round allows several. */
#ifndef HASS_TEST_ROUND_TRIAL_H
#define HASS_TEST_ROUND_TRIAL_H

#include "pool/round_engine.h"

enum
{
  CPU,
  GPU0,
  GPU1,
  N_DEVICES
};

#define ANY_MASK G_MAXUINT64
/* Units of a round. */
#define MOST 4096

extern HassRound round_;

/* Makes the round ready for loads; hass_round_clear() it. */
void open_trial_round (void);

/* Opens it with @n loads; load i gets the tag i. */
void open_loads (HassFarmKind farm, HassCostClass cost, HassLoad *loads,
                 guint32 n);
/* Likewise with loads of equal cost, of a combine farm. */
void open_equal (guint32 n);
/* Likewise with these costs, written to @loads. */
void open_costs (HassFarmKind farm, HassLoad *loads, const int *costs,
                 guint32 n);

/* Likewise of a function farm with tasks of every kind, written to @loads:
   CPU only, GPU only, SPD (size 1) and MPD ones, mixed. */
void open_tasks (HassLoad *loads);

/* The tag of the load at a position of the round. */
guint tag_at (guint32 position);
/* Whether the tags at the round's first positions are these [n]. */
gboolean round_tags_are (const int *tags, guint32 n);

#define TAGS(...)                                                              \
  round_tags_are ((int[]){ __VA_ARGS__ },                                      \
                  sizeof ((int[]){ __VA_ARGS__ }) / sizeof (int))

static inline gboolean
extent_is (HassExtent e, guint32 first, guint32 n)
{
  return e.n == n && (n == 0 || e.first == first);
}

/* Takes from the round for a device; the grant has to say what was taken. */
HassExtent take_from_round (guint device, HassGrant grant);

#define TAKE(device, ...) take_from_round (device, (HassGrant){ __VA_ARGS__ })

/* For hass_round_assign(): the owner of a unit by its position. */
guint by_position (HassRound *round, guint64 position, gpointer data);

#endif
