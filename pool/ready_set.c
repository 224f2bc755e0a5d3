/* SPDX-License-Identifier: MIT */
/* ready_set.c: adds loads to a ready set and takes the most or least urgent.
   Thread safety: see ready_set.h. */
#include "ready_set.h"

#include "hass/types.h"
#include "fence.h"

#include <string.h>

/* Capacity of a deque that is used the first time. A guess: smaller, and it
   grows more often; larger, and it takes more memory. */
#define LEAST_CAPACITY 64

/* Loads of one priority that became ready together: loads[at .. at + n). */
typedef struct
{
  gsize at, n;
  double earliest_ns;
  HassLoad loads[];
} Run;

typedef struct
{
  gint64 priority;
  GQueue runs; /* Run, oldest first */
} Urgency;

/* The loads that the same classes of devices can run. */
typedef struct
{
  guint mask;
  GSequence *urgencies; /* Urgency, most urgent first; none is empty */
  /* one that has become empty, kept because programs without priorities empty
     and fill the same one all the time; or NULL */
  Urgency *spare;
} Lane;

static void
urgency_free (gpointer data, gpointer unused)
{
  Urgency *u = data;
  (void)unused;
  g_queue_clear_full (&u->runs, g_free);
  g_free (u);
}

static void
lane_free (gpointer data)
{
  Lane *lane = data;
  g_sequence_foreach (lane->urgencies, urgency_free, NULL);
  g_sequence_free (lane->urgencies);
  g_free (lane->spare);
  g_free (lane);
}

/* Makes a set for loads of which those with the mask @all can run on every
   device. @sized: the costs of loads are known. */
HassReadySet *
hass_ready_set_new (gboolean sized, guint all)
{
  HassReadySet *set = g_aligned_alloc0 (1, sizeof *set, HASS_CACHE_LINE);
  set->sized = sized;
  set->all = all;
  set->lanes = g_ptr_array_new_with_free_func (lane_free);
  hass_short_lock_init (&set->lock);
  return set;
}

static void
free_deques (HassReadySet *set)
{
  for (guint i = 0; i < set->n_deques; i++)
    {
      g_free (set->deques[i].loads);
      g_free (set->deques[i].earliest_ns);
      pthread_mutex_destroy (&set->deques[i].lock);
    }
  g_aligned_free (set->deques);
}

void
hass_ready_set_free (HassReadySet *set)
{
  if (!set)
    return;
  free_deques (set);
  g_ptr_array_unref (set->lanes);
  pthread_mutex_destroy (&set->lock);
  g_aligned_free (set);
}

static double
work_of (const HassReadySet *set, const HassLoad *load)
{
  return set->sized ? hass_load_work (load) : 1;
}

/* Adds @n loads of the lane, of @work in total, to the counters; a negative @n
   subtracts. Only the holder of the lock writes them. */
static void
count_locked (HassReadySet *set, guint mask, gint64 n, double work)
{
#define ADD(field, value, order)                                               \
  atomic_store_explicit (                                                      \
      &set->field,                                                             \
      atomic_load_explicit (&set->field, memory_order_relaxed) + (value),      \
      order)
  if (mask == set->all)
    {
      ADD (n_common, (guint64)n, memory_order_relaxed);
      /* An empty set has no work, whatever was lost by rounding. */
      if (atomic_load_explicit (&set->n_common, memory_order_relaxed) == 0)
        atomic_store_explicit (&set->work_common, 0, memory_order_relaxed);
      else
        ADD (work_common, work, memory_order_relaxed);
    }
  else
    for (guint c = 0; c < HASS_MOST_CLASSES; c++)
      if (mask >> c & 1)
        ADD (n_partial[c], (guint64)n, memory_order_relaxed);
  ADD (n, (guint64)n, memory_order_seq_cst);
#undef ADD
}

/* -- Adding ------------------------------------------------------------- */

static Lane *
lane_locked (HassReadySet *set, guint mask)
{
  for (guint i = 0; i < set->lanes->len; i++)
    {
      Lane *lane = g_ptr_array_index (set->lanes, i);
      if (lane->mask == mask)
        return lane;
    }
  Lane *lane = g_new0 (Lane, 1);
  lane->mask = mask;
  lane->urgencies = g_sequence_new (NULL);
  g_ptr_array_add (set->lanes, lane);
  return lane;
}

