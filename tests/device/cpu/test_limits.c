/* SPDX-License-Identifier: MIT */
/* test_limits.c: what kernel and cgroups let a process use, by files as the
   kernel would show them.
   Thread safety: one thread. */
#include <glib/gstdio.h>
#include <math.h>
#include <sys/resource.h>
#include <unistd.h>

#include "device/cpu/limits.h"
#include "device/cpu/memory.h"
#include "hass_test.h"

#define OWN "/sys/fs/cgroup/a/b"

static const char *const files[]
    = { "/proc/self/cgroup", "/proc/loadavg", "/proc/sys/kernel/threads-max",
        "/proc/sys/kernel/pid_max", "/proc/sys/vm/overcommit_memory",
        OWN "/cpu.max", OWN "/memory.max", OWN "/memory.high",
        "/sys/fs/cgroup/a/memory.max", "/sys/fs/cgroup/memory.max",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/c/memory.limit_in_bytes", OWN "/pids.max",
        OWN "/pids.current", "/sys/fs/cgroup/a/cpu.max",
        "/sys/fs/cgroup/a/pids.max", "/sys/fs/cgroup/a/pids.current",
        "/sys/fs/cgroup/pids.max", "/sys/fs/cgroup/pids.current",
        /* of version 1 */
        "/sys/fs/cgroup/cpu/c/cpu.cfs_quota_us",
        "/sys/fs/cgroup/cpu/c/cpu.cfs_period_us",
        "/sys/fs/cgroup/pids/pids.max", "/sys/fs/cgroup/pids/pids.current" };

static void
put (const char *root, const char *name, const char *text)
{
  g_autofree char *path = g_strconcat (root, name, NULL);
  g_autofree char *parent = g_path_get_dirname (path);
  CU_ASSERT_EQUAL (g_mkdir_with_parents (parent, 0700), 0);
  CU_ASSERT_TRUE (g_file_set_contents (path, text, -1, NULL));
}

