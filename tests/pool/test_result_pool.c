/* SPDX-License-Identifier: MIT */
/* The result pool: what the collector gets, when and in what order.
   Thread safety: one thread, but for the waits and crowds of the last
   tests. */
#include "pool/result_pool.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "crowd.h"
#include "hass_test.h"

/* What a collector got. */
typedef struct
{
  GArray *seqs; /* guint64 */
  guint refuse_at;
  guint wrong;
} Got;

/* Record seq carries seq % 20 bytes of its low byte, inline. */
static gboolean
check_record (const HassResultItem *record)
{
  if (record->bytes != record->seq % 20 || (gsize)record->data % 8 != 0
      || GPOINTER_TO_SIZE (record->tag) != record->seq + 1)
    return FALSE;
  for (gsize i = 0; i < record->bytes; i++)
    if (((const guint8 *)record->data)[i] != (guint8)record->seq)
      return FALSE;
  return TRUE;
}

static gboolean
collect (const HassResultItem *record, gpointer data)
{
  Got *got = data;
  if (got->refuse_at > 0 && got->seqs->len + 1 >= got->refuse_at)
    return FALSE;
  got->wrong += !check_record (record);
  g_array_append_val (got->seqs, record->seq);
  return TRUE;
}

static void
add (HassRun *run, guint64 seq)
{
  guint8 bytes[20];
  memset (bytes, (guint8)seq, sizeof bytes);
  HassResultItem record
      = { .seq = seq, .tag = GSIZE_TO_POINTER (seq + 1), .bytes = seq % 20 };
  hass_run_add (run, &record, bytes);
}

/* Commits the run of units [key, key + n), one record for each. */
static void
commit (HassResultPool *pool, guint64 key, guint64 n)
{
  HassRun *run = hass_result_pool_run (pool);
  run->key = key;
  run->n_units = n;
  for (guint64 i = 0; i < n; i++)
    add (run, key + i);
  hass_result_pool_commit (pool, run);
}

static HassResultPool *
pool_for (Got *got, gboolean ordered)
{
  *got = (Got){ .seqs = g_array_new (FALSE, FALSE, sizeof (guint64)) };
  return hass_result_pool_new (ordered, 1 << 20, collect, got);
}

static gboolean
got_are (const Got *got, const guint64 *seqs, guint n)
{
  return got->wrong == 0 && got->seqs->len == n
         && memcmp (got->seqs->data, seqs, n * sizeof *seqs) == 0;
}

#define GOT(...)                                                               \
  got_are (&got, (guint64[]){ __VA_ARGS__ },                                   \
           sizeof ((guint64[]){ __VA_ARGS__ }) / sizeof (guint64))

static void
end (HassResultPool *pool, Got *got)
{
  hass_result_pool_free (pool);
  g_array_unref (got->seqs);
}

static void
unordered (void)
{
  Got got;
  HassResultPool *pool = pool_for (&got, FALSE);
  commit (pool, 30, 3);
  CU_ASSERT (GOT (30, 31, 32));
  commit (pool, 10, 1);
  commit (pool, 20, 0); /* a run without results */
  commit (pool, 0, 2);
  CU_ASSERT (GOT (30, 31, 32, 10, 0, 1));
  CU_ASSERT_EQUAL (hass_result_pool_delivered (pool), 6);
  end (pool, &got);
}

static void
data_in_place (void)
{
  Got got;
  HassResultPool *pool = pool_for (&got, FALSE);
  HassRun *run = hass_result_pool_run (pool);
  guint8 bytes[7] = { 7, 7, 7, 7, 7, 7, 7 };
  HassResultItem record = { .seq = 7,
                            .tag = GSIZE_TO_POINTER (8),
                            .data = g_memdup2 (bytes, 7),
                            .bytes = 7 };
  hass_run_add (run, &record, NULL);
  for (guint64 i = 8; i < 2000; i++) /* grows the run */
    add (run, i);
  hass_result_pool_commit (pool, run);
  CU_ASSERT_EQUAL (got.wrong, 0);
  CU_ASSERT_EQUAL (got.seqs->len, 1993);
  g_free ((gpointer)record.data);
  end (pool, &got);
}

