/* SPDX-License-Identifier: MIT */
/* All interleavings of pool/unit_range.c on a small range.
   Thread safety: a model for spin; see run.sh.

   Two cores take 1 or 2 units from the front, a GPU takes 1 or 2 from the
   back and gives some back, a strategist seizes the range and sets it again.
   The word is read and written in one step, as the 64-bit atomic is; between
   two accesses anything may happen.  Each unit has to be executed once; a
   lost one leaves everybody waiting, which spin calls an invalid end state.

   -DBROKEN        the compare-and-swap writes without comparing
   -DBROKEN_SEIZE  the strategist takes all units from the back, which leaves
                   a range that takes returns, and then overwrites them  */

#define UNITS 4
#define FAILURES 2
#define SEIZURES 1
#define SEIZED 255
#define PACK(head, tail) ((tail) * 16 + (head))
#define HEAD(word) ((word) % 16)
#define TAIL(word) ((word) / 16)

byte word = PACK (0, UNITS);
bool executed[UNITS];
byte left = UNITS;

/* Weak: it may fail for no reason.  `seen` is what was read; like all that a
   process does not need any more, it is cleared, as a state that differs in it
   is searched again. */
inline cas (seen, wanted, done)
{
#ifdef BROKEN
  word = wanted;
  seen = 0;
  done = true
#else
  atomic {
    if
    :: word == seen -> word = wanted; seen = 0; done = true
    :: seen = word; done = false
    fi
  }
#endif
}

inline execute (first, n)
{
  d_step {
    u = first;
    do
    :: u < first + n ->
       assert (u < UNITS && !executed[u]);
       executed[u] = true;
       left--;
       u++
    :: else -> break
    od;
    u = 0
  }
}

#define MIN(a, b) ((a) < (b) -> (a) : (b))
#define WAITING(word) (HEAD (word) != TAIL (word))

inline take_front (k)
{
  seen = word;
  do
  :: n = MIN (k, TAIL (seen) - HEAD (seen));
     first = HEAD (seen);
     if
     :: n == 0 -> seen = 0; first = 0; break
     :: else
     fi;
     cas (seen, PACK (first + n, TAIL (seen)), done);
     if
     :: done -> done = false; break
     :: else
     fi
  od
}

inline take_back (k)
{
  seen = word;
  do
  :: n = MIN (k, TAIL (seen) - HEAD (seen));
     first = TAIL (seen) - n;
     if
     :: n == 0 -> seen = 0; first = 0; break
     :: else
     fi;
     cas (seen, PACK (HEAD (seen), first), done);
     if
     :: done -> done = false; break
     :: else
     fi
  od
}

/* given: the range took [at, at + m). */
inline give_back (at, m)
{
  seen = word;
  do
  :: if
     :: seen == SEIZED -> given = false; break
     :: else
     fi;
     if
     :: !WAITING (seen) -> wider = PACK (at, at + m)
     :: else ->
        if
        :: at == TAIL (seen) -> wider = PACK (HEAD (seen), TAIL (seen) + m)
        :: at + m == HEAD (seen) -> wider = PACK (at, TAIL (seen))
        :: else -> given = false; break
        fi
     fi;
     cas (seen, wider, done);
     if
     :: done -> done = false; given = true; break
     :: else
     fi
  od
}

proctype core ()
{
  byte seen, first, n, u;
  bool done;
  do
  :: left == 0 -> break
  :: if
     :: take_front (1)
     :: take_front (2)
     fi;
     if
     :: n > 0 -> execute (first, n)
     :: else -> (left == 0 || WAITING (word))
     fi;
     d_step { seen = 0; first = 0; n = 0; done = false }
  od
}

proctype gpu ()
{
  byte seen, wider, first, n, u, failures;
  bool done, given;
  do
  :: left == 0 -> break
  :: if
     :: take_back (1)
     :: take_back (2)
     fi;
     given = false;
     if
     :: n > 0 && failures < FAILURES ->
        failures++;
        if
        :: give_back (first, n);
           if
           :: given -> n = 0
           :: else
           fi
        :: n == 2 ->
           give_back (first, 1); /* the lower one: touches the range */
           if
           :: given -> first++; n--
           :: else
           fi
        :: n == 2 ->
           give_back (first + 1, 1); /* the upper one */
           if
           :: given -> n--
           :: else
           fi
        fi
     :: true
     fi;
     if
     :: n > 0 -> execute (first, n)
     :: n == 0 && given -> skip
     :: else -> (left == 0 || WAITING (word))
     fi;
     d_step {
       seen = 0; wider = 0; first = 0; n = 0; done = false; given = false
     }
  od
}

proctype strategist ()
{
  byte seen, first, n, seizures;
#ifdef BROKEN_SEIZE
  bool done;
#endif
  do
  :: seizures == SEIZURES -> break
  :: seizures < SEIZURES ->
#ifdef BROKEN_SEIZE
     take_back (UNITS);
#else
     d_step { seen = word; word = SEIZED };
     first = HEAD (seen);
     n = TAIL (seen) - first;
#endif
     word = PACK (first, first + n);
     seizures++
  od
}

init
{
  atomic {
    run core ();
    run core ();
    run gpu ();
    run strategist ()
  }
}
