/* SPDX-License-Identifier: MIT */
/* pipe.h: what the tests of pipelines share: loads, stages that count, and
   checks of the result.
   Thread safety: the stages may run on any thread, the rest on one. */
#ifndef PIPE_H
#define PIPE_H

#include <stdatomic.h>

#include "hass/hass.h"
#include "hass/pipeline.h"

/* Loads of the array that tests use; their tags are 0, 1, ... */
#define PIPE_LOADS 1000

/**
 * PipeProbe: what a stage has seen, and what it holds its calls to.
 * @alone: two calls at once are wrong.
 * @in_order: sequence numbers that do not ascend are wrong.
 * @caller: a call on another thread is wrong; NULL: any thread.
 * @calls, @inside, @most: calls so far, at this moment, and most at once.
 * @next: the least sequence number that the next call may have.
 * @sum: of the tags.
 * @wrong: what was wrong; @what: the first of it.
 */
typedef struct
{
  gboolean alone, in_order;
  GThread *caller;
  _Atomic guint calls, inside, most;
  guint64 next;
  _Atomic guint64 sum;
  _Atomic guint wrong;
  const char *_Atomic what;
} PipeProbe;

/* [PIPE_LOADS] loads without bytes, with tags. */
const HassLoad *pipe_loads (void);

/* A pipeline of these stages over the first @n_loads of pipe_loads(). */
HassPipeline pipe_new (const HassStage *stages, guint n_stages, gsize n_loads);

/* A stage that looks and leaves the token as it is; its user_data is a
   PipeProbe. */
gboolean pipe_look (HassToken *token, HassWorker *worker, gpointer probe,
                    GError **error);

/* The same, for stages that do more: enters and leaves a probe. */
void pipe_enter (PipeProbe *probe, const HassToken *token);
void pipe_leave (PipeProbe *probe);
void pipe_blame (PipeProbe *probe, const char *what);

/* Runs under a watchdog. */
gboolean pipe_run (const HassPipeline *pipeline, HassReport **report,
                   GError **error);

/* Runs, and fails the test if the pipeline fails. */
void pipe_must_run (const HassPipeline *pipeline);

/* TRUE if the pipeline fails with this code and a message that has all the
   words; NULL ends them. */
gboolean pipe_fails (const HassPipeline *pipeline, HassError code,
                     ...) G_GNUC_NULL_TERMINATED;

/* TRUE if nothing was wrong and the stage has had so many calls. */
gboolean pipe_saw (const PipeProbe *probe, guint calls);

/**
 * PipeBooks: a release callback's books of loads whose tags are below
 * PIPE_LOADS.
 * @released, @committed: [tag]: how often, and with which flag at last.
 */
typedef struct
{
  _Atomic guint released[PIPE_LOADS];
  _Atomic guint committed[PIPE_LOADS];
} PipeBooks;

/* The release callback; @books is the pipeline's user_data. */
void pipe_release (const HassLoad *load, gboolean committed, gpointer books);

/* TRUE if each of [0, @n) was released once, and committed unless @report
   lists it as unfinished; and none above. */
gboolean pipe_books_right (const PipeBooks *books, guint n,
                           const HassReport *report);

#endif
