/* SPDX-License-Identifier: MIT */
/* machine.c: the machine that a recorded farm is replayed on: the recorded one,
   that one changed, or one from a platform file.
   Thread safety: one thread, until it is made and changed. */
#include "replay.h"

#include <math.h>
#include <string.h>

#include "hass/error.h"

/* -- Machines ----------------------------------------------------------- */

static guint
n_links (const HassPlatform *p)
{
  guint n = 1;
  for (guint i = 0; i < p->n_gpus; i++)
    n = MAX (n, p->gpus[i].link + 1);
  return n;
}

/* Returns: an index of the device's link. All devices of a live record have
   links of their own, since their costs include the waiting for others. */
static guint
link_of (const ReplayMachine *m, guint d)
{
  const HassPlatform *p = m->platform;
  for (guint i = p->has_cpu ? 1 : 0; i < d && !m->replay->farm->live; i++)
    if (m->traits[d].link > 0 && m->traits[i].link == m->traits[d].link)
      return p->gpus[i - (p->has_cpu ? 1 : 0)].link;
  return p->n_gpus;
}

static void
add_gpu (ReplayMachine *m, guint d)
{
  const Replay *r = m->replay;
  const ReplayDevice *v = &r->devices[d];
  HassPlatform *p = m->platform;
  guint link = link_of (m, m->n);
  HassGpuModel *gpu = &p->gpus[p->n_gpus++];
  *gpu
      = (HassGpuModel){ .name = g_strdup (m->traits[m->n].name),
                        .multiprocessors = MAX (r->farm->devices[d].cores, 1),
                        .width = MAX (v->width, 1),
                        .curve = v->curve,
                        .work_per_ns = 1,
                        .launch_ns = v->launch,
                        .link_ns = v->copy,
                        .h2d_bytes_per_ns = v->in_ns > 0 ? 1 / v->in_ns : 1e9,
                        .d2h_bytes_per_ns = v->out_ns > 0 ? 1 / v->out_ns : 1e9,
                        .link = link,
                        .duplex = TRUE,
                        .depth = r->farm->devices[d].max_in_flight };
}

/* Adds a device like device @d of the record. */
static void
add_device (ReplayMachine *m, guint d)
{
  const RecordFarm *f = m->replay->farm;
  m->traits = g_renew (HassDeviceTraits, m->traits, m->n + 1);
  m->known = g_renew (HassProfileRate, m->known, m->n + 1);
  m->source = g_renew (guint, m->source, m->n + 1);
  m->open = g_renew (double, m->open, m->n + 1);
  m->submit = g_renew (double, m->submit, m->n + 1);
  m->host = g_renew (double, m->host, m->n + 1);
  m->traits[m->n] = f->devices[d];
  m->known[m->n] = f->known[d];
  m->source[m->n] = d;
  m->open[m->n] = m->replay->devices[d].open;
  m->submit[m->n] = m->replay->devices[d].submit;
  m->host[m->n] = m->replay->devices[d].host;
  m->any_known |= f->known[d].runs > 0;
  if (f->devices[d].kind == HASS_DEVICE_GPU)
    {
      m->platform->gpus
          = g_renew (HassGpuModel, m->platform->gpus, m->platform->n_gpus + 1);
      add_gpu (m, d);
    }
  else
    {
      m->platform->has_cpu = TRUE;
      m->platform->cores = f->devices[d].cores;
      m->platform->core_work_per_ns = 1;
      m->platform->pull_ns = m->replay->devices[d].launch;
    }
  m->n++;
}

/* The recorded machine. */
ReplayMachine *
replay_machine (const Replay *replay)
{
  ReplayMachine *m = g_new0 (ReplayMachine, 1);
  m->replay = replay;
  m->platform = g_new0 (HassPlatform, 1);
  m->platform->name = g_strdup_printf ("replay of %s", replay->farm->path);
  m->strings = g_ptr_array_new_with_free_func (g_free);
  for (guint d = 0; d < replay->n_devices; d++)
    if (replay->devices[d].present)
      add_device (m, d);
  m->platform->n_links = n_links (m->platform);
  return m;
}

