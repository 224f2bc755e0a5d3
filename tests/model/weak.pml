/* SPDX-License-Identifier: MIT */
/* The hand-shakes of the library on cores that reorder what they do.
   Thread safety: a model for spin; see run.sh.

   A thread's accesses take effect one at a time and in any order but for the
   one that their memory orders keep, on memory that is the same for all: what
   x86 and ARMv8 do with C11's atomics. A load waits for nothing that it does
   not have to wait for, so it may be done before a store that is in front of
   it in the program.

   1. publish: the generator stores a load (release) and looks whether a core
      has left; nothing orders the two. Each of two cores counts itself out and
      looks for loads, the last of them behind membarrier, which waits until
      each thread has been at a point where it has done all before and nothing
      behind (pool/fence.h, hass_load_pool_emit, hass_live_core_task). For each
      load: a core sees it or the generator sees that one has left.
   2. change: the same for all else that is new. The notifier makes the
      change, raises the epoch and looks at the count; the core counts itself
      out, looks at the epoch, and then for the change (hass_event_notify,
      hass_event_look, let_in). A sleeper that counts itself in, in
      hass_event_prepare, does the same; so do a thread that ends a round and
      one that delivers its last result (engine/core/rounds.c), and a helper that
      falls asleep (device/copy_crew.c).
   3. range: a thread that takes a unit sees what was written about it, also
      when another has moved the range meanwhile (pool/unit_range.h).
   4. turn: a thread writes a batch and parks it; another one writes the data of
      the stage and passes the turn. The one that runs the batch sees both
      (engine/stream/turn.c).
   5. room: a generator without room exchanges TRUE into a flag and looks for
      room; a thread that makes room reads the flag by an exchange of the same
      kind (hass_emitter_make_room, give_place in engine/stream/admit.c). The
      generator sees the room or the thread sees the flag.
   6. units: a generator without room sets a flag (hass_live_work_until) and
      counts what is computed of a round; each of two threads that have computed
      a unit takes it from what is outstanding and reads the flag
      (hass_slots_computed, hass_job_units_finished). For each unit: the
      generator has counted it or its thread sees the flag.

   FAULTS (fault.pml):
   NO_BARRIER       the cores leave without membarrier
   WEAK_NOTIFY      the epoch is raised, or the count is read, with less than
                    seq_cst
   WEAK_COUNT       the core's count or its look at the epoch is
   WEAK_LOOK        the look at the epoch is not even an acquire
   WEAK_CHANGE      raising the epoch is no release
   WEAK_SET         the range is set without release
   WEAK_TAKE        the range is taken from without acquire
   WEAK_PARK        a batch is parked without release
   WEAK_PASS        the turn is passed without release
   WEAK_RUN         a batch finds its turn without acquire
   WEAK_OWN         a parked batch is taken over without acquire
   WEAK_FULL        the flag is set without acquire
   WEAK_ROOM        the flag is read without release
   WEAK_ASK         the flag is set, or what is outstanding is read, with less
                    than seq_cst
   WEAK_UNITS       it is changed, or the flag is read, with less  */

#include "fault.pml"

/* In no order but after `after`. */
#define STEP(done, after, action)                                              \
  :: !(done) && (after) -> atomic { action; done = true }

#define BARRIER !FAULT (NO_BARRIER)
#define NOTIFY_ORDERED (FAULT (WEAK_NOTIFY) || raised)
#define COUNT_ORDERED (FAULT (WEAK_COUNT) || counted)
#define LOOK_ORDERED (FAULT (WEAK_LOOK) || looked)
#define CHANGE_ORDERED (FAULT (WEAK_CHANGE) || changed)
#define SET_ORDERED (FAULT (WEAK_SET) || written)
#define TAKE_ORDERED (FAULT (WEAK_TAKE) || taken)
#define PARK_ORDERED (FAULT (WEAK_PARK) || written)
#define PASS_ORDERED (FAULT (WEAK_PASS) || written)
#define RUN_ORDERED (FAULT (WEAK_RUN) || parked)
#define OWN_ORDERED (FAULT (WEAK_OWN) || passed)
#define FULL_ORDERED (FAULT (WEAK_FULL) || set)
#define ROOM_ORDERED (FAULT (WEAK_ROOM) || made)

#define ASK_ORDERED (FAULT (WEAK_ASK) || asked)
#define UNITS_ORDERED (FAULT (WEAK_UNITS) || ended)

byte n_done;

/* -- 1. publish --------------------------------------------------------- */

byte published;
byte inside = 2;    /* cores that have not counted themselves out */
bool w1, r1, w2, r2; /* the generator has stored a load, has looked */
bool saw_away1, saw_away2;
byte saw_published; /* the most that a core has seen */

/* What is done is a beginning of the program. */
#define IN_ORDER ((!r1 || w1) && (!w2 || r1) && (!r2 || w2))

