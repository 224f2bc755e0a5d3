/* SPDX-License-Identifier: MIT */
/* limits.c: what kernel and cgroups let the process use.

   DESIGN. The cgroups are those of /proc/self/cgroup, of versions 1 and 2. In a
   container that shows paths from outside it, the folders do not exist below
   /sys/fs/cgroup, but the folder itself is that of the container's cgroup. So
   a file that does not exist sets no limit, and the walk ends at the root.

   The kernel takes 10 to 20 us to show /proc/self/cgroup, and a process asks
   for three kinds of limits as it starts, so the text is kept: a process that
   is moved to another cgroup keeps the cgroup that it had.

   Limits on threads are on those of the user, the cgroup, or the system. How
   many the user has is not told by the kernel, so all of the system count.

   Thread safety: any thread. */
#include "limits.h"

#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* A limit is far if so many times as many threads are allowed. A guess: less,
   and others may make the rest before this process does; more, and the pool of
   a process near its limit starts later. */
#define FAR 2

/* -- Files --------------------------------------------------------------- */

/* Reads the begin of a file. Returns: FALSE if it cannot be read. */
static gboolean
read_text (const char *root, const char *folder, const char *name, char *text,
           gsize bytes)
{
  g_autofree char *path = g_strconcat (root, folder, name, NULL);
  int file = open (path, O_RDONLY | O_CLOEXEC);
  gssize n = file >= 0 ? read (file, text, bytes - 1) : -1;
  if (file >= 0)
    close (file);
  text[MAX (n, 0)] = '\0';
  return n > 0;
}

/* Returns: the number that the file begins with; @otherwise: there is none. */
static double
number_in (const char *root, const char *folder, const char *name,
           double otherwise)
{
  char text[64], *end;
  if (!read_text (root, folder, name, text, sizeof text))
    return otherwise;
  double number = g_ascii_strtod (text, &end);
  return end > text ? number : otherwise;
}

/* Returns: /proc/self/cgroup, to be freed; NULL if it cannot be read. The text
   of the root that was asked for last is kept. */
static char *
own_cgroups (const char *root)
{
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static char *kept_root, *kept; /* guarded by lock */
  pthread_mutex_lock (&lock);
  if (g_strcmp0 (kept_root, root) != 0)
    {
      char text[8192];
      g_free (kept_root);
      g_free (kept);
      kept_root = g_strdup (root);
      kept = read_text (root, "/proc/self/cgroup", "", text, sizeof text)
                 ? g_strdup (text)
                 : NULL;
    }
  char *text = g_strdup (kept);
  pthread_mutex_unlock (&lock);
  return text;
}

/* Calls @look for the folders of the process's cgroup and of all above it, of
   the controller and of version 2, until it returns FALSE. */
static void
each_cgroup (const char *root, const char *controller,
             gboolean (*look) (const char *root, const char *folder,
                               gpointer data),
             gpointer data)
{
  g_autofree char *text = own_cgroups (root);
  if (!text)
    return;
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  for (char **l = lines; *l; l++)
    {
      g_auto (GStrv) part = g_strsplit (*l, ":", 3);
      if (g_strv_length (part) < 3
          || (part[1][0] != '\0' && !strstr (part[1], controller)))
        continue;
      g_autofree char *top
          = g_strconcat ("/sys/fs/cgroup", part[1][0] ? "/" : "",
                         part[1][0] ? controller : "", NULL);
      for (char *path = part[2];;)
        {
          g_autofree char *folder = g_strconcat (top, path, NULL);
          if (!look (root, folder, data))
            return;
          char *slash = strrchr (path, '/');
          if (!slash)
            break;
          *slash = '\0';
        }
    }
}

/* -- CPUs ---------------------------------------------------------------- */

/* Lowers the limit in @data to that of a folder: cpu.max (version 2), or quota
   and period (version 1), of which a limit is the quotient. */
static gboolean
look_at_cpus (const char *root, const char *folder, gpointer data)
{
  double *least = data, quota, period = 0;
  char text[64], *end;
  if (read_text (root, folder, "/cpu.max", text, sizeof text))
    {
      quota = g_ascii_strtod (text, &end);
      period = end > text ? g_ascii_strtod (end, NULL) : 0;
    }
  else if ((quota = number_in (root, folder, "/cpu.cfs_quota_us", 0)) > 0)
    period = number_in (root, folder, "/cpu.cfs_period_us", 0);
  if (quota > 0 && period > 0 && (*least == 0 || quota / period < *least))
    *least = quota / period;
  return TRUE;
}

double
hass_limits_cpus (const char *root)
{
  double least = 0;
  each_cgroup (root, "cpu", look_at_cpus, &least);
  return least;
}

/* -- Memory -------------------------------------------------------------- */

/* Lowers the limit in @data to that of a folder. Version 1 says 2^63 less a
   page where there is none. */
static gboolean
look_at_memory (const char *root, const char *folder, gpointer data)
{
  static const char *const names[]
      = { "/memory.max", "/memory.high", "/memory.limit_in_bytes" };
  double *least = data;
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      double bytes = number_in (root, folder, names[i], INFINITY);
      if (bytes < (double)(G_MAXINT64 / 2))
        *least = MIN (*least, bytes);
    }
  return TRUE;
}

double
hass_limits_memory (const char *root)
{
  double least = INFINITY;
  each_cgroup (root, "memory", look_at_memory, &least);
  return least;
}

/* -- Threads ------------------------------------------------------------- */

typedef struct
{
  double more;
  gboolean allowed;
} Threads;

static gboolean
look_at_threads (const char *root, const char *folder, gpointer data)
{
  Threads *t = data;
  double most = number_in (root, folder, "/pids.max", INFINITY);
  if (isfinite (most))
    t->allowed
        = FAR * (number_in (root, folder, "/pids.current", INFINITY) + t->more)
          <= most;
  return t->allowed;
}

double
hass_limits_of (int resource)
{
  struct rlimit limit;
  if (getrlimit (resource, &limit) != 0)
    return INFINITY;
  return limit.rlim_cur == RLIM_INFINITY ? INFINITY : (double)limit.rlim_cur;
}

/* Returns: the number of threads of the system; INFINITY: unknown. */
static double
threads_of_all (const char *root)
{
  char text[128];
  if (!read_text (root, "/proc/loadavg", "", text, sizeof text))
    return INFINITY;
  const char *slash = strchr (text, '/');
  return slash ? g_ascii_strtod (slash + 1, NULL) : INFINITY;
}

gboolean
hass_limits_allow_threads (const char *root, guint n)
{
  Threads t = { .more = n, .allowed = TRUE };
  double most = hass_limits_of (RLIMIT_NPROC);
  most = MIN (most, number_in (root, "/proc/sys/kernel", "/threads-max", 0));
  most = MIN (most, number_in (root, "/proc/sys/kernel", "/pid_max", 0));
  /* Stacks need address space, and memory where it is not overcommitted. */
  if (isfinite (hass_limits_of (RLIMIT_AS))
      || isfinite (hass_limits_of (RLIMIT_DATA))
      || number_in (root, "/proc/sys/vm", "/overcommit_memory", 2) == 2
      || FAR * (threads_of_all (root) + n) > most)
    return FALSE;
  each_cgroup (root, "pids", look_at_threads, &t);
  return t.allowed;
}