/* A machine from a file, with the rates of the recorded farm's work. */
ReplayMachine *
replay_machine_of (const Replay *replay, const char *path, GError **error)
{
  HassPlatform *platform = hass_platform_load (path, replay->farm->farm, error);
  if (!platform)
    return NULL;
  ReplayMachine *m = g_new0 (ReplayMachine, 1);
  m->replay = replay;
  m->platform = platform;
  m->other = TRUE;
  m->n = platform->has_cpu + platform->n_gpus;
  m->strings = g_ptr_array_new_with_free_func (g_free);
  return m;
}

void
replay_machine_free (ReplayMachine *m)
{
  hass_platform_free (m->platform);
  g_ptr_array_unref (m->strings);
  g_free (m->traits);
  g_free (m->known);
  g_free (m->source);
  g_free (m->open);
  g_free (m->submit);
  g_free (m->host);
  g_free (m);
}

/* -- Changes ------------------------------------------------------------ */

static gboolean G_GNUC_PRINTF (3, 4)
    refuse (const char *change, GError **error, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  g_autofree char *what = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID,
               "platform change '%s': %s", change, what);
  return FALSE;
}

static void
change_rate (ReplayMachine *m, guint d, double factor)
{
  HassPlatform *p = m->platform;
  guint first = p->has_cpu ? 1 : 0;
  if (d < first)
    p->core_work_per_ns *= factor;
  else
    p->gpus[d - first].work_per_ns *= factor;
  if (m->other)
    return;
  m->traits[d].work_per_ns *= factor;
  m->known[d].work_per_ns *= factor;
}

static void
change_link (ReplayMachine *m, guint d, double factor)
{
  HassGpuModel *gpu = &m->platform->gpus[d - (m->platform->has_cpu ? 1 : 0)];
  gpu->h2d_bytes_per_ns *= factor;
  gpu->d2h_bytes_per_ns *= factor;
  if (!m->other)
    m->traits[d].link_bytes_per_ns *= factor;
}

static void
change_latency (ReplayMachine *m, guint d, double factor)
{
  HassGpuModel *gpu = &m->platform->gpus[d - (m->platform->has_cpu ? 1 : 0)];
  gpu->launch_ns *= factor;
  gpu->link_ns *= factor;
  if (m->other)
    return;
  m->submit[d] *= factor;
  m->traits[d].latency_ns *= factor;
}

static void
change_cores (ReplayMachine *m, guint n)
{
  double factor = (double)n / m->platform->cores;
  m->platform->cores = n;
  if (m->other)
    return;
  m->traits[0].cores = n;
  m->traits[0].width = n;
  m->traits[0].work_per_ns *= factor;
  m->known[0].work_per_ns *= factor;
}

/* Further GPUs are like the first, with links of their own; fewer are the first
   ones. */
static gboolean
change_gpus (ReplayMachine *m, const char *change, guint n, GError **error)
{
  HassPlatform *p = m->platform;
  guint first = p->has_cpu ? 1 : 0;
  if (m->other)
    return refuse (change, error,
                   "a platform file says how many GPUs there "
                   "are");
  if (p->n_gpus == 0)
    return refuse (change, error, "the record has no GPU to be like");
  if (n == 0 && !p->has_cpu)
    return refuse (change, error, "no device would be left");
  while (p->n_gpus > n)
    {
      g_free (p->gpus[--p->n_gpus].name);
      m->n--;
    }
  while (p->n_gpus < n)
    {
      guint g = p->n_gpus;
      add_device (m, m->source[first]);
      char *name = g_strdup_printf ("gpu%u", g);
      g_ptr_array_add (m->strings, name);
      m->traits[first + g].name = name;
      m->traits[first + g].link = 0;
      g_free (p->gpus[g].name);
      p->gpus[g].name = g_strdup (name);
      p->gpus[g].link = p->n_links++;
    }
  return TRUE;
}