proctype generator ()
{
  do
  STEP (w1, true, published = 1)
  STEP (r1, true, saw_away1 = (inside < 2))
  STEP (w2, w1 && r1, published = 2) /* release */
  STEP (r2, true, saw_away2 = (inside < 2))
  :: w1 && r1 && w2 && r2 -> break
  od;
  n_done++
}

proctype leaver ()
{
  bool counted, fenced, looked, fences;
  do
  STEP (counted, true, inside--; fences = BARRIER && inside == 0)
  STEP (fenced, counted && (IN_ORDER || !fences), skip)
  STEP (looked, fenced,
        saw_published = (published > saw_published -> published : saw_published))
  :: looked -> break
  od;
  n_done++
}

/* -- 2. change ---------------------------------------------------------- */

bool news, left;
byte epoch;
bool saw_left, saw_news;

proctype notifier ()
{
  bool changed, raised, seen;
  do
  STEP (changed, true, news = true)
  STEP (raised, CHANGE_ORDERED, epoch++)
  STEP (seen, NOTIFY_ORDERED, saw_left = left)
  :: changed && raised && seen -> break
  od;
  n_done++
}

proctype sleeper ()
{
  bool counted, looked, seen;
  do
  STEP (counted, true, left = true)
  STEP (looked, COUNT_ORDERED, skip) /* the epoch; its value is not used */
  STEP (seen, LOOK_ORDERED, saw_news = news)
  :: counted && looked && seen -> break
  od;
  n_done++
}

/* -- 3. range ----------------------------------------------------------- */

byte unit;  /* what was written about the units */
byte word;  /* units that wait */

proctype setter ()
{
  bool written, set;
  do
  STEP (written, true, unit = 1)
  STEP (set, SET_ORDERED, word = 2)
  :: written && set -> break
  od;
  n_done++
}

proctype taker ()
{
  bool taken, read, got;
  byte seen;
  do
  STEP (taken, true, got = word > 0; word = (word > 0 -> word - 1 : 0))
  STEP (read, TAKE_ORDERED, seen = unit)
  :: taken && read -> break
  od;
  assert (!got || seen == 1);
  n_done++
}

/* -- 4. turn ------------------------------------------------------------ */

bool batch, stage; /* what was written about them */
bool is_parked, is_here; /* the cell */

proctype arriver ()
{
  bool written, parked, read, runs, seen;
  do
  STEP (written, true, batch = true)
  STEP (parked, PARK_ORDERED, runs = is_here; is_parked = true)
  STEP (read, RUN_ORDERED, seen = stage)
  :: written && parked && read -> break
  od;
  assert (!runs || seen);
  n_done++
}

proctype passer ()
{
  bool written, passed, read, owns, seen;
  do
  STEP (written, true, stage = true)
  STEP (passed, PASS_ORDERED, owns = is_parked; is_here = true)
  STEP (read, OWN_ORDERED, seen = batch)
  :: written && passed && read -> break
  od;
  assert (!owns || seen);
  n_done++
}

/* -- 5. room ------------------------------------------------------------ */

bool room, is_full;
bool saw_room, saw_full;

proctype filler ()
{
  bool set, looked;
  do
  STEP (set, true, is_full = true)
  STEP (looked, FULL_ORDERED, saw_room = room)
  :: set && looked -> break
  od;
  n_done++
}

proctype admitter ()
{
  bool made, looked;
  do
  STEP (made, true, room = true)
  STEP (looked, ROOM_ORDERED, saw_full = is_full)
  :: made && looked -> break
  od;
  n_done++
}

/* -- 6. units ------------------------------------------------------------ */

byte outstanding = 2;
bool is_asked;
byte n_counted, n_saw_asked;

proctype asker ()
{
  bool asked, counted;
  do
  STEP (asked, true, is_asked = true)
  STEP (counted, ASK_ORDERED, n_counted = 2 - outstanding)
  :: asked && counted -> break
  od;
  n_done++
}

proctype ender ()
{
  bool ended, looked;
  do
  STEP (ended, true, outstanding--)
  STEP (looked, UNITS_ORDERED, n_saw_asked = n_saw_asked + is_asked)
  :: ended && looked -> break
  od;
  n_done++
}

/* One after the other, as they have nothing to do with each other. */
init
{
  atomic { run generator (); run leaver (); run leaver () };
  n_done == 3;
  assert (saw_published >= 1 || saw_away1);
  assert (saw_published >= 2 || saw_away2);
  atomic { run notifier (); run sleeper () };
  n_done == 5;
  assert (saw_news || saw_left);
  atomic { run setter (); run taker (); run taker () };
  n_done == 8;
  atomic { run arriver (); run passer () };
  n_done == 10;
  atomic { run filler (); run admitter () };
  n_done == 12;
  assert (saw_room || saw_full);
  atomic { run asker (); run ender (); run ender () };
  n_done == 15;
  assert (n_counted + n_saw_asked >= 2)
}