static gint
by_urgency (gconstpointer a, gconstpointer b, gpointer unused)
{
  const Urgency *x = a, *y = b;
  (void)unused;
  return (x->priority < y->priority) - (x->priority > y->priority);
}

static Urgency *
urgency_locked (Lane *lane, gint64 priority)
{
  Urgency wanted = { .priority = priority };
  GSequenceIter *end = g_sequence_get_begin_iter (lane->urgencies);
  Urgency *first = g_sequence_iter_is_end (end) ? NULL : g_sequence_get (end);
  if (first && first->priority == priority)
    return first;
  GSequenceIter *found
      = first ? g_sequence_lookup (lane->urgencies, &wanted, by_urgency, NULL)
              : NULL;
  if (found)
    return g_sequence_get (found);
  Urgency *u = g_steal_pointer (&lane->spare);
  if (!u)
    u = g_new0 (Urgency, 1);
  u->priority = priority;
  g_sequence_insert_sorted (lane->urgencies, u, by_urgency, NULL);
  return u;
}

/* Adds copies of loads that are alike in what @given says. */
void
hass_ready_set_add (HassReadySet *set, const HassReadyRun *given,
                    const HassLoad *loads, gsize n)
{
  Run *run = g_malloc (sizeof *run + n * sizeof *loads);
  double work = 0;
  guint64 bytes = 0;
  run->at = 0;
  run->n = n;
  run->earliest_ns = given->earliest_ns;
  memcpy (run->loads, loads, n * sizeof *loads);
  for (gsize i = 0; i < n; i++)
    {
      work += work_of (set, &loads[i]);
      bytes += loads[i].input_bytes;
    }
  pthread_mutex_lock (&set->lock);
  Lane *lane = lane_locked (set, given->mask);
  g_queue_push_tail (&urgency_locked (lane, given->priority)->runs, run);
  set->bytes += bytes;
  count_locked (set, given->mask, (gint64)n, work);
  pthread_mutex_unlock (&set->lock);
}

/* -- Taking ------------------------------------------------------------- */

static GSequenceIter *
end_of (const Lane *lane, gboolean back)
{
  GSequenceIter *i = back ? g_sequence_get_end_iter (lane->urgencies)
                          : g_sequence_get_begin_iter (lane->urgencies);
  return back ? g_sequence_iter_prev (i) : i;
}

/* Returns: the run from which the next load comes. */
static Run *
run_at (Urgency *u, gboolean back)
{
  return back ? g_queue_peek_tail (&u->runs) : g_queue_peek_head (&u->runs);
}

static gboolean
may_take (const HassReadySet *set, const Lane *lane, const HassReadyTake *take)
{
  if (!(lane->mask >> take->klass & 1) || g_sequence_is_empty (lane->urgencies))
    return FALSE;
  if (lane->mask != set->all || take->leave <= 0)
    return TRUE;
  const Run *run
      = run_at (g_sequence_get (end_of (lane, take->back)), take->back);
  double own
      = work_of (set, &run->loads[take->back ? run->at + run->n - 1 : run->at]);
  return hass_ready_set_work ((HassReadySet *)set) - own > take->leave * own;
}

/* Returns: the lane with the next load for a class: the most urgent; from the
   back, and among equals, one with loads that not every class can run. NULL if
   there is none. */
static Lane *
choose_locked (HassReadySet *set, const HassReadyTake *take)
{
  Lane *best = NULL;
  const Urgency *most = NULL;
  for (guint i = 0; i < set->lanes->len; i++)
    {
      Lane *lane = g_ptr_array_index (set->lanes, i);
      if (!may_take (set, lane, take))
        continue;
      const Urgency *u = g_sequence_get (end_of (lane, take->back));
      gboolean partial = lane->mask != set->all;
      if (!best
          || (take->back ? partial
                         : u->priority > most->priority
                               || (u->priority == most->priority && partial)))
        {
          best = lane;
          most = u;
        }
    }
  return best;
}

/* Removes the run at that end, and its queue if that is empty then. */
static void
remove_locked (Lane *lane, GSequenceIter *place, gboolean back)
{
  Urgency *u = g_sequence_get (place);
  g_free (back ? g_queue_pop_tail (&u->runs) : g_queue_pop_head (&u->runs));
  if (!g_queue_is_empty (&u->runs))
    return;
  g_sequence_remove (place);
  g_free (lane->spare);
  lane->spare = u;
}

