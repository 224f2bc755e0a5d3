/* SPDX-License-Identifier: MIT */
/* remembered.c: stores which GPUs were found, for later processes.

   DESIGN. A key file in the user's cache, hass/gpus, contains what a farm
   needs to know about a GPU before it is started, and how long a start takes,
   and the conditions under which it is valid: the machine's boot, the device
   nodes that this process sees, the variables that choose among them, the
   driver, the runtime and the version of the keys. The file is used only if all
   conditions are the same. Only GPUs that were found are stored, never that
   there are none. A file that hass has written and that is damaged or invalid
   is replaced when GPUs are next looked for; any other file is left alone.
   HASS_PROFILE=off switches storing off, as it does for the profile store.

   Thread safety: calls one at a time. */
#include "gpus-private.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hass/error.h"

#define HEADER "# hass-gpus 1\n"
/* Last line of the file: a file without it was cut off and is damaged. */
#define FOOTER "# end\n"
/* Version of the keys; to be increased when a key of a GPU is added. */
#define KEYS 3
#define MAX_BYTES (1 << 16)
/* Highest number of multiprocessors, and of threads on each, that is accepted
   in the file; larger ones mean that it is damaged. */
#define MOST_CORES 65536
#define MOST_MAJOR 1000
/* Longest start, in ns, that is accepted: an hour. */
#define MOST_START_NS G_GINT64_CONSTANT (3600000000000)
/* A start that differs from the one in the file by less than this part of it is
   not written. A guess: less, and the file is written more often; more, and the
   prediction is worse. */
#define START_DIFFERS 0.25

/* -- What it depends on ------------------------------------------------- */

/* Returns: the first line of a file of /proc, "" if it cannot be read; free
   with g_free(). */
static char *
first_line (const char *path)
{
  char text[256] = "";
  int fd = open (path, O_RDONLY | O_CLOEXEC);
  gssize n = fd >= 0 ? read (fd, text, sizeof text - 1) : 0;
  if (fd >= 0)
    close (fd);
  text[MAX (n, 0)] = '\0';
  return g_strndup (text, strcspn (text, "\n"));
}

static char *
variable (const char *name)
{
  const char *value = g_getenv (name);
  return value ? g_strconcat ("is ", value, NULL) : g_strdup ("is not set");
}

static gint
by_name (gconstpointer a, gconstpointer b)
{
  return strcmp (*(char *const *)a, *(char *const *)b);
}

/* Returns: the sorted names of the GPUs' device files in /dev, as "nvidia0
   nvidia1"; free with g_free(). The names are part of what the stored list
   depends on, since a container may see only some of the GPUs. */
static char *
nodes (void)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GDir) dir = g_dir_open ("/dev", 0, NULL);
  const char *name;
  while (dir && (name = g_dir_read_name (dir)))
    if (g_str_has_prefix (name, "nvidia"))
      g_ptr_array_add (names, g_strdup (name));
  g_ptr_array_sort (names, by_name);
  g_ptr_array_add (names, NULL);
  return g_strjoinv (" ", (char **)names->pdata);
}

static void
set_ground (GKeyFile *file)
{
  const char *const variables[] = { "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER",
                                    "NVIDIA_VISIBLE_DEVICES" };
  g_autofree char *boot = first_line ("/proc/sys/kernel/random/boot_id");
  g_autofree char *driver = first_line ("/proc/driver/nvidia/version");
  g_autofree char *seen = nodes ();
  g_key_file_set_string (file, "ground", "boot", boot);
  g_key_file_set_string (file, "ground", "driver", driver);
  g_key_file_set_string (file, "ground", "nodes", seen);
  g_key_file_set_integer (file, "ground", "runtime", hass_cudart ()->version);
  g_key_file_set_integer (file, "ground", "keys", KEYS);
  for (guint i = 0; i < G_N_ELEMENTS (variables); i++)
    {
      g_autofree char *value = variable (variables[i]);
      g_key_file_set_string (file, "ground", variables[i], value);
    }
}

static gboolean
same_ground (GKeyFile *file)
{
  g_autoptr (GKeyFile) now = g_key_file_new ();
  set_ground (now);
  g_auto (GStrv) keys = g_key_file_get_keys (now, "ground", NULL, NULL);
  gboolean same = TRUE;
  for (char **k = keys; *k && same; k++)
    {
      g_autofree char *a = g_key_file_get_string (now, "ground", *k, NULL);
      g_autofree char *b = g_key_file_get_string (file, "ground", *k, NULL);
      same = g_strcmp0 (a, b) == 0;
    }
  return same;
}

