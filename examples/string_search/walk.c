/* SPDX-License-Identifier: MIT */
/* walk.c: walks directories as grep -r does: links that are found are passed
   over, links that are named are followed, and only regular files are read
   below a directory.

   DESIGN. A stack of open directories, each with its entries sorted so that
   whole paths ascend bytewise: a directory sorts as its name and a slash.

   Thread safety: one thread at a time. */
#include "walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

typedef struct
{
  char *path;
  DIR *dir;
  GPtrArray *entries; /* names, sorted; a directory's ends in a slash */
  guint next;
} Level;

struct Walk
{
  char **paths;
  guint next;
  gboolean working_directory; /* no operand: names without ./ */
  gboolean names_files;
  GArray *levels; /* Level */
  struct stat out;
  gboolean out_is_file;
};

void
file_item_free (FileItem *item)
{
  g_free (item->path);
  g_free (item->error);
  g_free (item->open_as);
  g_free (item);
}

static FileItem *
failed (const char *path, const char *why)
{
  FileItem *item = g_new0 (FileItem, 1);
  item->path = g_strdup (path);
  item->error = g_strdup_printf ("%s: %s", path, why);
  return item;
}

Walk *
walk_new (char **paths)
{
  Walk *walk = g_new0 (Walk, 1);
  walk->paths = paths;
  walk->working_directory = !paths[0];
  walk->names_files = g_strv_length (paths) > 1;
  walk->levels = g_array_new (FALSE, FALSE, sizeof (Level));
  walk->out_is_file = fstat (1, &walk->out) == 0 && S_ISREG (walk->out.st_mode);
  return walk;
}

static void
pop (Walk *walk)
{
  Level *level = &g_array_index (walk->levels, Level, walk->levels->len - 1);
  g_free (level->path);
  closedir (level->dir);
  g_ptr_array_unref (level->entries);
  g_array_set_size (walk->levels, walk->levels->len - 1);
}

void
walk_free (Walk *walk)
{
  while (walk->levels->len > 0)
    pop (walk);
  g_array_unref (walk->levels);
  g_free (walk);
}

/* Shall names stand before lines? Known once the first item has come: there
   are several operands, or one that is a directory. */
gboolean
walk_names_files (const Walk *walk)
{
  return walk->names_files;
}

static gint
by_name (gconstpointer a, gconstpointer b)
{
  return strcmp (*(char *const *)a, *(char *const *)b);
}

static gboolean
is_directory (DIR *dir, const struct dirent *entry, gboolean *is_link)
{
  struct stat st;
  *is_link = entry->d_type == DT_LNK;
  if (entry->d_type != DT_UNKNOWN)
    return entry->d_type == DT_DIR;
  if (fstatat (dirfd (dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
    return FALSE;
  *is_link = S_ISLNK (st.st_mode);
  return S_ISDIR (st.st_mode);
}

/* Opens a directory; NULL, or a message when it cannot be read. */
static FileItem *
push (Walk *walk, const char *path, const char *shown)
{
  DIR *dir = opendir (path);
  if (!dir)
    return failed (path, g_strerror (errno));
  Level level
      = { g_strdup (shown), dir, g_ptr_array_new_with_free_func (g_free), 0 };
  struct dirent *entry;
  while ((entry = readdir (dir)))
    {
      gboolean is_link;
      if (strcmp (entry->d_name, ".") == 0 || strcmp (entry->d_name, "..") == 0)
        continue;
      gboolean is_dir = is_directory (dir, entry, &is_link);
      if (!is_link)
        g_ptr_array_add (level.entries,
                         g_strconcat (entry->d_name, is_dir ? "/" : "", NULL));
    }
  g_ptr_array_sort (level.entries, by_name);
  g_array_append_val (walk->levels, level);
  return NULL;
}

static FileItem *
found (Walk *walk, const char *path, const struct stat *st)
{
  if (walk->out_is_file && st->st_dev == walk->out.st_dev
      && st->st_ino == walk->out.st_ino)
    {
      FileItem *item = g_new0 (FileItem, 1);
      item->path = g_strdup (path);
      item->error
          = g_strdup_printf ("input file '%s' is also the output", path);
      return item;
    }
  FileItem *item = g_new0 (FileItem, 1);
  item->path = g_strdup (path);
  item->is_regular = S_ISREG (st->st_mode);
  item->size = item->is_regular ? (guint64)st->st_size : 0;
  return item;
}

/* The next entry of the innermost directory. NULL: look again. */
static FileItem *
next_entry (Walk *walk)
{
  Level *level = &g_array_index (walk->levels, Level, walk->levels->len - 1);
  if (level->next == level->entries->len)
    {
      pop (walk);
      return NULL;
    }
  const char *name = level->entries->pdata[level->next++];
  const char *slash = "";
  gsize n = strlen (level->path);
  if (n > 0 && level->path[n - 1] != '/')
    slash = "/";
  g_autofree char *path = g_strconcat (level->path, slash, name, NULL);
  n = strlen (path);
  if (path[n - 1] == '/')
    {
      path[n - 1] = '\0';
      return push (walk, path, path);
    }
  struct stat st;
  /* Relative to the directory: the kernel need not walk the whole path. */
  if (fstatat (dirfd (level->dir), name, &st, AT_SYMLINK_NOFOLLOW) != 0)
    return failed (path, g_strerror (errno));
  return S_ISREG (st.st_mode) ? found (walk, path, &st) : NULL;
}

static FileItem *
next_operand (Walk *walk)
{
  struct stat st;
  if (walk->working_directory)
    {
      walk->working_directory = FALSE;
      walk->names_files = TRUE;
      return push (walk, ".", "");
    }
  const char *path = walk->paths[walk->next++];
  if (strcmp (path, "-") == 0)
    {
      FileItem *item = g_new0 (FileItem, 1);
      item->path = g_strdup ("(standard input)");
      item->open_as = g_strdup ("/dev/stdin");
      return item;
    }
  if (stat (path, &st) != 0)
    return failed (path, g_strerror (errno));
  if (!S_ISDIR (st.st_mode))
    return found (walk, path, &st);
  walk->names_files = TRUE;
  return push (walk, path, path);
}

/* The next file, or NULL after the last. The caller frees it. */
FileItem *
walk_next (Walk *walk)
{
  FileItem *item = NULL;
  while (!item)
    {
      if (walk->levels->len > 0)
        item = next_entry (walk);
      else if (walk->working_directory || walk->paths[walk->next])
        item = next_operand (walk);
      else
        return NULL;
    }
  return item;
}
