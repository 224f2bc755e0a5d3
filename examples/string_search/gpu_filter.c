/* SPDX-License-Identifier: MIT */
/* gpu_filter.c: compiles a matcher's patterns for a GPU.
   Thread safety: see gpu_filter.h.

   DESIGN. The window's offset is the one at which the patterns' windows are
   rarest in average text. Patterns whose windows have one hash are compared
   one after another by one GPU thread; where these would be many, the next
   offset is tried, and if no offset will do, there is no filter. */
#include "gpu_filter.h"

#include "matcher/matcher-private.h"

#define WINDOW_BYTES 4
#define OFFSETS 16
#define MAX_FORMS 4096 /* of the window of one pattern */
#define MAX_ENTRIES (1 << 20)
#define MAX_CHAIN 256 /* patterns whose windows have one hash */
#define MAX_HASH_BITS 22
#define MAX_BYTES (64 << 20)

typedef struct
{
  guint32 window;
  guint32 needle;
} Entry;

typedef struct
{
  const Matcher *matcher;
  guint window_bytes;
  GpuFilterView view;
  GArray *entries;  /* of Entry */
  guint32 *buckets; /* [2^hash_bits + 1] into the entries in order of hash */
} Compiler;

/* The share of average text's positions that have a window of a pattern, by
   the window's offset: rates [n_offsets]. */
static void
measure_offsets (const Compiler *c, gdouble *rates, guint n_offsets)
{
  for (gsize i = 0; i < c->matcher->n_needles; i++)
    {
      ByteSet sets[OFFSETS + WINDOW_BYTES];
      memset (sets, 0, sizeof sets);
      needle_byte_sets (&c->matcher->needles[i], sets,
                        n_offsets + c->window_bytes - 1);
      for (guint o = 0; o < n_offsets; o++)
        {
          gdouble rate = 1;
          for (guint j = 0; j < c->window_bytes; j++)
            rate *= byte_set_frequency (&sets[o + j]);
          rates[o] += rate;
        }
    }
}

/* The bytes of `set` with `fold` set in each; returns how many. */
static guint
folded_bytes (const ByteSet *set, guint8 fold, guint8 bytes[256])
{
  gboolean seen[256] = { FALSE };
  guint n = 0;
  for (guint x = 0; x < 256; x++)
    {
      guint8 folded = (guint8)x | fold;
      if (!(set->bits[x >> 6] >> (x & 63) & 1) || seen[folded])
        continue;
      seen[folded] = TRUE;
      bytes[n++] = folded;
    }
  return n;
}

/* Adds every form of the needle's window; FALSE if they are too many. */
static gboolean
add_windows (Compiler *c, guint32 needle)
{
  ByteSet sets[OFFSETS + WINDOW_BYTES];
  guint8 bytes[WINDOW_BYTES][256];
  guint n[WINDOW_BYTES];
  guint offset = c->view.head.offset, forms = 1;
  memset (sets, 0, sizeof sets);
  needle_byte_sets (&c->matcher->needles[needle], sets,
                    offset + c->window_bytes);
  for (guint j = 0; j < c->window_bytes; j++)
    {
      n[j] = folded_bytes (&sets[offset + j], (guint8)c->view.head.fold,
                           bytes[j]);
      forms *= n[j];
      if (forms > MAX_FORMS)
        return FALSE;
    }
  for (guint form = 0; form < forms; form++)
    {
      Entry entry = { 0, needle };
      guint left = form;
      for (guint j = 0; j < c->window_bytes; left /= n[j], j++)
        entry.window |= (guint32)bytes[j][left % n[j]] << (8 * j);
      g_array_append_val (c->entries, entry);
    }
  return c->entries->len <= MAX_ENTRIES;
}

/* Makes the buckets; FALSE if one is too long. */
static gboolean
fill_buckets (Compiler *c)
{
  guint bits = GPU_FILTER_BITMAP_BITS;
  guint32 before = 0;
  gboolean good = TRUE;
  while (bits < MAX_HASH_BITS && (1u << bits) < 4 * c->entries->len)
    bits++;
  c->view.head.hash_bits = bits;
  g_free (c->buckets);
  c->buckets = g_new0 (guint32, (1u << bits) + 1);
  for (guint i = 0; i < c->entries->len; i++)
    c->buckets[gpu_filter_hash (&c->view,
                                g_array_index (c->entries, Entry, i).window)]++;
  for (guint h = 0; h < 1u << bits; h++)
    {
      guint32 n = c->buckets[h];
      good &= n <= MAX_CHAIN;
      c->buckets[h] = before;
      before += n;
    }
  c->buckets[1u << bits] = before;
  return good;
}

