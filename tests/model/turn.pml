/* SPDX-License-Identifier: MIT */
/* All interleavings of the turns of ordered stages (engine/stream/turn.c).
   Thread safety: a model for spin; see run.sh.

   Threads carry batches through two ordered stages. A thread takes a
   batch that is ready, or fills the open batch, the last of the order, with one
   or two tokens and makes its successor. One batch is split: before it arrives
   at a stage, as for a device or because parts have made it long, or at the
   stage, where a token is sent back and the rest follows it. With KEEPS a
   batch of which tokens are sent back keeps its turn and arrives again; it does
   so twice, or two batches do. The exchange on a cell is one step; between two
   steps anything may happen. Batches are used again when they have ended.

   Each stage has to compute all tokens, each once, in the order of the stream
   and one batch at a time. A batch that stays parked when no thread has
   anything to do leaves all threads waiting, which spin calls an invalid end
   state.

   The first of the FAULTS (fault.pml) are none: they have more of one thing.
   MORE_TOKENS    two threads and four tokens, not three of each
   KEEPS          two threads and three tokens; a batch keeps its turn

   BROKEN_ARRIVE  a batch arrives with a load and a store
   BROKEN_PASS    the turn is passed with a load and a store
   BROKEN_BOTH    a batch that has parked looks at its cell again and runs if
                  the turn has come; the thread that passed it runs it, too
   BROKEN_SPLIT   the turn is passed before the rest is linked
   BROKEN_DIVIDE  a batch arrives before the rest is linked
   BROKEN_LATE    the open batch is given away before it has a successor
   BROKEN_ADMIT   two threads fill the open batch
   BROKEN_REUSE   a batch that is used again keeps its cells
   BROKEN_KEEP    as KEEPS, where the turn is not put into the batch's cell  */

#include "fault.pml"

#define STAYS (FAULT (KEEPS) || FAULT (BROKEN_KEEP))
#define THREADS (FAULT (MORE_TOKENS) || STAYS -> 2 : 3)
#define TOKENS (FAULT (MORE_TOKENS) -> 4 : 3)
#define STAGES 2
#define BATCHES 6 /* one of each token, an empty one, and the open one */
#define NOBODY 7

#define NONE 0
#define PARKED 1
#define HERE 2

byte cell[BATCHES * STAGES];
byte next[BATCHES];
byte first[BATCHES]; /* its tokens */
byte n[BATCHES];
byte at[BATCHES]; /* its stage */
bool entered[BATCHES];
bool ready[BATCHES];
bool used[BATCHES];
byte open, live, admitted;
byte splits = 1;
byte stays; /* batches that may keep their turn */
bool admitting; /* the lock of the admitter */

byte computed[STAGES];
bool running[STAGES];

#define CELL(b, s) cell[(b) * STAGES + (s)]

/* Also when x ends: states that differ in it alone would be searched again. */
inline clear (x)
{
  next[x] = NOBODY;
  n[x] = 0;
  first[x] = 0;
  at[x] = 0;
  entered[x] = false;
  CELL (x, 0) = (FAULT (BROKEN_REUSE) -> CELL (x, 0) : NONE);
  CELL (x, 1) = (FAULT (BROKEN_REUSE) -> CELL (x, 1) : NONE)
}

/* The thread owns x from now on. */
inline make (x)
{
  d_step {
    x = 0;
    do
    :: used[x] -> x++
    :: else -> break
    od;
    used[x] = true;
    live++;
    clear (x)
  }
}

/* Moves the tokens of b behind the first `keep` to a new batch, rest. */
inline split ()
{
  make (rest);
  n[rest] = n[b] - keep;
  first[rest] = first[b] + keep;
  at[rest] = at[b];
  n[b] = keep
}

inline link ()
{
  next[rest] = next[b];
  next[b] = rest
}

/* Gives x to whichever thread takes it. */
inline give (x)
{
  if
  :: x != NOBODY -> ready[x] = true; x = NOBODY
  :: else
  fi
}

/* Arrives with b at its stage. b: NOBODY if it waits there. */
inline arrive ()
{
  if
  :: atomic { FAULT (BROKEN_ARRIVE) -> seen = CELL (b, at[b]) };
     CELL (b, at[b]) = PARKED
  :: atomic {
       !FAULT (BROKEN_ARRIVE) ->
       seen = CELL (b, at[b]);
       CELL (b, at[b]) = PARKED
     }
  fi;
  atomic {
    if
    :: FAULT (BROKEN_BOTH) && seen != HERE -> seen = CELL (b, at[b])
    :: else
    fi;
    if
    :: seen == HERE -> entered[b] = true
    :: else -> b = NOBODY
    fi;
    seen = NONE
  }
}

inline depart ()
{
  at[b] = at[b] + 1;
  entered[b] = false;
  back = rest;
  rest = NOBODY
}

/* Passes the turn of b, which goes to the next stage; back: its rest. freed: the
   batch that the thread owns now. */
