/* SPDX-License-Identifier: MIT */
/* denoise.c: frames as tokens of a pipeline.

   DESIGN.
   1. The generator reads a frame into a buffer of the library. The parameters
      of the frame are the token's tag.
   2. Stage denoise, parallel, cores and GPUs: computes a second frame. A core
      divides its frame into tiles and lets idle cores help, so that a slow
      stream has a short delay and a short one uses all cores.
   3. Stage blend, ordered: in place; keeps a copy of the frame before.
   4. Stage write, ordered.

   Thread safety: as denoise.h; ordered stages have their state to themselves.
 */
#include "denoise.h"

#include <errno.h>
#include <unistd.h>

#include "blend.h"

/* @before: [@format->frame_bytes] for the blend stage, NULL before the first
   frame. @has_begun: the output. @read_error: of the generator. */
typedef struct
{
  const Y4mJob *job;
  NlmFrame frame;
  guint8 *before;
  gboolean has_begun;
  GError *read_error;
} Run;

/* An input that is malformed ends the stream: what has been read is written. */
static gboolean
read_frames (HassEmitter *emitter, gpointer user_data, GError **error)
{
  Run *r = user_data;
  const Y4mJob *job = r->job;
  gsize bytes = job->format->frame_bytes;
  (void)error;
  for (guint64 frame = 0; !hass_emitter_stopping (emitter); frame++)
    {
      HassLoad load = { .input_bytes = bytes, .flags = HASS_LOAD_BUFFER };
      char *parameters;
      gboolean end;
      if (!y4m_read_frame_line (job->in, frame, &parameters, &end,
                                &r->read_error)
          || end)
        return TRUE;
      guint8 *samples = hass_emitter_buffer (emitter, bytes);
      load.input = samples;
      load.tag = parameters;
      if (!samples
          || !y4m_read_samples (job->in, frame, samples, bytes, &r->read_error)
          || !hass_emitter_emit (emitter, &load))
        {
          g_free (parameters);
          return TRUE;
        }
    }
  return TRUE;
}

static void
release (const HassLoad *load, gboolean committed, gpointer user_data)
{
  (void)committed;
  (void)user_data;
  g_free (load->tag);
}

typedef struct
{
  const NlmFrame *frame;
  const HassToken *token;
} Work;

/* Tiles [@first, @first + @count) of the frame, plane after plane; those that
   are left are skipped once a GPU has overtaken this frame. */
static gboolean
denoise_tiles (gsize first, gsize count, HassWorker *worker, gpointer user_data,
               GError **error)
{
  const Work *w = user_data;
  const NlmFrame *f = w->frame;
  gsize offset = 0, tile = 0;
  (void)error;
  for (int p = 0; p < f->n_planes; p++)
    {
      gsize n = (gsize)nlm_tiles (f->planes[p]);
      for (gsize i = MAX (first, tile);
           i < MIN (first + count, tile + n) && !hass_worker_stopping (worker);
           i++)
        nlm_tile (nlm_kernels (0), &f->params, f->planes[p], (int)(i - tile),
                  w->token->input + offset, w->token->output + offset);
      offset += (gsize)f->planes[p].width * f->planes[p].height;
      tile += n;
    }
  return TRUE;
}

static gboolean
denoise (HassToken *token, HassWorker *worker, gpointer user_data,
         GError **error)
{
  Work w = { user_data, token };
  gsize tiles = 0;
  for (int p = 0; p < w.frame->n_planes; p++)
    tiles += (gsize)nlm_tiles (w.frame->planes[p]);
  return hass_worker_parallel_for (worker, tiles, 1, denoise_tiles, &w, error);
}

/* Stands for the GPU worker on a modelled machine, which computes the bytes
   with the CPU worker, in a program built without CUDA. */
static gboolean
modelled_worker (const HassBundle *bundle, HassGpuStream *stream,
                 gpointer user_data, GError **error)
{
  (void)bundle;
  (void)stream;
  (void)user_data;
  g_set_error (error, HASS_ERROR, HASS_ERROR_DEVICE,
               "this program was built without CUDA");
  return FALSE;
}

static HassGpuWorkerFunc
gpu_worker (const Y4mJob *job)
{
  if (!job->gpu)
    return NULL;
  return !y4m_gpu_worker && job->run.platform ? modelled_worker
                                              : y4m_gpu_worker;
}

static gboolean
blend (HassToken *token, HassWorker *worker, gpointer user_data, GError **error)
{
  Run *r = user_data;
  (void)worker;
  (void)error;
  if (r->before)
    y4m_blend (token->input, r->before, token->input_bytes, r->job->temporal);
  else
    r->before = g_memdup2 (token->input, token->input_bytes);
  return TRUE;
}

/* Until the first frame is done nothing of an older output is lost. */
static gboolean
begin_output (Run *r, GError **error)
{
  const Y4mJob *job = r->job;
  if (r->has_begun)
    return TRUE;
  r->has_begun = TRUE;
  /* EINVAL: it is no file that could hold anything. */
  if (job->replaces && ftruncate (fileno (job->out), 0) != 0 && errno != EINVAL)
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_IO,
                   "cannot empty the output: %s", g_strerror (errno));
      return FALSE;
    }
  return y4m_write_line (job->out, job->format->header, NULL, error);
}

static gboolean
write_frame (HassToken *token, HassWorker *worker, gpointer user_data,
             GError **error)
{
  Run *r = user_data;
  (void)worker;
  return begin_output (r, error)
         && y4m_write_frame (r->job->out, token->seq, token->tag, token->input,
                             token->input_bytes, error);
}

static gboolean
run_pipeline (Run *r, HassReport **report, GError **error)
{
  const Y4mJob *job = r->job;
  HassStage stages[3];
  HassPipeline pipeline = HASS_PIPELINE_INIT;
  guint n = 0;
  stages[n++]
      = (HassStage)HASS_STAGE (.name = "denoise", .user_data = &r->frame,
                               .cpu = job->no_cpu ? NULL : denoise,
                               .gpu = gpu_worker (job), .output_ratio = 1,
                               .pure = TRUE,
                               .element_threads = job->format->frame_bytes);
  if (job->temporal > 0)
    stages[n++] = (HassStage)HASS_STAGE (.name = "blend", .cpu = blend,
                                         .mode = HASS_STAGE_ORDERED);
  stages[n++] = (HassStage)HASS_STAGE (.name = "write", .cpu = write_frame,
                                       .mode = HASS_STAGE_ORDERED);
  pipeline.name = "y4m_denoise";
  pipeline.user_data = r;
  pipeline.generate = read_frames;
  pipeline.stages = stages;
  pipeline.n_stages = n;
  pipeline.token_bytes = 2 * job->format->frame_bytes * job->frames;
  pipeline.release = release;
  pipeline.run = job->run;
  pipeline.run.loads_expected = y4m_frames_left (job->in, job->format);
  return hass_pipeline (&pipeline, report, error);
}

gboolean
y4m_denoise_run (const Y4mJob *job, HassReport **report, GError **error)
{
  Run r = { .job = job };
  r.frame.params = job->nlm;
  r.frame.n_planes = job->format->n_planes;
  for (int p = 0; p < r.frame.n_planes; p++)
    r.frame.planes[p] = job->format->planes[p];
  gboolean ok = run_pipeline (&r, report, error);
  g_free (r.before);
  if (ok && r.read_error)
    {
      g_propagate_error (error, r.read_error);
      return FALSE;
    }
  g_clear_error (&r.read_error);
  return ok && begin_output (&r, error);
}
