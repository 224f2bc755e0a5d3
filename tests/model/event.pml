/* SPDX-License-Identifier: MIT */
/* All interleavings of the sleep and wake protocol of pool/event.c.
   Thread safety: a model for spin; see run.sh.

   Each of two notifiers makes a change and notifies; each of two sleepers
   ends when it has seen both changes.  A lost wake-up leaves a sleeper
   asleep for ever, which spin calls an invalid end state.  The model is
   sequentially consistent, which is what the code asks of the hardware.

   FAULTS (fault.pml):
   BROKEN          the sleeper does not look again after it has announced
                   itself
   BROKEN_LOCK     the notifier broadcasts without the lock
   BROKEN_ORDER    the look at `sleepers` overtakes the change, as it may
                   where the epoch is not moved by a read-modify-write  */

#include "fault.pml"

#define NOTIFIERS 2
#define SLEEPERS 2

byte made;           /* what is waited for */
byte epoch, sleepers;
bool locked;
bool asleep[SLEEPERS]; /* in the condition variable */

inline lock () { atomic { !locked -> locked = true } }
inline unlock () { locked = false }

/* Gives the lock up and falls asleep in one step. */
inline cond_wait (me)
{
  d_step { asleep[me] = true; locked = false };
  !asleep[me];
  lock ()
}

inline broadcast ()
{
  d_step {
    i = 0;
    do
    :: i < SLEEPERS -> asleep[i] = false; i++
    :: else -> break
    od;
    i = 0
  }
}

proctype sleeper (byte me)
{
  byte seen;
  do
  :: made == NOTIFIERS -> break
  :: made < NOTIFIERS ->
     /* prepare */
     sleepers++;
     seen = epoch;
     if
     :: made == NOTIFIERS && !FAULT (BROKEN) -> sleepers--; break
     :: else
     fi;
     /* wait */
     lock ();
     do
     :: epoch == seen -> cond_wait (me)
     :: epoch != seen -> break
     od;
     unlock ();
     sleepers--
  od
}

proctype notifier ()
{
  byte i, saw;
  if
  :: FAULT (BROKEN_ORDER) -> saw = sleepers; made++; epoch++
  :: else -> made++; epoch++; saw = sleepers
  fi;
  if
  :: saw > 0 && FAULT (BROKEN_LOCK) -> broadcast ()
  :: saw > 0 && !FAULT (BROKEN_LOCK) ->
     lock ();
     broadcast ();
     unlock ()
  :: else
  fi
}

init
{
  atomic {
    run sleeper (0);
    run sleeper (1);
    run notifier ();
    run notifier ()
  }
}
