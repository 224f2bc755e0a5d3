/* SPDX-License-Identifier: MIT */
/* registry.c: the known kinds of devices, and which of them farms may use.
   Thread safety: any thread; one mutex around the table, taken last. */
#include "kinds.h"

#include <pthread.h>
#include <string.h>

#include "hass/error.h"
#include "pool/struct_size.h"

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static HassDeviceKindOps table[HASS_MOST_KINDS]; /* entries are only added */
static guint n_kinds;                            /* guarded by table_lock */

static gboolean
valid_name (const char *name)
{
  gsize allowed
      = name ? strspn (name, "abcdefghijklmnopqrstuvwxyz0123456789-") : 0;
  return allowed > 0 && name[allowed] == '\0' && strcmp (name, "cpu") != 0
         && strcmp (name, "gpu") != 0;
}

static gint
find_locked (const char *name)
{
  for (guint i = 0; i < n_kinds; i++)
    if (strcmp (table[i].name, name) == 0)
      return (gint)i;
  return -1;
}

static gboolean
refuse (const HassDeviceKindOps *ops, const char *why, GError **error)
{
  g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID, "device kind \"%s\" %s",
               ops->name ? ops->name : "(null)", why);
  return FALSE;
}

static gboolean
add_locked (const HassDeviceKindOps *given, GError **error)
{
  HassDeviceKindOps ops;
  if (!hass_struct_read (&ops, sizeof ops,
                         HASS_SIZE_UP_TO (HassDeviceKindOps, destroy), given,
                         "HassDeviceKindOps", error))
    return FALSE;
  if (!valid_name (ops.name))
    return refuse (&ops, "must be [a-z0-9-]+, and not cpu or gpu", error);
  if (!ops.count || !ops.create || !ops.destroy)
    return refuse (&ops, "lacks count, create or destroy", error);
  if (find_locked (ops.name) >= 0)
    return refuse (&ops, "is already registered", error);
  if (n_kinds == HASS_MOST_KINDS)
    return refuse (&ops, "is one too many", error);
  table[n_kinds++] = ops;
  return TRUE;
}

/* Locks the table of device kinds; the first call also registers the library's
   own kinds. */
static void
lock (void)
{
  pthread_mutex_lock (&table_lock);
  for (guint i = 0; n_kinds == 0 && hass_builtin_kinds[i]; i++)
    {
      GError *error = NULL;
      if (!add_locked (hass_builtin_kinds[i], &error))
        g_error ("%s", error->message); /* a defect of builtin.c */
    }
}

gboolean
hass_device_kind_register (const HassDeviceKindOps *ops, GError **error)
{
  lock ();
  gboolean ok = add_locked (ops, error);
  pthread_mutex_unlock (&table_lock);
  return ok;
}

/* Returns: the kind with this index; NULL if there is none. */
const HassDeviceKindOps *
hass_device_kind_get (guint index)
{
  lock ();
  const HassDeviceKindOps *ops = index < n_kinds ? &table[index] : NULL;
  pthread_mutex_unlock (&table_lock);
  return ops;
}

/* Returns: the index of the kind with this name; -1 if there is none. */
gint
hass_device_kind_find (const char *name)
{
  lock ();
  gint index = find_locked (name);
  pthread_mutex_unlock (&table_lock);
  return index;
}

static char *
list_names (void)
{
  GString *names = g_string_new (NULL);
  const HassDeviceKindOps *ops;
  for (guint i = 0; (ops = hass_device_kind_get (i)); i++)
    g_string_append_printf (names, "%s%s", i > 0 ? ", " : "", ops->name);
  return g_string_free (names, FALSE);
}

/* Sets @mask to the kinds of devices that HASS_DEVICES names, separated by
   commas; bit i stands for kind i. If the variable is not set, all kinds are
   chosen. Returns: FALSE with HASS_ERROR_INVALID for an unknown name. */
gboolean
hass_device_kinds_chosen (guint32 *mask, GError **error)
{
  const char *text = g_getenv ("HASS_DEVICES");
  *mask = G_MAXUINT32;
  if (!text || !*text)
    return TRUE;
  g_auto (GStrv) names = g_strsplit (text, ",", -1);
  *mask = 0;
  for (char **n = names; *n; n++)
    {
      gint index = hass_device_kind_find (*n);
      if (index < 0)
        {
          g_autofree char *known = list_names ();
          g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID,
                       "HASS_DEVICES='%s': there is no kind '%s'; known are %s",
                       text, *n, known);
          return FALSE;
        }
      *mask |= 1u << index;
    }
  return TRUE;
}
