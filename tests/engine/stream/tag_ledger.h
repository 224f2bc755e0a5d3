/* SPDX-License-Identifier: MIT */
/* tag_ledger.h: books of what stages hang on tokens, for the tests of
   HassPipeline.tag_free.

   DESIGN. A stage hangs an entry of the ledger on each token; tag_free writes
   into it. Afterwards each entry that was taken must have been freed once, by
   tag_free or by the stage that has taken it off the token.

   Thread safety: the stages and callbacks on any thread, the rest on one. */
#ifndef TAG_LEDGER_H
#define TAG_LEDGER_H

#include "tests/skeletons/pipeline/pipe.h"

#define TAGS_MOST (8 * PIPE_LOADS)
/* The token that fails, or that cancels the pipeline. */
#define TAG_BAD_SEQ 500

typedef struct
{
  guint64 seq; /* of the token that it was hung on */
  _Atomic guint freed;
} Tag;

typedef struct
{
  Tag tags[TAGS_MOST];
  _Atomic guint n;        /* entries in use */
  _Atomic guint n_called; /* calls of tag_free */
  _Atomic guint released[PIPE_LOADS];
  _Atomic guint foreign; /* tags that no stage has hung on a token */
  _Atomic guint late;    /* tags freed when their load had been released */
  _Atomic guint refused; /* pipelines that could not run in tag_free */
  guint parts;           /* that a token emits */
  guint fail_step;       /* every so manyth token fails; 0: none */
  struct _GCancellable *cancellable;
} TagLedger;

TagLedger *tag_ledger_new (void); /* free with g_free() */

/* An entry that is to be hung on the token with this number. */
gpointer tag_new (TagLedger *ledger, guint64 seq);

/* TRUE if each tag was freed once, and before its load was released. */
gboolean tag_ledger_balanced (const TagLedger *ledger);

/* Stages whose user_data is the ledger: one that hangs a tag on each token, one
   that does nothing, and one that fails at token TAG_BAD_SEQ. */
gboolean tag_hang (HassToken *token, HassWorker *worker, gpointer ledger,
                   GError **error);
gboolean tag_pass (HassToken *token, HassWorker *worker, gpointer ledger,
                   GError **error);
gboolean tag_fail_one (HassToken *token, HassWorker *worker, gpointer ledger,
                       GError **error);

/* The callbacks of the pipeline, whose user_data is the ledger. The tags of its
   loads are their numbers. */
void tag_free (gpointer tag, gpointer ledger);
void tag_release (const HassLoad *load, gboolean committed, gpointer ledger);

#endif
