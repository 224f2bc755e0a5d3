/* SPDX-License-Identifier: MIT */
/* names.c: what the profile store, the machine, farms and devices are called.
   Thread safety: any thread, while no thread changes the environment. */
#include "profile-private.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Names of farms, pipelines and dataflows that the user gave no name: different
   ones have them, so they are not remembered. */
#define UNNAMED_FARM "farm"
#define UNNAMED_PIPELINE "pipeline"
#define UNNAMED_DATAFLOW "dataflow"
/* Most bytes of a name in the store. A guess; it bounds the length of a line.
 */
#define MAX_NAME 255

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

/* Returns the model of the first CPU. Only the beginning of /proc/cpuinfo is
   read, because the kernel asks each of maybe hundreds of CPUs for its clock
   when their entries are read. */
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

/* Returns the name of a farm in the store. It includes the program, because
   farms of different programs may have the same name; the program is known by
   the name of its file, which stays the same when it is built again. */
char *
hass_profile_farm_key (const char *farm_name)
{
  return g_strdup_printf ("%.*s/%s", MAX_NAME, program_invocation_short_name,
                          farm_name);
}

/* Returns a new entry of the profile store (the samples of one device in one
   farm on this machine), without samples. */
HassProfileEntry *
hass_profile_entry_new (const HassStrategyEnv *env, guint device)
{
  const HassDeviceTraits *t = &env->devices[device];
  HassProfileEntry *e = g_new0 (HassProfileEntry, 1);
  e->machine = g_strdup (hass_profile_machine ());
  e->farm = hass_profile_farm_key (env->farm_name);
  e->kind = env->farm;
  e->cost = env->cost;
  e->device = g_strndup (t->name, MAX_NAME);
  e->model = g_strdup_printf ("%.*s%s%u cores, width %" G_GUINT64_FORMAT,
                              MAX_NAME, t->model ? t->model : "",
                              t->model ? ", " : "", t->cores, t->width);
  return e;
}

/* Returns: TRUE if the store remembers farms of this name. */
gboolean
hass_profile_wanted (const char *farm_name)
{
  return farm_name && strcmp (farm_name, UNNAMED_FARM) != 0
         && strcmp (farm_name, UNNAMED_PIPELINE) != 0
         && strcmp (farm_name, UNNAMED_DATAFLOW) != 0
         && strlen (farm_name) <= MAX_NAME;
}