/* -- The file ----------------------------------------------------------- */

/* Returns: the path of the file that stores the GPUs found, free with
   g_free(); NULL if HASS_PROFILE turns storing off. */
static char *
file_path (void)
{
  const char *profile = g_getenv ("HASS_PROFILE");
  const char *cache = g_getenv ("XDG_CACHE_HOME");
  if (g_strcmp0 (profile, "off") == 0 || g_strcmp0 (profile, "0") == 0)
    return NULL;
  if (!cache || !*cache)
    cache = g_get_user_cache_dir ();
  return g_build_filename (cache, "hass", "gpus", NULL);
}

static void
blame (const char *path, const char *why)
{
  static gboolean blamed; /* needs no lock: callers hold look.c's mutex */
  if (!blamed)
    g_printerr ("hass: remembered GPUs are ignored: %s %s; HASS_PROFILE=off "
                "remembers none\n",
                path, why);
  blamed = TRUE;
}

/* Returns: the text of the file at @path if hass has written it (it begins
   with HEADER), free with g_free(); else NULL. Sets @other if the path holds
   something else, which must not be replaced. Never blocks, not even on a
   pipe. */
static char *
load (const char *path, gboolean *other)
{
  struct stat s;
  char *text = NULL;
  int fd = open (path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  *other = fd < 0 && errno != ENOENT && errno != ENOTDIR;
  if (fd >= 0 && fstat (fd, &s) == 0 && S_ISREG (s.st_mode)
      && s.st_size <= MAX_BYTES)
    {
      text = g_malloc0 (s.st_size + 1);
      if (read (fd, text, s.st_size) < 0 || !g_str_has_prefix (text, HEADER))
        g_clear_pointer (&text, g_free);
    }
  if (fd >= 0)
    close (fd);
  *other |= fd >= 0 && !text;
  if (*other)
    blame (path, "is not a file of ours, of this version");
  return text;
}

static gboolean
get_text (GKeyFile *file, const char *group, const char *key, char *text,
          gsize size)
{
  g_autofree char *value = g_key_file_get_string (file, group, key, NULL);
  return value && g_strlcpy (text, value, size) < size;
}

static gboolean
get_number (GKeyFile *file, const char *group, const char *key, guint64 least,
            guint64 most, guint64 *n)
{
  g_autoptr (GError) error = NULL;
  *n = g_key_file_get_uint64 (file, group, key, &error);
  return !error && *n >= least && *n <= most;
}

static gboolean
read_gpu (GKeyFile *file, guint index, HassCudaProperties *p)
{
  guint64 cores, threads, compute;
  g_autofree char *group = g_strdup_printf ("gpu%u", index);
  gboolean ok
      = get_text (file, group, "name", p->name, sizeof p->name)
        && get_text (file, group, "pci", p->pci, sizeof p->pci)
        && get_number (file, group, "multiprocessors", 1, MOST_CORES, &cores)
        && get_number (file, group, "threads", 1, MOST_CORES, &threads)
        && get_number (file, group, "memory", 1, G_MAXUINT64, &p->memory_bytes)
        && get_number (file, group, "compute-major", 0, MOST_MAJOR, &compute);
  if (ok)
    {
      p->multiprocessors = (guint)cores;
      p->threads_per_multiprocessor = (guint)threads;
      p->compute_major = (guint)compute;
    }
  return ok;
}

/* Parses the text of the file of stored GPUs into @list. Returns: whether the
   list is usable (REMEMBERED), written under other conditions, such as another
   driver (ELSEWHERE), or damaged; the list is complete only if it is usable. */
HassGpusMemory
hass_gpus_parse (const char *text, HassGpuList *list)
{
  guint64 n = 0, start_ns = 0;
  g_autoptr (GKeyFile) file = g_key_file_new ();
  gboolean ok = g_str_has_suffix (text, FOOTER)
                && g_key_file_load_from_data (file, text, strlen (text),
                                              G_KEY_FILE_NONE, NULL);
  if (ok && !same_ground (file))
    return HASS_GPUS_ELSEWHERE;
  ok = ok && get_number (file, "gpus", "count", 1, HASS_MOST_GPUS, &n)
       && get_number (file, "gpus", "start-ns", 0, MOST_START_NS, &start_ns);
  for (guint i = 0; i < n && ok; i++)
    ok = read_gpu (file, i, &list->gpus[i]);
  list->n = (guint)n;
  list->start_ns = (gint64)start_ns;
  return ok ? HASS_GPUS_REMEMBERED : HASS_GPUS_DAMAGED;
}

/* Reads the file of stored GPUs into @list. Sets @ours if the file may be
   replaced: it was written by hass or does not exist. Returns: FALSE if no
   list is stored or the stored one does not fit this machine, driver and
   boot. */
static gboolean
read_list (const char *path, HassGpuList *list, gboolean *ours)
{
  gboolean other;
  g_autofree char *text = load (path, &other);
  *ours = !other;
  if (!text)
    return FALSE;
  HassGpusMemory found = hass_gpus_parse (text, list);
  if (found == HASS_GPUS_DAMAGED)
    blame (path, "is damaged");
  return found == HASS_GPUS_REMEMBERED;
}

/* Returns: the text of the file that stores the GPUs of @list, with the
   conditions under which they were found; free with g_free(). */
char *
hass_gpus_text (const HassGpuList *list)
{
  g_autoptr (GKeyFile) file = g_key_file_new ();
  set_ground (file);
  g_key_file_set_uint64 (file, "gpus", "count", list->n);
  g_key_file_set_int64 (file, "gpus", "start-ns", list->start_ns);
  for (guint i = 0; i < list->n; i++)
    {
      const HassCudaProperties *p = &list->gpus[i];
      g_autofree char *group = g_strdup_printf ("gpu%u", i);
      g_key_file_set_string (file, group, "name", p->name);
      g_key_file_set_string (file, group, "pci", p->pci);
      g_key_file_set_uint64 (file, group, "multiprocessors",
                             p->multiprocessors);
      g_key_file_set_uint64 (file, group, "threads",
                             p->threads_per_multiprocessor);
      g_key_file_set_uint64 (file, group, "memory", p->memory_bytes);
      g_key_file_set_uint64 (file, group, "compute-major", p->compute_major);
    }
  g_autofree char *keys = g_key_file_to_data (file, NULL, NULL);
  return g_strconcat (HEADER, keys, FOOTER, NULL);
}

static void
write_list (const char *path, const HassGpuList *list)
{
  g_autofree char *folder = g_path_get_dirname (path);
  g_autofree char *beside = g_strconcat (path, ".XXXXXX", NULL);
  g_autofree char *text = hass_gpus_text (list);
  gssize length = (gssize)strlen (text);
  g_mkdir_with_parents (folder, 0700);
  /* The text is written to a temporary file in the same folder, which then
     replaces the old one by renaming: a reader sees either the old file or the
     new one, never a part. */
  int fd = g_mkstemp_full (beside, O_WRONLY | O_CLOEXEC, 0600);
  if (fd < 0)
    return; /* not an error: the GPUs are looked for again next time */
  gboolean ok = write (fd, text, length) == length;
  ok = close (fd) == 0 && ok;
  if (!ok || rename (beside, path) != 0)
    unlink (beside);
}

/* -- For look.c ----------------------------------------------------- */

gboolean
hass_gpu_alike (const HassCudaProperties *a, const HassCudaProperties *b)
{
  return strcmp (a->name, b->name) == 0 && strcmp (a->pci, b->pci) == 0
         && a->multiprocessors == b->multiprocessors
         && a->threads_per_multiprocessor == b->threads_per_multiprocessor
         && a->memory_bytes == b->memory_bytes
         && a->compute_major == b->compute_major;
}

/* Sets @list to the GPUs that an earlier process found and stored. Returns:
   FALSE if none are stored or they may differ from the present ones. */
gboolean
hass_gpus_recall (HassGpuList *list)
{
  gboolean ours;
  g_autofree char *path = file_path ();
  return path && read_list (path, list, &ours);
}

static gboolean
similar (gint64 a_ns, gint64 b_ns)
{
  return fabs ((double)(a_ns - b_ns)) <= START_DIFFERS * (double)b_ns;
}

/* Stores the GPUs of @list, found just now, for later processes; with an empty
   list removes the stored one. If the time of a start is not known, it remains
   that of the stored list. The file is left alone if it would not change, or if
   it was not written by hass. */
void
hass_gpus_remember (HassGpuList *list)
{
  gboolean ours;
  g_autofree char *path = file_path ();
  g_autofree HassGpuList *before = g_new0 (HassGpuList, 1);
  if (!path)
    return;
  gboolean same = read_list (path, before, &ours) && before->n == list->n;
  for (guint i = 0; i < list->n && same; i++)
    same = hass_gpu_alike (&before->gpus[i], &list->gpus[i]);
  if (list->start_ns == 0 && same)
    list->start_ns = before->start_ns;
  if (!ours || (same && similar (list->start_ns, before->start_ns)))
    return;
  if (list->n == 0)
    unlink (path);
  else
    write_list (path, list);
}
