/* SPDX-License-Identifier: MIT */
/* record_pipeline.c: writes the record of a pipeline: a pipeline file and a
   platform file, from which hass-sim runs it with other strategies.

   DESIGN. The unit of work is a us of a core, so the work of a stage is the
   mean time of its tokens on cores. What a GPU does in a us is its rate at that
   stage.
   1. Costs. A batch of n tokens shows their mean time. If the logarithms of
      token times have the variance v, that of a batch has about v / n, which
      gives v from all batches; tokens are drawn again with that variance.
   2. GPUs. A bundle takes the latency of the device and then the same time for
      each unit. Bundles overlap, so only that time of a kernel or copy counts
      that is after the end of the earlier ones: as the device says, or by the
      times of its stages, which are estimated if it says nothing. The time of
      stages that were computed at once is divided evenly among them.
   3. Unknown times. A stage that no core has computed has the work that its
      time on a GPU says, for a GPU that is as much faster as in the other
      stages, or else as fast as all cores.
   4. The generator is a stage before the first one that computes one token at
      a time, as it does, on the calling thread at least: a core.

   Thread safety: the sums of a worker by its thread; the file by the thread
   that called the pipeline. */
#include "record-private.h"

#include <math.h>
#include <string.h>

/* Largest standard deviation of logarithms that is recorded: a pipeline file
   takes no more. */
#define MOST_SIGMA 3
/* Smaller ones count as equal costs. A guess. */
#define LEAST_SIGMA 0.01
/* Range of what a stage emits for each token in a pipeline file. */
#define LEAST_EMITS 1e-6
#define MOST_EMITS 1e4
/* Rate of a link over which nothing was copied, in GB/s. A guess. */
#define LINK_GBPS 10
/* Least part of a bundle's kernels that counts as work if the latency of the
   device is nearly all of their time. A guess. */
#define LEAST_WORK 0.05
/* The group of the generator. */
#define GENERATOR "stage (generator)"

/* What a worker has done at a stage. `came`: tokens that came to it; `begun`:
   of those, tokens whose input had @in_bytes, which are not known within a
   bundle of several stages; `log_sum`, `log_squares`: sums over batches of the
   logarithm of the mean token time, weighted by tokens. */
typedef struct
{
  guint64 came, begun, in_bytes, n;
  double ns, h2d_ns, d2h_ns, log_sum, log_squares;
  guint64 out_bytes;
} Sums;

struct HassPipeRecorder
{
  const HassFarmFacts *farm;
  Sums *of; /* [n_workers * n_classes] */
  /* [n_workers]: when each stage of a device last ended */
  gint64 (*ends_ns)[HASS_N_STAGES];
  gboolean (*tells_busy)[HASS_N_STAGES]; /* [n_workers] the device does */
};

/* A stage of the record. `core_us`: time of a token on a core, 0: unknown;
   `gpu_us`: [n_devices] likewise on a GPU. */
typedef struct
{
  guint64 came;
  double core_us, sigma, bytes, work;
  double *gpu_us;
} Stage;

HassPipeRecorder *
hass_pipe_recorder_new (const HassFarmFacts *farm)
{
  HassPipeRecorder *p = g_new (HassPipeRecorder, 1);
  p->farm = farm;
  p->of = g_new0 (Sums, (gsize)farm->n_workers * farm->n_classes);
  p->ends_ns = g_malloc0_n (farm->n_workers, sizeof *p->ends_ns);
  p->tells_busy = g_malloc0_n (farm->n_workers, sizeof *p->tells_busy);
  return p;
}

void
hass_pipe_recorder_free (HassPipeRecorder *pipe)
{
  if (!pipe)
    return;
  g_free (pipe->of);
  g_free (pipe->ends_ns);
  g_free (pipe->tells_busy);
  g_free (pipe);
}

static Sums *
sums (const HassPipeRecorder *p, guint worker, guint stage)
{
  return &p->of[(gsize)worker * p->farm->n_classes + stage];
}

void
hass_pipe_recorder_staged (HassPipeRecorder *p, const HassStaged *f)
{
  Sums *s = sums (p, f->worker, f->stage);
  double n = f->n_taken, ns = (double)MAX (f->end_ns - f->begin_ns, 1);
  if (f->n_taken == 0)
    return;
  double l = log (ns / n);
  s->came += f->n_taken;
  s->begun += f->n_taken;
  s->in_bytes += f->bytes;
  s->n++;
  s->ns += ns;
  s->log_sum += n * l;
  s->log_squares += n * l * l;
}

