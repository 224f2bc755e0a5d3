/* SPDX-License-Identifier: MIT */
/* memory.c: see memory.h.
   Thread safety: see memory.h. */
#include "memory.h"

#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Returns: the number in a file; G_MAXUINT64: there is no file, or it says
   "max". Groups of version 1 say 2^63 less a page where nothing is bounded. */
static guint64
read_bound (const char *folder, const char *name)
{
  g_autofree char *path = g_build_filename (folder, name, NULL);
  g_autofree char *text = NULL;
  guint64 bytes;
  if (!g_file_get_contents (path, &text, NULL, NULL)
      || !g_ascii_string_to_unsigned (g_strstrip (text), 10, 1, G_MAXINT64 / 2,
                                      &bytes, NULL))
    return G_MAXUINT64;
  return bytes;
}

guint64
hass_memory_cgroup_bytes (const char *own, const char *mount)
{
  guint64 least = read_bound (mount, "memory/memory.limit_in_bytes");
  g_autofree char *text = NULL;
  if (!g_file_get_contents (own, &text, NULL, NULL))
    return least;
  /* version 2, "0::/the/path"; each group on the way down has its bound */
  const char *line
      = g_str_has_prefix (text, "0::") ? text : strstr (text, "\n0::");
  line = line ? strstr (line, "0::") + 3 : "/";
  g_autofree char *path = g_strndup (line, strcspn (line, "\n"));
  for (char *end; (end = strrchr (path, '/')); *end = '\0')
    {
      g_autofree char *folder = g_strconcat (mount, path, NULL);
      least = MIN (least, read_bound (folder, "memory.max"));
      least = MIN (least, read_bound (folder, "memory.high"));
    }
  least = MIN (least, read_bound (mount, "memory.max"));
  return MIN (least, read_bound (mount, "memory.high"));
}

static guint64
rlimit_bytes (int what)
{
  struct rlimit limit;
  if (getrlimit (what, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return G_MAXUINT64;
  return limit.rlim_cur;
}

/* Returns: bytes of memory that this process may use: of the machine, of its
   control groups and by its limits, as they were when this was first asked. */
guint64
hass_memory_bytes (void)
{
  static gsize known;
  if (g_once_init_enter (&known))
    {
      guint64 bytes
          = (guint64)sysconf (_SC_PHYS_PAGES) * (guint64)sysconf (_SC_PAGESIZE);
      guint64 group
          = hass_memory_cgroup_bytes ("/proc/self/cgroup", "/sys/fs/cgroup");
      bytes = MIN (bytes, group);
      bytes = MIN (bytes, rlimit_bytes (RLIMIT_AS));
      bytes = MIN (bytes, rlimit_bytes (RLIMIT_DATA));
      g_once_init_leave (&known, (gsize)MAX (bytes, 1));
    }
  return known;
}