static gboolean
find_device (const ReplayMachine *m, const char *name, guint *d)
{
  const HassPlatform *p = m->platform;
  guint first = p->has_cpu ? 1 : 0;
  *d = 0;
  if (p->has_cpu && strcmp (name, "cpu") == 0)
    return TRUE;
  for (guint g = 0; g < p->n_gpus; g++)
    if (strcmp (name, p->gpus[g].name) == 0)
      {
        *d = first + g;
        return TRUE;
      }
  return FALSE;
}

/* A change of one device. */
typedef struct
{
  const char *text; /* as it was given */
  guint device;
  const char *what;
  double value;
  gboolean factor; /* the value multiplies what there is */
} Change;

static gboolean
apply (ReplayMachine *m, const Change *c, GError **error)
{
  const char *change = c->text, *what = c->what;
  guint d = c->device;
  double v = c->value;
  gboolean factor = c->factor;
  gboolean cpu = m->platform->has_cpu && d == 0;
  if (strcmp (what, "cores") == 0 && cpu)
    {
      if (factor || v != floor (v) || v < 1 || v > 4096)
        return refuse (change, error, "1 to 4096 cores are possible");
      change_cores (m, (guint)v);
      return TRUE;
    }
  if (strcmp (what, "open") == 0 && !cpu && !m->other)
    {
      if (factor)
        return refuse (change, error, "open is a number of ms");
      m->open[d] = v * 1e6;
      return TRUE;
    }
  if (!factor || !(v >= 1e-6 && v <= 1e6))
    return refuse (change, error,
                   "a factor from 1e-6 to 1e6 is needed, as in 2x");
  if (strcmp (what, "rate") == 0)
    change_rate (m, d, v);
  else if (strcmp (what, "link") == 0 && !cpu)
    change_link (m, d, v);
  else if (strcmp (what, "latency") == 0 && !cpu)
    change_latency (m, d, v);
  else
    return refuse (change, error,
                   "'%s' is not known; known are cpu.cores=N, cpu.rate=Fx, "
                   "gpus=N, gpuN.rate=Fx, gpuN.link=Fx, gpuN.latency=Fx, "
                   "gpuN.open=MS",
                   what);
  return TRUE;
}

/* "gpu0.rate=2x", "cpu.cores=4", "gpus=2", ... */
gboolean
replay_change (ReplayMachine *m, const char *change, GError **error)
{
  g_auto (GStrv) sides = g_strsplit (change, "=", 2);
  char *end = NULL;
  guint d;
  if (!sides[0] || !sides[1])
    return refuse (change, error,
                   "device.property=value is needed, as in "
                   "gpu0.rate=2x");
  double v = g_ascii_strtod (sides[1], &end);
  gboolean factor = *end == 'x';
  if (end == sides[1] || end[factor] != '\0' || !isfinite (v) || v < 0)
    return refuse (change, error, "'%s' is neither a number nor a factor",
                   sides[1]);
  if (strcmp (sides[0], "gpus") == 0)
    {
      if (factor || v != floor (v) || v > 64)
        return refuse (change, error, "0 to 64 GPUs are possible");
      return change_gpus (m, change, (guint)v, error);
    }
  char *dot = strchr (sides[0], '.');
  if (dot)
    *dot = '\0';
  if (!dot || !find_device (m, sides[0], &d))
    return refuse (change, error,
                   "there is no device '%s'; there are %s%u "
                   "GPUs, gpu0 and on",
                   sides[0], m->platform->has_cpu ? "cpu and " : "",
                   m->platform->n_gpus);
  return apply (m, &(Change){ change, d, dot + 1, v, factor }, error);
}
