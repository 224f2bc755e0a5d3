/* SPDX-License-Identifier: MIT */
/* workers.c: suites in processes of their own, several at a time; see
   runner.h.
   Thread safety: one thread. The parent has no other, so it may fork.

   DESIGN. Each suite is a fork of this process, which has run no test. What
   it prints goes to a file without a name, and its failed assertions to a
   second one; the result lies in memory that both share. The parent prints
   the files in the order of the suites as soon as all before have ended, so
   the output does not depend on the number of processes. */
#include "runner.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined __SANITIZE_ADDRESS__
#  include <sanitizer/lsan_interface.h>
#endif

/* Bytes of a failed process's output that are repeated: several reports of
   leaks, each with its calls. */
#define MOST_LAST_WORDS 8192

typedef struct
{
  const char *name;
  pid_t pid; /* 0: not started */
  int ended;
  int status; /* as wait() tells it */
  FILE *printed, *failed;
} Worker;

static void
copy (FILE *from, FILE *to)
{
  char buffer[4096];
  size_t n;

  rewind (from);
  while ((n = fread (buffer, 1, sizeof buffer, from)) > 0)
    fwrite (buffer, 1, n, to);
}

#if defined __SANITIZE_ADDRESS__
/* How often, a millisecond apart, a process looks whether its threads rest. */
#  define MOST_LOOKS 5000

/* Returns whether all threads but this one sleep; one that is ending does not.
 */
static int
others_rest (void)
{
  GDir *threads = g_dir_open ("/proc/self/task", 0, NULL);
  const char *id;
  int rest = 1;

  while (threads != NULL && rest && (id = g_dir_read_name (threads)) != NULL)
    {
      g_autofree char *path = g_strdup_printf ("/proc/self/task/%s/stat", id);
      g_autofree char *text = NULL;
      const char *state;
      if (atoi (id) == getpid ()
          || !g_file_get_contents (path, &text, NULL, NULL))
        continue;
      state = strrchr (text, ')'); /* behind the name */
      rest = state != NULL && strchr ("SZ", state[2]) != NULL;
    }
  g_clear_pointer (&threads, g_dir_close);
  return rest;
}

/* Looks for leaks while all other threads rest, and so before oneTBB ends its
   threads, which exit() has it do: LeakSanitizer does not see what a thread
   holds that has all but ended, and reported GLib's memory of one. Ends the
   process if there are any. */
static void
look_for_leaks (void)
{
  for (int i = 0; i < MOST_LOOKS && !others_rest (); i++)
    g_usleep (1000);
  __lsan_do_leak_check ();
}
#endif

/* Ending cuBLAS, cuSOLVER and their like takes a process as long as most suites
   do, so only ThreadSanitizer, which reports at the end, has it done. */
static _Noreturn void
leave (int status)
{
#if defined __SANITIZE_ADDRESS__
  look_for_leaks ();
#endif
#if defined __SANITIZE_THREAD__
  exit (status);
#else
  _exit (status);
#endif
}

static _Noreturn void
work (Worker *worker, size_t at, RunnerResult *result)
{
  int status;

  dup2 (fileno (worker->printed), STDOUT_FILENO);
  dup2 (fileno (worker->printed), STDERR_FILENO);
  runner_run_suite (at, result);
  runner_print_failures (worker->failed);
  fflush (NULL);
  status = result->counts.nFailureRecords > 0 || result->n_criticals > 0;
  CU_cleanup_registry ();
  leave (status);
}

/* Returns 0 where the system has no process for it.  */
static int
start (Worker *worker, size_t at, RunnerResult *result)
{
  worker->printed = tmpfile ();
  worker->failed = tmpfile ();
  if (worker->printed == NULL || worker->failed == NULL)
    return 0;
  fflush (NULL);
  worker->pid = fork ();
  if (worker->pid == 0)
    work (worker, at, result);
  return worker->pid > 0;
}

static void
await_one (Worker *workers, size_t n)
{
  int status;
  pid_t pid = wait (&status);

  for (size_t w = 0; w < n && pid > 0; w++)
    if (workers[w].pid == pid)
      {
        workers[w].ended = 1;
        workers[w].status = status;
      }
}

/* Copies to worker->failed what the process printed from its last test on: a
   sanitizer's report of its death or of a leak.  */
static void
repeat_last_words (Worker *worker)
{
  GMappedFile *map
      = g_mapped_file_new_from_fd (fileno (worker->printed), FALSE, NULL);
  gsize size = map != NULL ? g_mapped_file_get_length (map) : 0;
  const char *text = size > 0 ? g_mapped_file_get_contents (map) : NULL;
  const char *test
      = text != NULL ? g_strrstr_len (text, (gssize)size, "\n  Test: ") : NULL;

  if (test != NULL)
    fprintf (worker->failed, "%.*s",
             (int)MIN (text + size - test, MOST_LAST_WORDS), test);
  g_clear_pointer (&map, g_mapped_file_unref);
}

/* A process that died, or whose exit found a leak, is a failed test.  */
static void
judge (Worker *worker, RunnerResult *result)
{
  int failed = result->counts.nFailureRecords > 0 || result->n_criticals > 0;

  if (result->over && (failed || worker->status == 0))
    return;
  result->counts.nTestsFailed++;
  result->counts.nFailureRecords++;
  if (WIFSIGNALED (worker->status))
    fprintf (worker->failed, "\nFAILED %s: its process was ended by signal %d",
             worker->name, WTERMSIG (worker->status));
  else
    fprintf (worker->failed, "\nFAILED %s: its process exited with status %d",
             worker->name, WEXITSTATUS (worker->status));
  repeat_last_words (worker);
}

static void
finish (Worker *worker, RunnerResult *result, FILE *failed)
{
  judge (worker, result);
  copy (worker->printed, stdout);
  copy (worker->failed, failed);
  fflush (stdout);
  fclose (worker->printed);
  fclose (worker->failed);
}

void
runner_run_apart (HassTestSuite *const *suites, size_t n, const size_t *order,
                  unsigned n_jobs, RunnerResult *results)
{
  g_autofree Worker *workers = g_new0 (Worker, n);
  size_t n_started = 0, n_ended = 0, n_printed = 0;
  FILE *failed = tmpfile ();
  RunnerResult *shared = mmap (NULL, n * sizeof *shared, PROT_READ | PROT_WRITE,
                               MAP_SHARED | MAP_ANONYMOUS, -1, 0);

  if (shared == MAP_FAILED || failed == NULL)
    g_error ("no memory or no temporary file for %zu suites", n);
  for (size_t w = 0; w < n; w++)
    workers[w].name = suites[w]->name;
  while (n_ended < n)
    {
      while (n_started < n && n_started - n_ended < n_jobs)
        {
          size_t at = order[n_started++];
          if (!start (&workers[at], at, &shared[at]))
            g_error ("suite %s cannot be started", workers[at].name);
        }
      await_one (workers, n);
      n_ended++;
      for (; n_printed < n && workers[n_printed].ended; n_printed++)
        finish (&workers[n_printed], &shared[n_printed], failed);
    }
  memcpy (results, shared, n * sizeof *shared);
  munmap (shared, n * sizeof *shared);
  printf ("\n");
  copy (failed, stdout);
  fclose (failed);
}
