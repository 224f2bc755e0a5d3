/* SPDX-License-Identifier: MIT */
/* spawn.c: runs the program as a process with a time limit.

   DESIGN. The program gets its own process group, so that its children can be
   ended with it. It is over when it has ended and no process holds its standard
   error any more. At the limit the group gets SIGTERM, 2 s later SIGKILL;
   processes that survive both are left alone.

   Signals of the terminal do not reach that group, so signals that would end
   hass-bakeoff are forwarded while the program runs, and the caller ends
   afterwards.

   Thread safety: see bakeoff.h. */
#include <errno.h>
#include <glib-unix.h>
#include <math.h>
#include <signal.h>
#include <unistd.h>

#include "bakeoff.h"

#define GRACE_MS 2000 /* from SIGTERM to SIGKILL, and then to giving up */

typedef struct
{
  GMainLoop *loop;
  GPid pid; /* and its group */
  int fd;   /* its standard error; -1: closed */
  gboolean ended;
  GString *err;
  BakeoffExit *exit;
  guint watch, input, timer;
} Process;

static void
see_if_over (Process *p)
{
  if (p->ended && p->fd < 0)
    g_main_loop_quit (p->loop);
}

static void
on_end (GPid pid, gint status, gpointer data)
{
  Process *p = data;
  g_spawn_close_pid (pid);
  p->exit->status = status;
  p->ended = TRUE;
  p->watch = 0;
  see_if_over (p);
}

static gboolean
on_input (gint fd, GIOCondition condition, gpointer data)
{
  Process *p = data;
  char piece[4096];
  gssize n = read (fd, piece, sizeof piece);
  (void)condition;
  if (n > 0)
    g_string_append_len (p->err, piece, n);
  if (n > 0 || (n < 0 && errno == EINTR))
    return G_SOURCE_CONTINUE;
  close (fd);
  p->fd = -1;
  p->input = 0;
  see_if_over (p);
  return G_SOURCE_REMOVE;
}

/* -- Ending it ---------------------------------------------------------- */

static gboolean
on_survived (gpointer data)
{
  Process *p = data;
  p->timer = 0;
  g_main_loop_quit (p->loop);
  return G_SOURCE_REMOVE;
}

static gboolean
on_ignored (gpointer data)
{
  Process *p = data;
  kill (-p->pid, SIGKILL);
  p->exit->ended_by = SIGKILL;
  p->timer = g_timeout_add (GRACE_MS, on_survived, p);
  return G_SOURCE_REMOVE;
}

static void
end_it (Process *p, int number)
{
  kill (-p->pid, number);
  g_clear_handle_id (&p->timer, g_source_remove);
  p->timer = g_timeout_add (GRACE_MS, on_ignored, p);
}

static gboolean
on_limit (gpointer data)
{
  Process *p = data;
  p->timer = 0;
  p->exit->ended_by = SIGTERM;
  end_it (p, SIGTERM);
  return G_SOURCE_REMOVE;
}

typedef struct
{
  Process *process;
  int number;
  guint source;
} Signal;

static gboolean
on_signal (gpointer data)
{
  Signal *s = data;
  s->process->exit->told_to_end = s->number;
  end_it (s->process, s->number);
  return G_SOURCE_CONTINUE;
}

/* Does not forward ignored signals, as under nohup. */
static void
hand_on (Signal *s)
{
  struct sigaction now;
  if (sigaction (s->number, NULL, &now) == 0 && now.sa_handler != SIG_IGN)
    s->source = g_unix_signal_add (s->number, on_signal, s);
}

/* -- Running it --------------------------------------------------------- */

static void
own_group (gpointer data)
{
  (void)data;
  setpgid (0, 0);
}

static void
run_loop (Process *p, double limit_s)
{
  Signal signals[] = { { p, SIGINT, 0 }, { p, SIGTERM, 0 }, { p, SIGHUP, 0 } };
  p->loop = g_main_loop_new (NULL, FALSE);
  for (guint i = 0; i < G_N_ELEMENTS (signals); i++)
    hand_on (&signals[i]);
  p->watch = g_child_watch_add (p->pid, on_end, p);
  p->input = g_unix_fd_add (p->fd, G_IO_IN | G_IO_HUP | G_IO_ERR, on_input, p);
  if (isfinite (limit_s))
    p->timer = g_timeout_add ((guint)ceil (limit_s * 1000), on_limit, p);
  g_main_loop_run (p->loop);
  g_clear_handle_id (&p->watch, g_source_remove);
  g_clear_handle_id (&p->input, g_source_remove);
  g_clear_handle_id (&p->timer, g_source_remove);
  for (guint i = 0; i < G_N_ELEMENTS (signals); i++)
    g_clear_handle_id (&signals[i].source, g_source_remove);
  g_main_loop_unref (p->loop);
  if (p->fd >= 0)
    close (p->fd);
}

gboolean
bakeoff_spawn (char **program, char **environment, double limit_s,
               BakeoffExit *exit, GError **error)
{
  Process p = { .exit = exit };
  gint64 begin = g_get_monotonic_time ();
  *exit = (BakeoffExit){ 0 };
  if (!g_spawn_async_with_pipes (
          NULL, program, environment,
          G_SPAWN_SEARCH_PATH | G_SPAWN_STDOUT_TO_DEV_NULL
              | G_SPAWN_DO_NOT_REAP_CHILD,
          own_group, NULL, &p.pid, NULL, NULL, &p.fd, error))
    return FALSE;
  p.err = g_string_new (NULL);
  run_loop (&p, limit_s);
  exit->seconds = MAX (g_get_monotonic_time () - begin, 1) * 1e-6;
  exit->survived = !p.ended;
  exit->err = g_string_free (p.err, FALSE);
  return TRUE;
}