/* A machine with 200 threads, in which nothing is limited. */
static char *
machine_new (void)
{
  char *root = g_dir_make_tmp ("hass-XXXXXX", NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL (root);
  put (root, "/proc/self/cgroup", "1:name=x:/y\n0::/a/b\n");
  put (root, "/proc/loadavg", "0.23 0.05 0.02 1/200 492\n");
  put (root, "/proc/sys/kernel/threads-max", "1031013\n");
  put (root, "/proc/sys/kernel/pid_max", "4194304\n");
  put (root, "/proc/sys/vm/overcommit_memory", "0\n");
  put (root, OWN "/pids.max", "max\n");
  return root;
}

/* Removes a file, and the folders that are empty then. */
static void
drop (const char *root, const char *name)
{
  g_autofree char *path = g_strconcat (root, name, NULL);
  g_remove (path);
  for (char *end; (end = strrchr (path + strlen (root), '/')); *end = '\0')
    g_rmdir (path);
}

static void
machine_free (char *root)
{
  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    drop (root, files[i]);
  g_rmdir (root);
  CU_ASSERT_FALSE (g_file_test (root, G_FILE_TEST_EXISTS));
  g_free (root);
}

static void
far_limits (void)
{
  char *root = machine_new ();
  CU_ASSERT_TRUE (hass_limits_allow_threads (root, 15));
  put (root, "/sys/fs/cgroup/a/pids.max", "100\n");
  put (root, "/sys/fs/cgroup/a/pids.current", "35\n");
  CU_ASSERT_TRUE (hass_limits_allow_threads (root, 15));
  machine_free (root);
}

/* One file that says something else. */
static void
refused_by (const char *name, const char *text)
{
  char *root = machine_new ();
  put (root, name, text);
  if (hass_limits_allow_threads (root, 15))
    CU_FAIL_FATAL ("threads are allowed beyond a limit");
  machine_free (root);
}

static void
near_limits (void)
{
  refused_by ("/proc/sys/kernel/threads-max", "429\n");
  refused_by ("/proc/sys/kernel/pid_max", "429\n");
  refused_by ("/proc/sys/vm/overcommit_memory", "2\n");
  refused_by ("/proc/loadavg", "0 0 0 1/515492 7\n");
  refused_by ("/proc/loadavg", "nothing\n");
  /* and nobody says how many there are */
  refused_by (OWN "/pids.max", "1000\n");
  refused_by ("/sys/fs/cgroup/pids.max", "1000\n");
}

static void
near_cgroup (void)
{
  static const char *const lines[] = { "0::/a/b\n", "4:pids:/elsewhere\n" };
  static const char *const folders[]
      = { "/sys/fs/cgroup/a", "/sys/fs/cgroup/pids" };
  for (guint i = 0; i < G_N_ELEMENTS (lines); i++)
    {
      char *root = machine_new ();
      g_autofree char *max = g_strconcat (folders[i], "/pids.max", NULL);
      g_autofree char *now = g_strconcat (folders[i], "/pids.current", NULL);
      put (root, "/proc/self/cgroup", lines[i]);
      put (root, max, "100\n");
      put (root, now, "36\n");
      CU_ASSERT_FALSE (hass_limits_allow_threads (root, 15));
      CU_ASSERT_TRUE (hass_limits_allow_threads (root, 14));
      machine_free (root);
    }
}

static void
user_limit (void)
{
  struct rlimit was, low;
  char *root = machine_new ();
  CU_ASSERT_EQUAL_FATAL (getrlimit (RLIMIT_NPROC, &was), 0);
  low = was;
  low.rlim_cur = 429;
  CU_ASSERT_EQUAL (setrlimit (RLIMIT_NPROC, &low), 0);
  CU_ASSERT_FALSE (hass_limits_allow_threads (root, 15));
  CU_ASSERT_TRUE (hass_limits_allow_threads (root, 14));
  CU_ASSERT_EQUAL (setrlimit (RLIMIT_NPROC, &was), 0);
  machine_free (root);
}

static void
cpus (void)
{
  char *root = machine_new ();
  CU_ASSERT_EQUAL (hass_limits_cpus (root), 0);
  put (root, "/sys/fs/cgroup/a/cpu.max", "250000 100000\n");
  CU_ASSERT_EQUAL (hass_limits_cpus (root), 2.5);
  put (root, OWN "/cpu.max", "max 100000\n");
  CU_ASSERT_EQUAL (hass_limits_cpus (root), 2.5);
  put (root, OWN "/cpu.max", "150000 100000\n");
  CU_ASSERT_EQUAL (hass_limits_cpus (root), 1.5);
  machine_free (root);
  root = machine_new ();
  put (root, "/proc/self/cgroup", "3:cpu,cpuacct:/c\n");
  put (root, "/sys/fs/cgroup/cpu/c/cpu.cfs_quota_us", "-1\n");
  put (root, "/sys/fs/cgroup/cpu/c/cpu.cfs_period_us", "100000\n");
  CU_ASSERT_EQUAL (hass_limits_cpus (root), 0);
  put (root, "/sys/fs/cgroup/cpu/c/cpu.cfs_quota_us", "300000\n");
  CU_ASSERT_EQUAL (hass_limits_cpus (root), 3);
  machine_free (root);
}

static void
memory (void)
{
  char *root = machine_new ();
  CU_ASSERT_TRUE (isinf (hass_limits_memory (root)));
  put (root, OWN "/memory.max", "max\n");
  put (root, "/sys/fs/cgroup/a/memory.max", "3000\n");
  CU_ASSERT_EQUAL (hass_limits_memory (root), 3000);
  put (root, OWN "/memory.high", "2000\n");
  CU_ASSERT_EQUAL (hass_limits_memory (root), 2000);
  put (root, "/sys/fs/cgroup/memory.max", "1000\n");
  CU_ASSERT_EQUAL (hass_limits_memory (root), 1000);
  machine_free (root);
  root = machine_new ();
  put (root, "/proc/self/cgroup", "2:memory:/c\n");
  put (root, "/sys/fs/cgroup/memory/memory.limit_in_bytes",
       "9223372036854771712\n");
  CU_ASSERT_TRUE (isinf (hass_limits_memory (root)));
  put (root, "/sys/fs/cgroup/memory/c/memory.limit_in_bytes", "4000\n");
  CU_ASSERT_EQUAL (hass_limits_memory (root), 4000);
  machine_free (root);
}

/* One root's cgroups are not another root's. */
static void
read_once (void)
{
  char *root = machine_new (), *other = machine_new ();
  put (root, "/sys/fs/cgroup/a/memory.max", "3000\n");
  put (root, "/sys/fs/cgroup/a/cpu.max", "250000 100000\n");
  put (other, "/sys/fs/cgroup/a/memory.max", "3000\n");
  CU_ASSERT_EQUAL (hass_limits_memory (root), 3000);
  drop (root, "/proc/self/cgroup");
  CU_ASSERT_EQUAL (hass_limits_memory (root), 3000);
  CU_ASSERT_EQUAL (hass_limits_cpus (root), 2.5);
  put (other, "/proc/self/cgroup", "0::/elsewhere\n");
  CU_ASSERT_TRUE (isinf (hass_limits_memory (other)));
  machine_free (root);
  machine_free (other);
}

static void
unknown_limit (void)
{
  CU_ASSERT_TRUE (isinf (hass_limits_of (-1)));
}

/* No more than the machine has. */
static void
memory_of_this_process (void)
{
  guint64 machine
      = (guint64)sysconf (_SC_PHYS_PAGES) * (guint64)sysconf (_SC_PAGESIZE);
  CU_ASSERT_TRUE (hass_memory_bytes () > 0);
  CU_ASSERT_TRUE (hass_memory_bytes () <= machine);
}

HASS_TEST_SUITE (
    limits, { "threads are allowed where all limits are far", far_limits },
    { "no threads are allowed near a limit", near_limits },
    { "nor near that of a cgroup", near_cgroup },
    { "nor near that of the user", user_limit },
    { "the least limit of CPUs counts", cpus },
    { "the least limit of memory counts", memory },
    { "the process's cgroups are read once", read_once },
    { "a limit that the kernel does not know is none", unknown_limit },
    { "no more memory than the machine has", memory_of_this_process })
