/* SPDX-License-Identifier: MIT */
/* feeder.h: hands the grants of one device to it in parts, and takes the parts
   back.

   DESIGN. A grant is what the strategy gives a device at once; a part is what
   the device is submitted at once. Both engines (live, virtual) feed a device
   through one HassFeeder; an engine only says when. The course of a grant:
   1. Ask. hass_feeder_next() says what to do now. HASS_FEED_ASK: the engine
      asks the strategy (hass_decide_gpu) and passes a grant to
      hass_feeder_grant().
   2. Hand over. HASS_FEED_PART: the next part has been cut from the front of
      what is left of the oldest grant, within the bytes that the device takes
      at once (feeder_cut.c). The engine gives its blocks to the device's submit
      and calls hass_feeder_submitted(); or, if the device has no memory for the
      part, hass_feeder_too_large() (step 4); or, if it refuses the part for
      another reason, hass_feeder_settle().
   3. Take back. A part that has left the device is found by hass_feeder_left().
      The engine has its results computed or collected and calls
      hass_feeder_settle(), which counts the units, or gives them back to the
      round where the part failed, together with what is left of its grant. The
      strategy is told of a grant when its last part has been settled, in the
      same hold of the decision lock in which its last units go back.
   4. Memory. hass_feeder_too_large(): a part did not fit in the device's
      memory. The next attempt waits until the device is empty; a part that did
      not fit in an empty device is halved, and later parts of the grant are cut
      no larger. A single unit that does not fit is left to the CPU, or fails
      with its sizes.
   A device whose parts fail three times in a row is given up; parts that fail
   together, from one cause, count once.

   Where the inputs of a part are large and their copy takes far longer than all
   else of the part, two parts in flight keep the link busy. More of them share
   the link, which makes it slower: by 0.7 % for each part on an H200.

   Thread safety: a feeder belongs to one thread. It has no lock, no clock and
   no thread: times are passed in, and the functions take the job's decision
   lock, which the caller does not hold, to give units back and to tell the
   strategy. */
#ifndef HASS_FEEDER_H
#define HASS_FEEDER_H

#include "job.h"

/**
 * HassFeederGrant: the units that the strategy granted at once.
 * @busy: the entry holds a grant; FALSE: it is free.
 * @round: the round that the units belong to.
 * @rest: units that have not been cut into parts yet.
 * @n_parts: number of parts that were cut and not settled (booked as done or
 *   failed) yet.
 * @counted: a part of this grant has been counted; later parts do not add to
 *   the number of bundles.
 * @failed: units of this grant were given back to the round.
 * @told: what the strategy is told when the grant is complete: sums over its
 *   parts.
 */
typedef struct
{
  gboolean busy;
  HassSlot *round;
  HassExtent rest;
  guint n_parts;
  gboolean counted, failed;
  HassCompletion told;
} HassFeederGrant;

/**
 * HassFeederPart: a part of a grant: what is submitted to the device at once,
 * in one of the device's slots.
 * @grant: the grant that it was cut from; NULL: the slot is free.
 * @index: number of the slot.
 * @extent: positions of its units in the round.
 * @blocks: [@n_blocks], of an array with room for @capacity.
 * @in_bytes, @out_bytes: bytes of the blocks' own inputs and outputs.
 * @all_bytes: inputs and outputs as the limits of the device count them, which
 *   includes the inputs of loads whose blocks have no input of their own.
 * @elements: number of elements in the blocks.
 * @submit_ns: time of the submission; set by the engine before it submits.
 */
typedef struct
{
  HassFeederGrant *grant;
  guint index;
  HassExtent extent;
  HassBlock *blocks;
  gsize capacity, n_blocks;
  guint64 in_bytes, out_bytes, all_bytes, elements;
  gint64 submit_ns;
} HassFeederPart;

/**
 * HassFeeder: the state of one device's grants and parts.
 * @d: index of the device.
 * @worker: the worker context for the device's results.
 * @depth: most parts in flight, a property of the device.
 * @n_grants: grants that are not complete.
 * @n_in_flight: parts that the device has accepted and not returned.
 * @n_failures: parts in a row that have failed.
 * @enough: number of parts in flight that keep the device busy, at most @depth.
 * @part_bytes: most bytes of a part of more than one unit; 0: no bound, then a
 *   grant is one part.
 * @part_units: most units of a part until the present grant is over; 0: no
 *   bound.
 * @alone: the next part waits until nothing else is on the device.
 * @few_copies: large copies are limited to two in flight, see DESIGN; TRUE at
 *   first.
 * @busy_times: the device reports the time for which it worked on each stage of
 *   a part. FALSE: the reported times include waiting for other parts on the
 *   same link.
 * @error_domain, @error_code: of the device's last error; 0: it gave none.
 * @last_end_ns: when the last part was settled; @last_left_ns: when the last
 * one left the device.
 * @stages: stages of the previous part, kept only if the farm has listeners.
 */
