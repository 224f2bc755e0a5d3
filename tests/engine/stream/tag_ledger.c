/* SPDX-License-Identifier: MIT */
/* tag_ledger.c: see tag_ledger.h.
   Thread safety: see tag_ledger.h. */
#include "tag_ledger.h"

gpointer
tag_new (TagLedger *ledger, guint64 seq)
{
  guint at = atomic_fetch_add (&ledger->n, 1);
  Tag *tag = &ledger->tags[MIN (at, TAGS_MOST - 1)];
  tag->seq = seq;
  return tag;
}

gboolean
tag_hang (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  (void)w, (void)error;
  t->tag = tag_new (data, t->seq);
  return TRUE;
}

gboolean
tag_pass (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  (void)t, (void)w, (void)data, (void)error;
  return TRUE;
}

gboolean
tag_fail_one (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  (void)w, (void)data, (void)error;
  return t->seq != TAG_BAD_SEQ;
}

void
tag_free (gpointer tag, gpointer data)
{
  TagLedger *ledger = data;
  ledger->n_called++;
  if ((Tag *)tag < ledger->tags || (Tag *)tag >= ledger->tags + TAGS_MOST)
    {
      ledger->foreign++;
      return;
    }
  ((Tag *)tag)->freed++;
  ledger->late += ledger->released[((Tag *)tag)->seq] > 0;
}

void
tag_release (const HassLoad *load, gboolean committed, gpointer data)
{
  TagLedger *ledger = data;
  (void)committed;
  ledger->released[GPOINTER_TO_SIZE (load->tag)]++;
}

gboolean
tag_ledger_balanced (const TagLedger *ledger)
{
  guint wrong = 0;
  for (guint i = 0; i < TAGS_MOST; i++)
    wrong += ledger->tags[i].freed != (i < ledger->n);
  if (wrong == 0 && ledger->n <= TAGS_MOST && ledger->foreign == 0
      && ledger->late == 0)
    return TRUE;
  g_printerr ("\n    %u tags: %u freed wrongly, %u not of a stage, %u late",
              ledger->n, wrong, ledger->foreign, ledger->late);
  return FALSE;
}

TagLedger *
tag_ledger_new (void)
{
  return g_new0 (TagLedger, 1);
}
