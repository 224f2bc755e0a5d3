/* SPDX-License-Identifier: MIT */
/* All interleavings of the devices that compute the tokens of one batch at a
   pure stage (engine/stream/restart.c).
   Thread safety: a model for spin; see run.sh.

   A device takes the batch, which rests while the device's stand-in is
   computed; as long as there is one stand-in, the other device may make the
   second. A device is done, has the user's worker fail, or cannot compute the
   tokens. What it does under the lock is one step; between two steps anything
   may happen. A batch that is given back is taken again, a few times.

   The batch has to go on once; a failure is listed only of tokens that go on
   with it; the load is released once, when no device reads it any more; nobody
   uses the race of two stand-ins after it has been freed. A batch that rests
   when no device computes leaves a device waiting, which spin calls an invalid
   end state.

   FAULTS (fault.pml):
   BROKEN_CLAIM    a device that is done does not look whether another was first
   BROKEN_ALONE    a device that cannot compute the tokens gives them back though
                   the other one still computes them, and may be done
   BROKEN_REST     one that cannot leaves them to the other, which has ended
   BROKEN_LIST     a failure is listed before the batch is claimed
   BROKEN_LOAD     the load is not kept for the device that is late
   BROKEN_FREE     a device looks at the race after it has let go of the lock  */

#include "fault.pml"

#define DEVICES 2
#define BACKS 2 /* times that a device may fail to compute them */

bool ready = true;          /* the batch waits for a device */
bool held;                  /* there is one stand-in, and a second may be made */
byte holder;                /* whose it is */
bool has_race, claimed;     /* the race of two */
bool computes[DEVICES];     /* stand-ins of the race that have not ended */
bool in_race[DEVICES], claims[DEVICES], freed[DEVICES];
bool reads[DEVICES];        /* the device reads the load */
byte refs = 1;              /* to the load: by the batch, and by the race */
byte gone_on, failures, released, backs = BACKS;

inline unref ()
{
  refs--;
  if
  :: refs == 0 ->
       assert (!reads[0] && !reads[1]);
       released++
  :: else
  fi
}

/* Under the lock. @mine: the batch is the device's. */
inline claim (me, mine)
{
  if
  :: !in_race[me] ->
       if
       :: !claims[me] -> held = false
       :: else
       fi;
       mine = true
  :: in_race[me] && FAULT (BROKEN_CLAIM) -> mine = true
  :: in_race[me] && !FAULT (BROKEN_CLAIM) ->
       mine = (!claimed || claims[me]);
       claimed = true
  fi;
  claims[me] = claims[me] || mine
}

/* Ends the device's stand-in. @done: it was computed. */
inline end (me, done, mine, last)
{
  atomic {
    mine = false;
    last = false;
    if
    :: done || claims[me] -> claim (me, mine)
    :: !done && !claims[me] ->
         if
         :: FAULT (BROKEN_ALONE) -> mine = true
         :: else ->
              if
              :: in_race[me] && (computes[1 - me] || FAULT (BROKEN_REST))
              :: else -> claim (me, mine)
              fi
         fi
    fi;
    reads[me] = false;
    if
    :: in_race[me] ->
         computes[me] = false;
         last = !computes[1 - me]
    :: else
    fi
  }
  assert (!FAULT (BROKEN_FREE) || !in_race[me] || !freed[me]);
  atomic {
    if
    :: last ->
         has_race = false;
         freed[0] = true;
         freed[1] = true;
         if
         :: !FAULT (BROKEN_LOAD) -> unref ()
         :: else
         fi
    :: else
    fi;
    in_race[me] = false
  }
}

/* A stand-in of the device's own, which reads the load. */
inline begin (me)
{
  claims[me] = false;
  freed[me] = false;
  reads[me] = true
}

proctype device (byte me)
{
  bool done, mine, last, fails;
again:
  do
  :: atomic { ready -> /* it takes the batch */
       ready = false;
       held = true;
       holder = me;
       begin (me) }
     break
  :: atomic { held && holder != me -> /* it begins it again */
       held = false;
       has_race = true;
       claimed = false;
       freed[1 - me] = false;
       computes[0] = true;
       computes[1] = true;
       in_race[0] = true;
       in_race[1] = true;
       refs = refs + (FAULT (BROKEN_LOAD) -> 0 : 1);
       begin (me) }
     break
  :: gone_on > 0 && !has_race -> goto over
  od;
  fails = false;
  if
  :: done = true
  :: done = true; fails = true /* the user's worker */
  :: atomic { backs > 0 -> backs--; done = false }
  fi;
  if
  :: fails ->
       atomic {
         if
         :: FAULT (BROKEN_LIST) -> mine = true
         :: else -> claim (me, mine)
         fi;
         if
         :: mine -> failures++
         :: else -> fails = false
         fi
       }
  :: else
  fi;
  end (me, done, mine, last);
  if
  :: mine && done ->
       atomic {
         gone_on++;
         assert (gone_on == 1);
         assert (failures == (fails -> 1 : 0))
       }
       atomic { unref () } /* it has passed all stages */
  :: mine && !done -> ready = true
  :: else
  fi;
  goto again;
over:
  skip
}

init
{
  atomic {
    run device (0);
    run device (1)
  }
  (_nr_pr == 1);
  assert (gone_on == 1 && released == 1)
}
