/* SPDX-License-Identifier: MIT */
/* pipe.c: see pipe.h.
   Thread safety: see pipe.h. */
#include "pipe.h"

#include <CUnit/CUnit.h>
#include <string.h>

#include "tests/engine/trial.h"

const HassLoad *
pipe_loads (void)
{
  static HassLoad loads[PIPE_LOADS];
  /* Made before the first pipeline runs; then it is only read. */
  for (gsize i = 1; !loads[PIPE_LOADS - 1].tag && i < PIPE_LOADS; i++)
    loads[i].tag = GSIZE_TO_POINTER (i);
  return loads;
}

HassPipeline
pipe_new (const HassStage *stages, guint n_stages, gsize n_loads)
{
  HassPipeline p = HASS_PIPELINE_INIT;
  p.name = "pipe";
  p.loads = pipe_loads ();
  p.n_loads = n_loads;
  p.stages = stages;
  p.n_stages = n_stages;
  p.run.n_cores = 2;
  p.run.n_gpus = -1;
  return p;
}

/* -- Probes ------------------------------------------------------------- */

void
pipe_blame (PipeProbe *probe, const char *what)
{
  if (atomic_fetch_add (&probe->wrong, 1) == 0)
    atomic_store (&probe->what, what);
}

void
pipe_enter (PipeProbe *probe, const HassToken *token)
{
  guint inside = atomic_fetch_add (&probe->inside, 1) + 1;
  guint most = atomic_load (&probe->most);
  while (inside > most
         && !atomic_compare_exchange_weak (&probe->most, &most, inside))
    ;
  if (probe->alone && inside > 1)
    pipe_blame (probe, "two calls at once");
  if (probe->caller && g_thread_self () != probe->caller)
    pipe_blame (probe, "not on the calling thread");
  if (probe->in_order)
    {
      if (token->seq < probe->next)
        pipe_blame (probe, "out of order");
      probe->next = token->seq;
    }
  atomic_fetch_add (&probe->calls, 1);
  atomic_fetch_add (&probe->sum, GPOINTER_TO_SIZE (token->tag));
}

void
pipe_leave (PipeProbe *probe)
{
  atomic_fetch_sub (&probe->inside, 1);
}

gboolean
pipe_look (HassToken *token, HassWorker *worker, gpointer probe, GError **error)
{
  (void)worker, (void)error;
  pipe_enter (probe, token);
  pipe_leave (probe);
  return TRUE;
}

gboolean
pipe_saw (const PipeProbe *probe, guint calls)
{
  guint saw = atomic_load (&probe->calls);
  if (probe->wrong == 0 && saw == calls)
    return TRUE;
  g_printerr ("\n    %u calls for %u; %u wrong: %s", saw, calls, probe->wrong,
              probe->wrong ? probe->what : "none");
  return FALSE;
}

/* -- Running ------------------------------------------------------------ */

gboolean
pipe_run (const HassPipeline *pipeline, HassReport **report, GError **error)
{
  watchdog (30, pipeline ? pipeline->name : "no pipeline");
  gboolean ok = hass_pipeline (pipeline, report, error);
  watchdog (0, NULL);
  return ok;
}

void
pipe_must_run (const HassPipeline *pipeline)
{
  g_autoptr (GError) error = NULL;
  CU_ASSERT_TRUE (pipe_run (pipeline, NULL, &error));
  if (error)
    g_printerr ("\n    %s", error->message);
}

gboolean
pipe_fails (const HassPipeline *pipeline, HassError code, ...)
{
  g_autoptr (GError) error = NULL;
  gboolean right = !pipe_run (pipeline, NULL, &error)
                   && g_error_matches (error, HASS_ERROR, code);
  const char *word;
  va_list words;
  va_start (words, code);
  while ((word = va_arg (words, const char *)))
    if (!error || !strstr (error->message, word))
      {
        right = FALSE;
        g_printerr ("\n    '%s' was due", word);
      }
  va_end (words);
  right = right && !strstr (error->message, "farm '");
  if (!right)
    g_printerr ("\n    code %d was due, got: %d, %s", code,
                error ? error->code : -1, error ? error->message : "success");
  return right;
}

/* -- Releases ----------------------------------------------------------- */

void
pipe_release (const HassLoad *load, gboolean committed, gpointer data)
{
  PipeBooks *books = data;
  gsize tag = MIN (GPOINTER_TO_SIZE (load->tag), PIPE_LOADS - 1);
  atomic_fetch_add (&books->released[tag], 1);
  atomic_store (&books->committed[tag], committed != FALSE);
}

gboolean
pipe_books_right (const PipeBooks *books, guint n, const HassReport *report)
{
  g_autofree guint8 *unfinished = g_malloc0 (PIPE_LOADS);
  for (guint i = 0; report && i < report->n_unfinished; i++)
    for (guint64 k = 0; k < report->unfinished[i].n_loads; k++)
      unfinished[MIN (report->unfinished[i].seq + k, PIPE_LOADS - 1)] = 1;
  for (guint i = 0; i < PIPE_LOADS; i++)
    if (books->released[i] != (i < n)
        || (i < n && books->committed[i] == unfinished[i]))
      {
        g_printerr ("\n    load %u of %u was released %u times, committed %u, "
                    "unfinished %u",
                    i, n, books->released[i], books->committed[i],
                    unfinished[i]);
        return FALSE;
      }
  return TRUE;
}