/* Finds the window's offset; FALSE if there is none. */
static gboolean
choose_window (Compiler *c)
{
  guint n_offsets
      = (guint)MIN (c->matcher->min_length - c->window_bytes + 1, OFFSETS);
  gdouble rates[OFFSETS] = { 0 };
  measure_offsets (c, rates, n_offsets);
  for (guint tried = 0; tried < n_offsets; tried++)
    {
      guint best = 0;
      gboolean few = TRUE;
      for (guint o = 1; o < n_offsets; o++)
        if (rates[o] < rates[best])
          best = o;
      rates[best] = G_MAXDOUBLE;
      c->view.head.offset = best;
      g_array_set_size (c->entries, 0);
      for (gsize i = 0; few && i < c->matcher->n_needles; i++)
        few = add_windows (c, (guint32)i);
      if (few && fill_buckets (c))
        return TRUE;
    }
  return FALSE;
}

/* Appends a part of the constant; returns its offset. */
static guint32
append (GByteArray *out, gconstpointer bytes, gsize n)
{
  static const guint8 zeros[GPU_FILTER_CHUNK];
  guint32 at = out->len;
  g_byte_array_append (out, bytes, (guint)n);
  g_byte_array_append (out, zeros, -out->len % GPU_FILTER_CHUNK);
  return at;
}

static void
append_entries (Compiler *c, GByteArray *out)
{
  guint n_buckets = 1u << c->view.head.hash_bits;
  guint shift = c->view.head.hash_bits - GPU_FILTER_BITMAP_BITS;
  g_autofree guint32 *bitmap = g_new0 (guint32, GPU_FILTER_BITMAP_WORDS);
  g_autofree guint32 *needles = g_new (guint32, c->entries->len);
  g_autofree guint32 *next
      = g_memdup2 (c->buckets, n_buckets * sizeof *c->buckets);
  for (guint i = 0; i < c->entries->len; i++)
    {
      const Entry *entry = &g_array_index (c->entries, Entry, i);
      guint32 hash = gpu_filter_hash (&c->view, entry->window);
      needles[next[hash]++] = entry->needle;
      bitmap[hash >> shift >> 5] |= 1u << (hash >> shift & 31);
    }
  c->view.head.bitmap
      = append (out, bitmap, GPU_FILTER_BITMAP_WORDS * sizeof *bitmap);
  c->view.head.buckets
      = append (out, c->buckets, (n_buckets + 1) * sizeof *c->buckets);
  c->view.head.entries
      = append (out, needles, c->entries->len * sizeof *needles);
}

/* FALSE when they are too many. */
static gboolean
append_needles (Compiler *c, GByteArray *out)
{
  gsize n = c->matcher->n_needles;
  g_autofree GpuFilterNeedle *needles = g_new0 (GpuFilterNeedle, n);
  for (gsize i = 0; i < n; i++)
    {
      const Needle *from = &c->matcher->needles[i];
      GpuFilterNeedle *needle = &needles[i];
      guint32 kept = (guint32)MIN (from->length, GPU_FILTER_REACH);
      needle->text = out->len;
      if (from->atoms)
        {
          needle->n_atoms = (guint32)MIN (from->n_atoms, GPU_FILTER_REACH);
          append (out, from->atoms, needle->n_atoms * sizeof *from->atoms);
        }
      else
        {
          needle->length = kept;
          g_byte_array_append (out, from->value, kept);
          append (out, from->fold, kept);
        }
      if (out->len > MAX_BYTES)
        return FALSE;
    }
  c->view.head.needles = append (out, needles, n * sizeof *needles);
  return TRUE;
}

GpuFilter *
gpu_filter_new (const Matcher *matcher, GpuFilterFlags flags)
{
  Compiler c = { .matcher = matcher };
  GpuFilter *filter = NULL;
  if (matcher->has_empty || matcher->n_needles == 0
      || matcher->n_needles > MAX_ENTRIES)
    return NULL;
  c.window_bytes = (guint)MIN (matcher->min_length, WINDOW_BYTES);
  c.view.head.flags = flags;
  c.view.head.mask = 0xffffffffu >> (8 * (WINDOW_BYTES - c.window_bytes));
  c.view.head.fold = matcher->ignore_case ? 0x20202020u : 0;
  c.entries = g_array_new (FALSE, FALSE, sizeof (Entry));
  if (choose_window (&c))
    {
      GByteArray *out = g_byte_array_new ();
      append (out, &c.view.head, sizeof c.view.head);
      append_entries (&c, out);
      if (append_needles (&c, out))
        {
          memcpy (out->data, &c.view.head, sizeof c.view.head);
          filter = g_new (GpuFilter, 1);
          filter->bytes = out->len;
          filter->head = (gpointer)g_byte_array_free (out, FALSE);
        }
      else
        g_byte_array_unref (out);
    }
  g_array_unref (c.entries);
  g_free (c.buckets);
  return filter;
}

void
gpu_filter_free (GpuFilter *filter)
{
  if (!filter)
    return;
  g_free ((gpointer)filter->head);
  g_free (filter);
}