static void
ordered (void)
{
  Got got;
  HassResultPool *pool = pool_for (&got, TRUE);
  commit (pool, 6, 2);
  commit (pool, 2, 1);
  commit (pool, 3, 3);
  CU_ASSERT_EQUAL (got.seqs->len, 0);
  commit (pool, 0, 2);
  CU_ASSERT (GOT (0, 1, 2, 3, 4, 5, 6, 7));
  commit (pool, 9, 1);
  CU_ASSERT_EQUAL (got.seqs->len, 8);
  commit (pool, 8, 1);
  CU_ASSERT (GOT (0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
  end (pool, &got);
}

static void
any_permutation (void)
{
  enum
  {
    N = 200
  };
  guint32 rand = 17;
  for (guint trial = 0; trial < 50; trial++)
    {
      Got got;
      HassResultPool *pool = pool_for (&got, TRUE);
      guint64 at[N], n[N], total = 0;
      for (guint i = 0; i < N; i++)
        {
          at[i] = total;
          total += n[i] = crowd_random (&rand) % 5 + 1;
        }
      for (guint i = N - 1; i > 0; i--)
        {
          guint k = crowd_random (&rand) % (i + 1);
          guint64 a = at[i], m = n[i];
          at[i] = at[k], n[i] = n[k];
          at[k] = a, n[k] = m;
        }
      for (guint i = 0; i < N; i++)
        commit (pool, at[i], n[i]);
      CU_ASSERT_EQUAL (got.seqs->len, total);
      CU_ASSERT_EQUAL (got.wrong, 0);
      for (guint i = 0; i < got.seqs->len; i++)
        CU_ASSERT_EQUAL (g_array_index (got.seqs, guint64, i), i);
      end (pool, &got);
    }
}

static void
units_without_results (void)
{
  Got got;
  HassResultPool *pool = pool_for (&got, TRUE);
  HassRun *run = hass_result_pool_run (pool);
  commit (pool, 5, 1);
  run->key = 0;
  run->n_units = 5;
  add (run, 3); /* the only result of five units */
  hass_result_pool_commit (pool, run);
  CU_ASSERT (GOT (3, 5));
  CU_ASSERT (hass_result_pool_passed (pool, 6));
  end (pool, &got);
}

static void
refusal (void)
{
  for (int is_ordered = 0; is_ordered < 2; is_ordered++)
    {
      Got got;
      HassResultPool *pool = pool_for (&got, is_ordered);
      got.refuse_at = 4;
      commit (pool, 0, 2);
      commit (pool, 2, 3); /* refused at seq 3 */
      got.refuse_at = 0;
      commit (pool, 5, 1); /* nor is the collector asked again */
      CU_ASSERT (GOT (0, 1, 2));
      CU_ASSERT_EQUAL (hass_result_pool_delivered (pool), 3);
      guint64 mark = hass_result_pool_mark (pool, 6);
      CU_ASSERT (hass_result_pool_passed (pool, mark)); /* loads are freed */
      hass_result_pool_flush (pool);
      CU_ASSERT (GOT (0, 1, 2));
      end (pool, &got);
    }
}

static void
flushing (void)
{
  Got got;
  HassResultPool *pool = pool_for (&got, TRUE);
  commit (pool, 0, 1);
  commit (pool, 9, 1);
  commit (pool, 5, 2);
  CU_ASSERT (GOT (0));
  hass_result_pool_flush (pool);
  CU_ASSERT (GOT (0, 5, 6, 9));
  hass_result_pool_flush (pool);
  CU_ASSERT_EQUAL (hass_result_pool_delivered (pool), 4);
  commit (pool, 12, 1); /* left behind: the pool frees it */
  end (pool, &got);
}

typedef struct
{
  HassResultPool *pool;
  guint64 mark;
  gboolean early, late;
} Peek;

/* In the middle of a delivery nothing of it has passed yet. */
static gboolean
peek (const HassResultItem *record, gpointer data)
{
  Peek *p = data;
  (void)record;
  p->early |= hass_result_pool_passed (p->pool, p->mark);
  return TRUE;
}

static void
marks (void)
{
  Peek p = { .mark = 1 };
  p.pool = hass_result_pool_new (FALSE, 1 << 20, peek, &p);
  CU_ASSERT_EQUAL (hass_result_pool_mark (p.pool, 99), 0);
  CU_ASSERT (hass_result_pool_passed (p.pool, 0));
  commit (p.pool, 0, 3);
  CU_ASSERT (!p.early);
  CU_ASSERT_EQUAL (hass_result_pool_mark (p.pool, 99), 1);
  CU_ASSERT (hass_result_pool_passed (p.pool, 1));
  CU_ASSERT (!hass_result_pool_passed (p.pool, 2));
  hass_result_pool_free (p.pool);

  p = (Peek){ .mark = 3 };
  p.pool = hass_result_pool_new (TRUE, 1 << 20, peek, &p);
  CU_ASSERT_EQUAL (hass_result_pool_mark (p.pool, 5), 5);
  commit (p.pool, 3, 2);
  CU_ASSERT (!hass_result_pool_passed (p.pool, 2));
  commit (p.pool, 0, 2);
  CU_ASSERT (hass_result_pool_passed (p.pool, 2));
  CU_ASSERT (!hass_result_pool_passed (p.pool, 5)); /* unit 2 is missing */
  CU_ASSERT (!p.early);
  p.mark = 6;
  commit (p.pool, 2, 1);
  CU_ASSERT (hass_result_pool_passed (p.pool, 5));
  CU_ASSERT (!p.early);
  hass_result_pool_free (p.pool);
}

/* -- Back-pressure ------------------------------------------------------ */

#define BOUND 1000

typedef struct
{
  HassResultPool *pool;
  gboolean ordered;
  gint64 deadline;
  _Atomic guint inside;    /* the collector */
  _Atomic guint released;  /* it may go on */
  _Atomic guint committed; /* commits that have returned */
  _Atomic guint n_records;
  _Atomic guint third; /* the kernel's number of its thread, when it commits */
} Dam;

static gboolean
hold (const HassResultItem *record, gpointer data)
{
  Dam *dam = data;
  (void)record;
  atomic_fetch_add (&dam->n_records, 1);
  atomic_store (&dam->inside, 1);
  while (!atomic_load (&dam->released) && crowd_now_ns () < dam->deadline)
    sched_yield ();
  return TRUE;
}

/* Waits until the count is reached. FALSE: it is not, the deadline is over. */
static gboolean
reaches (const Dam *dam, _Atomic guint *count, guint n)
{
  while (atomic_load (count) < n && crowd_now_ns () < dam->deadline)
    g_usleep (500);
  return atomic_load (count) >= n;
}

/* The kernel says that the thread, 0: none yet, sleeps. */
static gboolean
sleeps (guint thread)
{
  g_autofree char *text = NULL;
  g_autofree char *path = g_strdup_printf ("/proc/self/task/%u/stat", thread);
  if (thread == 0 || !g_file_get_contents (path, &text, NULL, NULL))
    return FALSE;
  const char *state = strrchr (text, ')');
  return state && state[1] && state[2] == 'S';
}

/* The first commits unit 0 and is held in the collector; the second commits
   600 bytes, which may wait; the third 600 more, which are too many: it sleeps
   until the collector goes on. */
static void
dam_body (guint index, gpointer data)
{
  Dam *dam = data;
  static const guint8 bytes[600];
  HassResultItem record = { .seq = index, .bytes = 500 };
  if (index == 3)
    {
      if (!reaches (dam, &dam->committed, 1))
        atomic_fetch_add (&dam->committed, 100);
      while (!sleeps (atomic_load (&dam->third))
             && atomic_load (&dam->committed) < 2
             && crowd_now_ns () < dam->deadline)
        g_usleep (500);
      if (atomic_load (&dam->committed) >= 2)
        atomic_fetch_add (&dam->committed, 100);
      atomic_store (&dam->released, 1);
      return;
    }
  if (index > 0)
    reaches (dam, &dam->inside, 1);
  if (index > 1)
    reaches (dam, &dam->committed, 1);
  HassRun *run = hass_result_pool_run (dam->pool);
  run->key = index;
  run->n_units = 1;
  hass_run_add (run, &record, bytes);
  if (index > 1)
    atomic_store (&dam->third, (guint)syscall (SYS_gettid));
  hass_result_pool_commit (dam->pool, run);
  atomic_fetch_add (&dam->committed, 1);
}

static void
back_pressure (void)
{
  for (int is_ordered = 0; is_ordered < 2; is_ordered++)
    {
      Dam dam = { .deadline = crowd_now_ns () + CROWD_PATIENCE_NS };
      dam.pool = hass_result_pool_new (is_ordered, BOUND, hold, &dam);
      crowd_run (4, dam_body, &dam);
      CU_ASSERT_EQUAL (atomic_load (&dam.committed), 3);
      CU_ASSERT_EQUAL (atomic_load (&dam.n_records), 3);
      hass_result_pool_free (dam.pool);
    }
}

/* -- Crowds ------------------------------------------------------------- */

#define CROWD 3
#define MOST 200000

typedef struct
{
  HassResultPool *pool;
  guint64 n;
  gint64 deadline;
  gboolean ordered;
  _Atomic guint64 next;  /* unit that is not taken yet */
  _Atomic guint inside;  /* collectors at work */
  _Atomic gint64 queued; /* bytes committed and not yet collected */
  _Atomic guint64 wrong;
  guint64 due; /* the collector's */
  guint8 times[MOST];
} Field;

static gboolean
collect_in_field (const HassResultItem *record, gpointer data)
{
  Field *field = data;
  if (atomic_fetch_add (&field->inside, 1) != 0)
    atomic_fetch_add (&field->wrong, 1);
  /* due and times are plain: only one at a time may be here. */
  if (!check_record (record) || field->times[record->seq]++ != 0
      || (field->ordered && record->seq != field->due))
    atomic_fetch_add (&field->wrong, 1);
  field->due++;
  /* A delivery still in hand, what waits, and a run of each who commits. */
  if (atomic_fetch_sub (&field->queued, 72) > 3 * BOUND + 2 * CROWD * 8 * 72
      && !field->ordered)
    atomic_fetch_add (&field->wrong, 1);
  atomic_fetch_sub (&field->inside, 1);
  return TRUE;
}

static void
crowd_in_field (guint index, gpointer data)
{
  Field *field = data;
  guint32 rand = 3 + index;
  for (;;)
    {
      guint64 n = crowd_random (&rand) % 8 + 1;
      guint64 key = atomic_fetch_add (&field->next, n);
      if (key >= field->n || atomic_load (&field->wrong) > 0
          || crowd_now_ns () > field->deadline)
        return;
      n = MIN (n, field->n - key);
      for (guint i = crowd_random (&rand) % 64; i > 0; i--)
        __asm__ volatile("");
      guint64 mark;
      atomic_fetch_add (&field->queued, n * 72);
      commit (field->pool, key, n);
      /* All may have passed, but never more than was committed. */
      mark = hass_result_pool_mark (field->pool, field->n);
      if (field->ordered
              ? hass_result_pool_passed (field->pool, field->n + 1)
              : hass_result_pool_passed (field->pool, mark + field->n))
        atomic_fetch_add (&field->wrong, 1);
    }
}

static void
crowd_commits (gboolean is_ordered)
{
  Field *field = g_new0 (Field, 1);
  field->n = CROWD_SCALE (MOST);
  field->ordered = is_ordered;
  field->deadline = crowd_now_ns () + CROWD_PATIENCE_NS;
  field->pool
      = hass_result_pool_new (is_ordered, BOUND, collect_in_field, field);
  crowd_run (CROWD, crowd_in_field, field);
  CU_ASSERT_EQUAL (atomic_load (&field->wrong), 0);
  CU_ASSERT_EQUAL (field->due, field->n);
  CU_ASSERT_EQUAL (hass_result_pool_delivered (field->pool), field->n);
  CU_ASSERT (hass_result_pool_passed (
      field->pool, hass_result_pool_mark (field->pool, field->n)));
  hass_result_pool_free (field->pool);
  g_free (field);
}

static void
crowd_unordered (void)
{
  crowd_commits (FALSE);
}

static void
crowd_ordered (void)
{
  crowd_commits (TRUE);
}

HASS_TEST_SUITE (
    result_pool, { "unordered runs come as they were committed", unordered },
    { "records carry data in place or inline, whatever a run's size",
      data_in_place },
    { "ordered runs wait for those before them", ordered },
    { "any permutation of runs comes in order", any_permutation },
    { "units without results leave no gap", units_without_results },
    { "after a refusal the collector is left alone", refusal },
    { "a flush delivers across gaps, in order", flushing },
    { "a mark has passed when all before it is delivered", marks },
    { "a commit waits while the results of too many bytes wait",
      back_pressure },
    { "a crowd's results come once, to one collector at a time",
      crowd_unordered },
    { "a crowd's results come in exact order", crowd_ordered })