void
hass_pipe_recorder_part (HassPipeRecorder *p, const HassPartFact *f)
{
  const HassDeviceTraits *v = &p->farm->devices[f->device];
  Sums *first = sums (p, f->worker, f->stage);
  double added_ns[HASS_N_STAGES];
  if (f->failed || f->n == 0)
    return;
  for (guint i = 0; i < HASS_N_STAGES; i++)
    added_ns[i] = hass_busy_added_ns (
        &p->tells_busy[f->worker][i], f->busy_ns[i],
        hass_record_added_ns (f->stages->begin_ns[i], f->stages->end_ns[i],
                              &p->ends_ns[f->worker][i]));
  double kernel_ns = added_ns[HASS_KERNEL];
  double ns = MAX (kernel_ns - v->latency_ns, LEAST_WORK * kernel_ns);
  for (guint s = f->stage; s <= f->stage + f->fused; s++)
    {
      Sums *of = sums (p, f->worker, s);
      of->came += f->n;
      of->ns += ns / (1 + f->fused);
    }
  first->begun += f->n;
  first->n++;
  first->in_bytes += f->in_bytes;
  first->out_bytes += f->out_bytes;
  first->h2d_ns += added_ns[HASS_COPY_IN];
  first->d2h_ns += added_ns[HASS_COPY_OUT];
}

/* -- What the sums say --------------------------------------------------- */

static guint
n_core_workers (const HassFarmFacts *farm)
{
  return MAX (farm->n_cores, 1);
}

/* Returns: the worker of a device other than the CPU pool. */
static guint
worker_of (const HassFarmFacts *farm, guint device)
{
  guint cpu = farm->cpu >= 0 && device > (guint)farm->cpu ? 1 : 0;
  return n_core_workers (farm) + device - cpu;
}

/* Step 1: fills in what cores have shown of a stage. */
static void
see_cores (const HassPipeRecorder *p, guint s, Stage *stage)
{
  Sums all = { 0 };
  for (guint w = 0; w < n_core_workers (p->farm); w++)
    {
      const Sums *of = sums (p, w, s);
      all.came += of->came;
      all.n += of->n;
      all.ns += of->ns;
      all.log_sum += of->log_sum;
      all.log_squares += of->log_squares;
    }
  if (all.came == 0)
    return;
  double n = (double)all.came;
  double v = all.log_squares - all.log_sum * all.log_sum / n;
  stage->core_us = all.ns / n * 1e-3;
  stage->sigma = all.n > 1 ? sqrt (MAX (v, 0) / (double)(all.n - 1)) : 0;
}

static void
see_stage (const HassPipeRecorder *p, guint s, Stage *stage)
{
  const HassFarmFacts *farm = p->farm;
  guint64 begun = 0, bytes = 0;
  stage->gpu_us = g_new0 (double, farm->n_devices);
  see_cores (p, s, stage);
  for (guint w = 0; w < farm->n_workers; w++)
    {
      stage->came += sums (p, w, s)->came;
      begun += sums (p, w, s)->begun;
      bytes += sums (p, w, s)->in_bytes;
    }
  stage->bytes = begun > 0 ? (double)bytes / (double)begun : -1;
  for (guint d = 0; d < farm->n_devices; d++)
    if ((gint)d != farm->cpu)
      {
        const Sums *of = sums (p, worker_of (farm, d), s);
        if (of->came > 0)
          stage->gpu_us[d] = of->ns / (double)of->came * 1e-3;
      }
}

/* Step 3. Returns: how many times as fast as a core the device is, the
   geometric mean over the stages that both have computed. */
static double
times_as_fast (const HassFarmFacts *farm, const Stage *stages, guint d)
{
  double sum = 0;
  guint n = 0;
  for (guint s = 0; s < farm->n_classes; s++)
    if (stages[s].core_us > 0 && stages[s].gpu_us[d] > 0)
      {
        sum += log (stages[s].core_us / stages[s].gpu_us[d]);
        n++;
      }
  return n > 0 ? exp (sum / n) : n_core_workers (farm);
}

static void
set_work (const HassFarmFacts *farm, Stage *stages)
{
  for (guint s = 0; s < farm->n_classes; s++)
    {
      Stage *stage = &stages[s];
      stage->work = stage->core_us;
      for (guint d = 0; d < farm->n_devices && stage->work <= 0; d++)
        stage->work = stage->gpu_us[d] * times_as_fast (farm, stages, d);
      if (stage->work <= 0) /* no token came to it */
        stage->work = 1;
    }
}