/* Returns: whether hass_ready_set_take() would take a load. Under the set's
   lock. */
gboolean
hass_ready_set_would (HassReadySet *set, const HassReadyTake *take)
{
  return choose_locked (set, take) != NULL;
}

/* Moves loads of the set to @loads, at most take->n, all of which the same
   classes can run, and their earliest begins to @earliest_ns. Returns: their
   number. Under the set's lock. */
guint32
hass_ready_set_take (HassReadySet *set, const HassReadyTake *take,
                     HassLoad *loads, double *earliest_ns)
{
  guint32 n = 0;
  double taken = 0;
  /* Each load is looked at by itself only where work limits the take. */
  gboolean by_run = take->work <= 0 && take->leave <= 0;
  Lane *first = choose_locked (set, take);
  for (Lane *lane = first; lane && lane == first && n < take->n;
       lane = choose_locked (set, take))
    {
      GSequenceIter *place = end_of (lane, take->back);
      Run *run = run_at (g_sequence_get (place), take->back);
      guint32 m = by_run ? (guint32)MIN (take->n - n, run->n) : 1;
      const HassLoad *from
          = &run->loads[take->back ? run->at + run->n - m : run->at];
      double work = 0;
      for (guint32 i = 0; i < m; i++)
        {
          work += work_of (set, &from[i]);
          set->bytes -= from[i].input_bytes;
          earliest_ns[n + i] = run->earliest_ns;
        }
      if (n > 0 && take->work > 0 && taken + work > take->work)
        {
          set->bytes += from->input_bytes;
          break;
        }
      memcpy (&loads[n], from, m * sizeof *from);
      taken += work;
      n += m;
      run->at += take->back ? 0 : m;
      run->n -= m;
      count_locked (set, lane->mask, -(gint64)m, -work);
      if (run->n == 0)
        remove_locked (lane, place, take->back);
    }
  return n;
}

/* -- Deques ------------------------------------------------------------- */

/* Gives the set a deque for each of @n cores, before other threads use it. */
void
hass_ready_set_add_deques (HassReadySet *set, guint n)
{
  set->deques = g_aligned_alloc0 (n, sizeof *set->deques, HASS_CACHE_LINE);
  set->n_deques = n;
  for (guint i = 0; i < n; i++)
    hass_short_lock_init (&set->deques[i].lock);
}

static void
grow_deque_locked (HassReadyDeque *d, guint32 n, guint32 least)
{
  guint32 capacity = MAX (d->capacity, LEAST_CAPACITY);
  while (capacity < least)
    capacity *= 2;
  HassLoad *loads = g_new (HassLoad, capacity);
  double *earliest_ns = g_new (double, capacity);
  for (guint32 i = 0; i < n; i++)
    {
      guint32 at = (d->first + i) & (d->capacity - 1);
      loads[i] = d->loads[at];
      earliest_ns[i] = d->earliest_ns[at];
    }
  g_free (d->loads);
  g_free (d->earliest_ns);
  d->loads = loads;
  d->earliest_ns = earliest_ns;
  d->capacity = capacity;
  d->first = 0;
}

/* Sets the number of loads, and adds to their work. */
static void
count_deque_locked (HassReadyDeque *d, guint32 n, double work)
{
  double sum = atomic_load_explicit (&d->work, memory_order_relaxed) + work;
  /* An empty deque has no work, whatever was lost by rounding. */
  atomic_store_explicit (&d->work, n > 0 ? sum : 0, memory_order_relaxed);
  atomic_store_explicit (&d->n, n, memory_order_seq_cst);
}

/* Adds copies of loads, which are alike in what @run says, to a core's deque.
   Returns: FALSE if they belong in the set: there is no deque, or loads have
   priorities, or the deque holds loads for other classes of devices. */
