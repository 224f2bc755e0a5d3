/* SPDX-License-Identifier: MIT */
/* test_memory.c: how much memory a process may use.
   Thread safety: one thread. */
#include <glib/gstdio.h>
#include <unistd.h>

#include "device/cpu/memory.h"
#include "hass_test.h"

/* Files below a folder as the kernel would show control groups. */
typedef struct
{
  char *folder, *own;
} Groups;

static void
put (const Groups *g, const char *name, const char *text)
{
  g_autofree char *path = g_build_filename (g->folder, name, NULL);
  g_autofree char *parent = g_path_get_dirname (path);
  CU_ASSERT_EQUAL (g_mkdir_with_parents (parent, 0700), 0);
  CU_ASSERT_TRUE (g_file_set_contents (path, text, -1, NULL));
}

static Groups
groups_new (void)
{
  Groups g = { .folder = g_dir_make_tmp ("hass-XXXXXX", NULL) };
  CU_ASSERT_PTR_NOT_NULL_FATAL (g.folder);
  g.own = g_build_filename (g.folder, "own", NULL);
  return g;
}

/* Removes what is in the folder, which is never deep. */
static void
groups_clear (Groups *g)
{
  static const char *const names[] = { "own",
                                       "a/b/memory.max",
                                       "a/b/memory.high",
                                       "a/memory.max",
                                       "memory.max",
                                       "memory/memory.limit_in_bytes",
                                       "a/b",
                                       "a",
                                       "memory" };
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autofree char *path = g_build_filename (g->folder, names[i], NULL);
      g_remove (path);
    }
  CU_ASSERT_EQUAL (g_rmdir (g->folder), 0);
  g_free (g->folder);
  g_free (g->own);
}

static void
least_of_groups (void)
{
  Groups g = groups_new ();
  CU_ASSERT_EQUAL (hass_memory_cgroup_bytes (g.own, g.folder), G_MAXUINT64);
  put (&g, "own", "1:name=x:/y\n0::/a/b\n");
  CU_ASSERT_EQUAL (hass_memory_cgroup_bytes (g.own, g.folder), G_MAXUINT64);
  put (&g, "a/b/memory.max", "max\n");
  put (&g, "a/memory.max", "3000\n");
  CU_ASSERT_EQUAL (hass_memory_cgroup_bytes (g.own, g.folder), 3000);
  put (&g, "a/b/memory.high", "2000\n");
  CU_ASSERT_EQUAL (hass_memory_cgroup_bytes (g.own, g.folder), 2000);
  put (&g, "memory.max", "1000\n");
  CU_ASSERT_EQUAL (hass_memory_cgroup_bytes (g.own, g.folder), 1000);
  groups_clear (&g);
}

static void
first_version (void)
{
  Groups g = groups_new ();
  put (&g, "memory/memory.limit_in_bytes", "9223372036854771712\n");
  CU_ASSERT_EQUAL (hass_memory_cgroup_bytes (g.own, g.folder), G_MAXUINT64);
  put (&g, "memory/memory.limit_in_bytes", "4000\n");
  CU_ASSERT_EQUAL (hass_memory_cgroup_bytes (g.own, g.folder), 4000);
  groups_clear (&g);
}

static void
of_this_process (void)
{
  guint64 machine
      = (guint64)sysconf (_SC_PHYS_PAGES) * (guint64)sysconf (_SC_PAGESIZE);
  CU_ASSERT_TRUE (hass_memory_bytes () > 0);
  CU_ASSERT_TRUE (hass_memory_bytes () <= machine);
}

HASS_TEST_SUITE (memory,
                 { "the least bound of the control groups on the way holds",
                   least_of_groups },
                 { "control groups of version 1 count, too", first_version },
                 { "no more than the machine has", of_this_process })