/* -- The files ----------------------------------------------------------- */

/* Returns (transfer full): the group of a stage, whose name may not be one of a
   group. */
static char *
stage_group (const HassFarmFacts *farm, guint s)
{
  const char *name = farm->classes[s].name;
  gboolean again = FALSE;
  for (guint i = 0; i < s; i++)
    again = again || strcmp (farm->classes[i].name, name) == 0;
  char *group = again ? g_strdup_printf ("stage %s %u", name, s + 1)
                      : g_strdup_printf ("stage %s", name);
  for (char *c = group; *c; c++)
    if (*c == '[' || *c == ']' || g_ascii_iscntrl (*c))
      *c = '_';
  return group;
}

static void
put_stage (GKeyFile *file, const HassFarmFacts *farm, const Stage *stages,
           guint s)
{
  const Stage *stage = &stages[s];
  const HassClassTraits *c = &farm->classes[s];
  gboolean cpu = farm->cpu >= 0 && c->devices >> farm->cpu & 1;
  gboolean gpu = (c->devices & ~(farm->cpu >= 0 ? 1ull << farm->cpu : 0)) != 0;
  g_autofree char *group = stage_group (farm, s);
  g_key_file_set_value (file, group, "mode",
                        c->in_order        ? "ordered"
                        : c->one_at_a_time ? "serial"
                                           : "parallel");
  g_key_file_set_value (file, group, "devices",
                        cpu && gpu ? "any" : (gpu ? "gpu" : "cpu"));
  g_key_file_set_double (file, group, "work", stage->work);
  if (c->at_once > 0 && !c->one_at_a_time)
    g_key_file_set_uint64 (file, group, "at_once", c->at_once);
  if (stage->sigma >= LEAST_SIGMA)
    {
      char number[G_ASCII_DTOSTR_BUF_SIZE];
      g_ascii_formatd (number, sizeof number, "%.3f",
                       MIN (stage->sigma, MOST_SIGMA));
      g_autofree char *costs = g_strconcat ("lognormal ", number, NULL);
      g_key_file_set_value (file, group, "costs", costs);
    }
  if (s + 1 == farm->n_classes)
    return;
  if (stage[1].bytes >= 0)
    g_key_file_set_double (file, group, "output_bytes", round (stage[1].bytes));
  if (stage->came > 0 && stage[1].came != stage->came)
    g_key_file_set_double (file, group, "emits",
                           CLAMP ((double)stage[1].came / (double)stage->came,
                                  LEAST_EMITS, MOST_EMITS));
}

/* Writes the generator of a pipeline as its first stage. */
static void
put_generator (GKeyFile *file, const Stage *first, const HassEnded *ended)
{
  double us = (double)ended->generator_ns * 1e-3 / (double)MAX (first->came, 1);
  if (us <= 0)
    return;
  g_key_file_set_value (file, GENERATOR, "mode", "ordered");
  g_key_file_set_double (file, GENERATOR, "work", us);
}

static void
put_pipeline (GKeyFile *file, const HassFarmFacts *farm, const Stage *stages,
              const char *platform, const HassEnded *ended)
{
  g_autofree char *source
      = g_strdup_printf ("recorded: strategy %s, %" G_GINT64_FORMAT " us",
                         farm->strategy, ended->makespan_ns / 1000);
  g_key_file_set_string (file, "pipeline", "name", farm->farm->name);
  g_key_file_set_string (file, "pipeline", "source", source);
  g_key_file_set_string (file, "pipeline", "platform", platform);
  g_key_file_set_uint64 (file, "pipeline", "tokens", MAX (stages[0].came, 1));
  g_key_file_set_double (file, "pipeline", "bytes",
                         round (MAX (stages[0].bytes, 0)));
  if (farm->farm->tokens > 0)
    g_key_file_set_uint64 (file, "pipeline", "in_flight", farm->farm->tokens);
  if (farm->n_classes < HASS_MAX_CLASSES)
    put_generator (file, &stages[0], ended);
  for (guint s = 0; s < farm->n_classes; s++)
    put_stage (file, farm, stages, s);
}

static double
gbps (guint64 bytes, double ns)
{
  return bytes > 0 && ns > 0 ? CLAMP ((double)bytes / ns, 1e-3, 1e4)
                             : LINK_GBPS;
}