gboolean
hass_ready_deque_push (HassReadySet *set, guint deque, const HassReadyRun *run,
                       const HassLoad *loads, guint32 n)
{
  if (run->priority != 0)
    atomic_store_explicit (&set->ranked, TRUE, memory_order_relaxed);
  /* Relaxed: what is pushed just before the change is gathered. */
  if (deque >= set->n_deques
      || atomic_load_explicit (&set->ranked, memory_order_relaxed)
      || !(run->mask & 1u << HASS_DEVICE_CPU))
    return FALSE;
  HassReadyDeque *d = &set->deques[deque];
  double work = 0;
  pthread_mutex_lock (&d->lock);
  guint32 had = hass_ready_deque_n (d);
  gboolean fits = (had == 0 || hass_ready_deque_mask (d) == run->mask)
                  && n <= (1u << 31) - had;
  if (fits)
    {
      if (had + n > d->capacity)
        grow_deque_locked (d, had, had + n);
      guint32 at = (d->first + had) & (d->capacity - 1);
      guint32 m = MIN (n, d->capacity - at);
      memcpy (&d->loads[at], loads, m * sizeof *loads);
      memcpy (d->loads, loads + m, (n - m) * sizeof *loads);
      for (guint32 i = 0; i < n; i++)
        {
          d->earliest_ns[(at + i) & (d->capacity - 1)] = run->earliest_ns;
          work += work_of (set, &loads[i]);
        }
      atomic_store_explicit (&d->mask, run->mask, memory_order_relaxed);
      count_deque_locked (d, had + n, work);
    }
  pthread_mutex_unlock (&d->lock);
  return fits;
}

/* Moves @n loads of a deque, which has as many, to @loads, and their earliest
   begins to @earliest_ns: the oldest or the newest ones, in order of age. Under
   the deque's lock. */
void
hass_ready_deque_take (HassReadySet *set, HassReadyDeque *d, guint32 n,
                       gboolean newest, HassLoad *loads, double *earliest_ns)
{
  guint32 had = hass_ready_deque_n (d);
  guint32 from = d->first + (newest ? had - n : 0);
  double work = 0;
  if (n == 0)
    return; /* it may have no array yet */
  guint32 at = from & (d->capacity - 1), m = MIN (n, d->capacity - at);
  memcpy (loads, &d->loads[at], m * sizeof *loads);
  memcpy (loads + m, d->loads, (n - m) * sizeof *loads);
  memcpy (earliest_ns, &d->earliest_ns[at], m * sizeof *earliest_ns);
  memcpy (earliest_ns + m, d->earliest_ns, (n - m) * sizeof *earliest_ns);
  for (guint32 i = 0; i < n; i++)
    work += work_of (set, &loads[i]);
  if (!newest)
    d->first += n;
  count_deque_locked (d, had - n, -work);
}

/* Moves what the deques hold into the set, for takers that look nowhere else.
   The set's count rises before a deque's falls, so that a thread that reads the
   deques first misses none; see hass_ready_set_waiting(). */
void
hass_ready_set_gather (HassReadySet *set)
{
  for (guint i = 0; i < set->n_deques; i++)
    {
      HassReadyDeque *d = &set->deques[i];
      if (hass_ready_deque_n (d) == 0)
        continue;
      pthread_mutex_lock (&d->lock);
      guint32 n = hass_ready_deque_n (d);
      guint mask = hass_ready_deque_mask (d);
      /* Loads that a pull has emitted together are one run. */
      for (guint32 k = 0, m; k < n; k += m)
        {
          guint32 at = (d->first + k) & (d->capacity - 1);
          double earliest_ns = d->earliest_ns[at];
          for (m = 1; k + m < n && at + m < d->capacity
                      && d->earliest_ns[at + m] == earliest_ns;)
            m++;
          hass_ready_set_add (set, &(HassReadyRun){ mask, 0, earliest_ns },
                              &d->loads[at], m);
        }
      count_deque_locked (d, 0, 0);
      pthread_mutex_unlock (&d->lock);
    }
}

/* -- The whole set ------------------------------------------------------ */

/* Takes one load that a class of devices can run. Returns: FALSE if there is
   none. */
gboolean
hass_ready_set_pop (HassReadySet *set, guint klass, HassLoad *load)
{
  double unused;
  HassReadyTake take = { .klass = klass, .n = 1 };
  hass_ready_set_gather (set);
  pthread_mutex_lock (&set->lock);
  guint32 n = hass_ready_set_take (set, &take, load, &unused);
  pthread_mutex_unlock (&set->lock);
  return n == 1;
}

/* Returns: the input bytes of all loads that wait and are in no deque. */
guint64
hass_ready_set_bytes (HassReadySet *set)
{
  pthread_mutex_lock (&set->lock);
  guint64 bytes = set->bytes;
  pthread_mutex_unlock (&set->lock);
  return bytes;
}