inline leave ()
{
  if
  :: FAULT (BROKEN_PASS) -> seen = CELL (next[b], at[b])
  :: else
  fi;
  atomic {
    assert (next[b] != NOBODY && used[next[b]]);
    seen = (FAULT (BROKEN_PASS) -> seen : CELL (next[b], at[b]));
    CELL (next[b], at[b]) = HERE;
    if
    :: seen == PARKED -> freed = next[b]; assert (at[freed] == at[b])
    :: else
    fi;
    seen = NONE;
    if
    :: !FAULT (BROKEN_SPLIT) -> depart ()
    :: else
    fi
  }
}

/* Brings b to its stage. b: NOBODY if it has ended or waits. */
inline carry ()
{
  if
  :: atomic {
       at[b] == STAGES ->
       assert (used[b]);
       used[b] = false;
       live--;
       clear (b);
       b = NOBODY
     }
  :: atomic {
       at[b] < STAGES && n[b] == 2 && splits > 0 -> /* divided */
       splits--;
       keep = 1;
       split ();
       keep = 0;
       if
       :: FAULT (BROKEN_DIVIDE) -> front = b
       :: else -> link (); give (rest)
       fi
     };
     arrive ();
     if
     :: atomic {
          front != NOBODY ->
          next[rest] = next[front];
          next[front] = rest;
          front = NOBODY;
          give (rest)
        }
     :: else
     fi
  :: at[b] < STAGES -> arrive ()
  fi
}

/* Lets b, which has the turn, arrive at its stage again. */
inline stay ()
{
  assert (!running[at[b]] && computed[at[b]] == first[b]);
  stays--;
  CELL (b, at[b]) = (FAULT (BROKEN_KEEP) -> CELL (b, at[b]) : HERE);
  entered[b] = false;
  give (b)
}

/* Computes b, which has the turn, and passes it. b: what to compute now. */
inline run_batch ()
{
  atomic {
    assert (!running[at[b]] && computed[at[b]] == first[b]);
    running[at[b]] = true;
    keep = n[b];
    if
    :: n[b] > 0 && splits > 0 -> keep = 0; splits-- /* a token is sent back */
    :: n[b] == 2 && splits > 0 -> keep = 1; splits--
    :: true
    fi
  };
  atomic {
    computed[at[b]] = computed[at[b]] + keep;
    running[at[b]] = false;
    if
    :: !FAULT (BROKEN_SPLIT) && keep < n[b] -> split (); link ()
    :: else
    fi
  };
  leave ();
  if
  :: FAULT (BROKEN_SPLIT) ->
     atomic {
       if
       :: keep < n[b] -> split (); link ()
       :: else
       fi;
       depart ()
     }
  :: else
  fi;
  carry ();
  atomic {
    give (back);
    if
    :: freed != NOBODY ->
       give (b);
       b = freed;
       freed = NOBODY;
       entered[b] = true
    :: else
    fi;
    keep = 0
  }
}

/* Fills the open batch, b, and makes its successor. */
inline admit ()
{
  atomic {
    b = open;
    if
    :: n[b] = 1
    :: admitted + 2 <= TOKENS -> n[b] = 2
    fi;
    first[b] = admitted;
    admitted = admitted + n[b];
    if
    :: FAULT (BROKEN_LATE) -> back = b; ready[b] = true
    :: else
    fi
  };
  atomic {
    make (rest);
    if
    :: FAULT (BROKEN_LATE) -> next[back] = rest; back = NOBODY; b = NOBODY
    :: else -> next[b] = rest
    fi;
    open = rest;
    rest = NOBODY;
    admitting = false
  }
}

#define MAY_ADMIT (FAULT (BROKEN_ADMIT) || !admitting)
#define TAKE(i) :: atomic { ready[i] -> ready[i] = false; b = i }
#define OVER (admitted == TOKENS && live == 1)

proctype thread ()
{
  byte b = NOBODY, back = NOBODY, freed = NOBODY, rest = NOBODY;
  byte seen, keep, front = NOBODY;
  do
  :: OVER -> break
  :: if
     TAKE (0)
     TAKE (1)
     TAKE (2)
     TAKE (3)
     TAKE (4)
     TAKE (5)
     :: atomic { admitted < TOKENS && MAY_ADMIT -> admitting = true };
        admit ()
     fi;
     if
     :: b != NOBODY && !entered[b] -> carry ()
     :: else
     fi;
     do
     :: b != NOBODY -> run_batch ()
     :: atomic { b != NOBODY && stays > 0 && n[b] > 0 -> stay () }
     :: else -> break
     od
  od
}

init
{
  byte i;
  atomic {
    stays = (STAYS -> 2 : 0);
    make (open);
    CELL (open, 0) = HERE;
    CELL (open, 1) = HERE;
    for (i : 1 .. THREADS) { run thread () };
    i = 0
  };
  _nr_pr == 1;
  assert (computed[0] == TOKENS && computed[1] == TOKENS)
}