/* Writes a GPU, of the width of one unit, so that each bundle fills it. */
static void
put_gpu (GKeyFile *file, const HassPipeRecorder *p, const Stage *stages,
         guint d, guint number, const GArray *openings)
{
  const HassFarmFacts *farm = p->farm;
  const HassDeviceTraits *v = &farm->devices[d];
  g_autofree char *group = g_strdup_printf ("gpu%u", number);
  g_autofree char *rate = g_strconcat (group, "_work_per_us", NULL);
  Sums all = { 0 };
  for (guint s = 0; s < farm->n_classes; s++)
    {
      const Sums *of = sums (p, worker_of (farm, d), s);
      all.in_bytes += of->in_bytes;
      all.out_bytes += of->out_bytes;
      all.h2d_ns += of->h2d_ns;
      all.d2h_ns += of->d2h_ns;
    }
  g_key_file_set_uint64 (file, group, "multiprocessors", MAX (v->cores, 1));
  g_key_file_set_uint64 (file, group, "width", 1);
  g_key_file_set_double (file, group, "work_per_us",
                         times_as_fast (farm, stages, d));
  g_key_file_set_double (file, group, "launch_us", v->latency_ns * 1e-3);
  g_key_file_set_double (file, group, "link_us", 0);
  g_key_file_set_double (file, group, "h2d_gbps",
                         gbps (all.in_bytes, all.h2d_ns));
  g_key_file_set_double (file, group, "d2h_gbps",
                         gbps (all.out_bytes, all.d2h_ns));
  g_key_file_set_uint64 (file, group, "depth", MAX (v->max_in_flight, 1));
  for (guint i = 0; i < openings->len; i++)
    {
      const HassRecordOpening *o
          = &g_array_index (openings, HassRecordOpening, i);
      if (o->device == d && o->ok)
        g_key_file_set_double (file, group, "start_us",
                               (double)(o->end_ns - farm->begin_ns) * 1e-3);
    }
  for (guint s = 0; s < farm->n_classes; s++)
    {
      g_autofree char *stage = stage_group (farm, s);
      if (stages[s].gpu_us[d] > 0)
        g_key_file_set_double (file, stage, rate,
                               stages[s].work / stages[s].gpu_us[d]);
    }
}

static void
put_machine (GKeyFile *file, const HassPipeRecorder *p, const Stage *stages,
             const GArray *openings, const HassEnded *ended)
{
  const HassFarmFacts *farm = p->farm;
  guint n = 0;
  g_key_file_set_value (file, "platform", "source", "recorded");
  if (farm->cpu >= 0 || ended->generator_ns > 0)
    {
      g_key_file_set_uint64 (file, "cpu", "cores", n_core_workers (farm));
      g_key_file_set_double (file, "cpu", "work_per_us", 1);
    }
  for (guint d = 0; d < farm->n_devices; d++)
    if ((gint)d != farm->cpu)
      put_gpu (file, p, stages, d, n++, openings);
}

static gboolean
write_file (const char *path, GKeyFile *keys, GError **error)
{
  HassTextFile file;
  gsize length;
  g_autofree char *text = g_key_file_to_data (keys, &length, NULL);
  if (!hass_text_file_open (&file, "record", path, "w", error))
    return FALSE;
  hass_text_file_write (&file, text, length);
  return hass_text_file_close (&file, error);
}

gboolean
hass_pipe_recorder_write (const HassPipeRecorder *p, const char *path,
                          const GArray *openings, const HassEnded *ended,
                          GError **error)
{
  guint n = p->farm->n_classes;
  g_autofree Stage *stages = g_new0 (Stage, n);
  g_autofree char *full = g_canonicalize_filename (path, NULL);
  g_autofree char *platform = g_strconcat (full, ".platform", NULL);
  g_autoptr (GKeyFile) pipeline = g_key_file_new ();
  g_autoptr (GKeyFile) machine = g_key_file_new ();
  for (guint s = 0; s < n; s++)
    see_stage (p, s, &stages[s]);
  set_work (p->farm, stages);
  put_pipeline (pipeline, p->farm, stages, platform, ended);
  put_machine (machine, p, stages, openings, ended);
  for (guint s = 0; s < n; s++)
    g_free (stages[s].gpu_us);
  return write_file (path, pipeline, error)
         && write_file (platform, machine, error);
}
