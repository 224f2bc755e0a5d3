/* SPDX-License-Identifier: MIT */
/* Threads that start together, for stress tests.
   Thread safety: crowd_run from one thread at a time; the rest from any.

   CUnit's assertions are for the main thread alone: a body counts what went
   wrong in an atomic, and the test asserts on that after the crowd has
   ended. */
#ifndef CROWD_H
#define CROWD_H

#include <glib.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "tests/trials.h"

/* Iterations that a test would like, and what a sanitizer leaves of them. */
#define CROWD_SCALE(n) TRIALS (n, (n) / 5 + 1, (n) / 20 + 1)

/* After so long, in ns, a stress test gives up: what it waits for was lost. A
   guess: shorter, and a busy machine fails tests. */
#define CROWD_PATIENCE_NS G_GINT64_CONSTANT (300000000000)

typedef void (*CrowdFunc) (guint index, gpointer user_data);

typedef struct
{
  guint index;
  CrowdFunc body;
  gpointer user_data;
  pthread_barrier_t *start;
} CrowdMember;

/* A new thread may stay on its creator's core for long: bind it at once. */
static inline void
crowd_bind (guint index)
{
  cpu_set_t may, one;
  if (sched_getaffinity (0, sizeof may, &may) != 0 || CPU_COUNT (&may) < 2)
    return;
  guint skip = index % CPU_COUNT (&may);
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
    if (CPU_ISSET (cpu, &may) && skip-- == 0)
      {
        CPU_ZERO (&one);
        CPU_SET (cpu, &one);
        sched_setaffinity (0, sizeof one, &one);
        return;
      }
}

static inline gpointer
crowd_member (gpointer data)
{
  CrowdMember *member = data;
  crowd_bind (member->index);
  pthread_barrier_wait (member->start);
  member->body (member->index, member->user_data);
  return NULL;
}

/* Runs body (0 .. n - 1, user_data) on n threads; returns when all have. */
static inline void
crowd_run (guint n, CrowdFunc body, gpointer user_data)
{
  pthread_barrier_t start;
  CrowdMember *members = g_new (CrowdMember, n);
  GThread **threads = g_new (GThread *, n);
  pthread_barrier_init (&start, NULL, n);
  for (guint i = 0; i < n; i++)
    {
      members[i] = (CrowdMember){ i, body, user_data, &start };
      threads[i] = g_thread_new ("crowd", crowd_member, &members[i]);
    }
  for (guint i = 0; i < n; i++)
    g_thread_join (threads[i]);
  pthread_barrier_destroy (&start);
  g_free (threads);
  g_free (members);
}

static inline gint64
crowd_now_ns (void)
{
  return g_get_monotonic_time () * 1000;
}

/* A random number; the same sequence for the same *state, not 0. */
static inline guint32
crowd_random (guint32 *state)
{
  *state ^= *state << 13;
  *state ^= *state >> 17;
  *state ^= *state << 5;
  return *state;
}

#endif