typedef struct
{
  HassJob *job;
  guint d;
  HassWorker *worker;
  HassFeederGrant *grants; /* [depth] */
  HassFeederPart *parts;   /* [depth] */
  guint depth, n_grants, n_in_flight, n_failures, enough;
  guint64 part_bytes;
  guint32 part_units;
  gboolean alone, few_copies, busy_times;
  GQuark error_domain;
  gint error_code;
  gint64 last_end_ns, last_left_ns;
  HassStages stages;
} HassFeeder;

typedef enum
{
  HASS_FEED_NOTHING, /* nothing can be handed over until something changes */
  /* the device has room, and no grant has uncut units left */
  HASS_FEED_ASK,
  HASS_FEED_PART, /* a part was cut and is to be submitted */
  /* the rest of a grant went back to its round; call again */
  HASS_FEED_DROPPED
} HassFeed;

/**
 * HassFeederBack: what the engine tells the feeder of a part that has left its
 * device or was refused.
 * @done: the device's report.
 * @message: why it failed; NULL: no reason was given.
 * @counted: what to count, if the part has not failed; its n units are the
 *   front of the part's extent.
 * @stages: when the stages were; NULL: they are estimated from the durations in
 *   @done.
 * @left_ns: when the part left the device.
 * @end_ns: when the engine took the part over.
 * @settled_ns: when the part's results had been taken over.
 */
typedef struct
{
  const HassBundleDone *done;
  const char *message;
  HassDone counted;
  const HassStages *stages;
  gint64 left_ns, end_ns, settled_ns;
} HassFeederBack;

void hass_feeder_init (HassFeeder *f, HassJob *job, guint d);
void hass_feeder_clear (HassFeeder *f);
HassFeed hass_feeder_next (HassFeeder *f, gint64 now_ns, HassFeederPart **part);
void hass_feeder_grant (HassFeeder *f, HassSlot *round, HassExtent extent,
                        gint64 now_ns);
void hass_feeder_submitted (HassFeeder *f);
HassFeederPart *hass_feeder_left (HassFeeder *f, const HassBundleDone *done);
HassDone hass_feeder_results (HassFeeder *f, const HassFeederPart *part,
                              const HassBundleDone *done);
void hass_feeder_settle (HassFeeder *f, HassFeederPart *part,
                         const HassFeederBack *back);
void hass_feeder_remember (HassFeeder *f, const GError *error);
void hass_feeder_give_up (HassFeeder *f, const HassFeederPart *part,
                          const char *message);
void hass_feeder_note_locked (HassFeeder *f, const HassFeederPart *part,
                              const char *message);
void hass_feeder_finish_locked (HassFeeder *f, HassFeederGrant *grant,
                                gint64 end_ns);

/* feeder_memory.c */
void hass_feeder_too_large (HassFeeder *f, HassFeederPart *part,
                            const char *why, gint64 now_ns);

/* feeder_cut.c */
guint64 hass_feeder_bytes (const HassBlock *block);
void hass_feeder_cut (HassFeeder *f, HassFeederGrant *grant,
                      HassFeederPart *part);

/* Returns the number of units of the next part of a grant, of which @rest is
   left and at most @most units may be submitted at once. Parts have nearly
   equal sizes, so that no small one is left over, and end at multiples of
   @multiple (0 means 1), counted from the round's first unit, if @most is at
   least @multiple. */
static inline guint32
hass_part_units (HassExtent rest, guint32 most, gsize multiple)
{
  guint32 step = multiple > most ? 1 : MAX ((guint32)multiple, 1);
  guint32 before = rest.first % step;
  guint32 n_steps = (before + rest.n - 1) / step + 1;
  guint32 n_parts = (n_steps - 1) / (most / step) + 1;
  guint32 n = ((n_steps - 1) / n_parts + 1) * step - before;
  return MIN (n, rest.n);
}

#endif
