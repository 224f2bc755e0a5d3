/* SPDX-License-Identifier: MIT */
/* profile_names.c: what the profile store, the machine, farms and devices are
   called.
   Thread safety: any thread, while no thread changes the environment. */
#include "profile-private.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define UNNAMED "farm"
#define MAX_NAME 255 /* bytes of a name that is kept */

char *
hass_profile_path (void)
{
  const char *value = g_getenv ("HASS_PROFILE");
  if (!value || !*value)
    return g_build_filename (g_get_user_cache_dir (), "hass", "profile-v1.txt",
                             NULL);
  if (strcmp (value, "off") == 0 || strcmp (value, "0") == 0)
    return NULL;
  return g_strdup (value);
}

/* The first CPU's model; there may be hundreds, of which the kernel would
   ask each for its clock. */
static char *
cpu_model (void)
{
  char text[4096] = "";
  int fd = open ("/proc/cpuinfo", O_RDONLY | O_CLOEXEC);
  if (fd >= 0)
    {
      gssize n = read (fd, text, sizeof text - 1);
      text[MAX (n, 0)] = 0;
      close (fd);
    }
  const char *line = strstr (text, "model name");
  const char *colon = line ? strchr (line, ':') : NULL;
  if (colon)
    return g_strstrip (g_strndup (colon + 1, strcspn (colon + 1, "\n")));
  struct utsname system;
  return g_strdup (uname (&system) == 0 ? system.machine : "unknown CPU");
}

const char *
hass_profile_machine (void)
{
  static char *machine;
  static gsize once;
  if (g_once_init_enter (&once))
    {
      g_autofree char *model = cpu_model ();
      machine = g_strdup_printf ("%s, %s, %ld CPUs", g_get_host_name (), model,
                                 sysconf (_SC_NPROCESSORS_ONLN));
      g_once_init_leave (&once, 1);
    }
  return machine;
}

/* Farms of different programs may have the same name. A program is known by
   the name of its file, so that it is the same when it has been built again. */
static char *
key_of (const char *farm_name)
{
  return g_strdup_printf ("%.*s/%s", MAX_NAME, program_invocation_short_name,
                          farm_name);
}

/* An entry for the device, without samples. */
HassProfileEntry *
hass_profile_entry_new (const HassStrategyEnv *env, guint device)
{
  const HassDeviceTraits *t = &env->devices[device];
  HassProfileEntry *e = g_new0 (HassProfileEntry, 1);
  e->machine = g_strdup (hass_profile_machine ());
  e->farm = key_of (env->farm_name);
  e->kind = env->farm;
  e->cost = env->cost;
  e->device = g_strndup (t->name, MAX_NAME);
  e->model = g_strdup_printf ("%.*s%s%u cores, width %" G_GUINT64_FORMAT,
                              MAX_NAME, t->model ? t->model : "",
                              t->model ? ", " : "", t->cores, t->width);
  return e;
}

/* Is a farm of this name remembered? */
gboolean
hass_profile_wanted (const char *farm_name)
{
  return farm_name && strcmp (farm_name, UNNAMED) != 0
         && strlen (farm_name) <= MAX_NAME;
}
