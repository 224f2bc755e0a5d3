/* SPDX-License-Identifier: MIT */
/* Chooses the bytes that the vector kernels look for.
   Thread safety: no state.

   DESIGN.  Both kernels test the text at fixed offsets from a candidate and
   try candidates from the left.  The pair kernel takes the two rarest bytes
   of its one pattern; where case forms of several lengths come before them,
   the candidate is the place of a later character, and the match's start is
   found by going back from it.  That keeps the order: of two matches of one
   pattern, the one that starts first has each of its characters first.
   Teddy's candidates are the starts themselves.  Its window is up to four
   bytes at offsets common to all patterns, not always next to each other,
   those that let the fewest positions of average text through; patterns with
   like windows share a bucket.  More bytes and buckets let less through and
   cost more; the cheapest shape is taken.  */

#include "matcher-private.h"

#include <stdlib.h>

#define PAIR_OFFSETS 256 /* how far into the pattern we look */
#define TEDDY_OFFSETS 32
/* What Teddy pays, in instructions of a vector of 64 starts: for each byte of
   the window, for its lookups in 8 buckets, for a candidate at every start
   with the branches it turns.  */
#define BYTE_COST 4
#define GROUP_COST 2
#define VERIFY_COST (64.0 * 60)
/* A pair that lets more through than this is no better than Teddy.  */
#define PAIR_MAX_RATE 0.02

static gboolean
has_byte (const ByteSet *set, guint byte)
{
  return (set->bits[byte >> 6] >> (byte & 63) & 1) != 0;
}

gdouble
byte_set_frequency (const ByteSet *set)
{
  gdouble sum = 0;

  for (guint word = 0; word < 4; word++)
    for (guint64 bits = set->bits[word]; bits != 0; bits &= bits - 1)
      sum += byte_frequency[word * 64 + (guint)__builtin_ctzll (bits)];
  return MIN (sum / BYTE_FREQUENCY_SCALE, 1.0);
}

/* Expresses `set` as { x : (x | fold) == value }, if it can be.  */
static gboolean
set_as_fold (const ByteSet *set, guint8 *fold, guint8 *value)
{
  guint first = 0;
  guint last = 255;
  guint n = 0;

  for (guint word = 0; word < 4; word++)
    n += (guint)__builtin_popcountll (set->bits[word]);
  if (n == 0 || n > 2)
    return FALSE;
  while (!has_byte (set, first))
    first++;
  while (!has_byte (set, last))
    last--;
  *fold = (guint8)(first ^ last);
  *value = (guint8)last;
  return (*fold & (*fold - 1)) == 0;
}

/* Chooses the pair within the first bytes of `needle`, no more than
   `n_bytes`; returns the share of text positions that it lets through, or 2
   if no byte will do.  */
static gdouble
choose_pair (const Needle *needle, gsize n_bytes, RarePair *pair)
{
  ByteSet sets[PAIR_OFFSETS];
  gsize n = MIN (n_bytes, PAIR_OFFSETS);
  gdouble best[2] = { 2.0, 2.0 };

  memset (sets, 0, sizeof sets);
  needle_byte_sets (needle, sets, n);
  for (gsize i = 0; i < n; i++)
    {
      guint8 fold;
      guint8 value;
      gdouble frequency;
      guint slot;

      if (!set_as_fold (&sets[i], &fold, &value))
        continue;
      frequency = byte_set_frequency (&sets[i]);
      /* A second equal byte adds little to what the first showed.  */
      if (best[0] <= 1.0 && value == pair->value[0])
        frequency = MIN (1.0, frequency * 4 + 0.01);
      if (frequency < best[0])
        {
          best[1] = best[0];
          pair->offset[1] = pair->offset[0];
          pair->fold[1] = pair->fold[0];
          pair->value[1] = pair->value[0];
          slot = 0;
        }
      else if (frequency < best[1])
        slot = 1;
      else
        continue;
      best[slot] = frequency;
      pair->offset[slot] = i;
      pair->fold[slot] = fold;
      pair->value[slot] = value;
    }
  if (best[0] > 1.0)
    return 2.0;
  if (best[1] > 1.0)
    {
      pair->offset[1] = pair->offset[0];
      pair->fold[1] = pair->fold[0];
      pair->value[1] = pair->value[0];
      return best[0];
    }
  return best[0] * best[1];
}

/* The bytes of each form of `atom`, or 0 if they differ.  */
static gsize
fixed_length (const FoldAtom *atom)
{
  for (guint f = 1; f < atom->n_forms; f++)
    if (atom->length[f] != atom->length[0])
      return 0;
  return atom->length[0];
}

static gsize
shortest_form (const FoldAtom *atom)
{
  gsize length = atom->length[0];

  for (guint f = 1; f < atom->n_forms; f++)
    length = MIN (length, atom->length[f]);
  return length;
}

/* Among the runs of atoms of fixed length, at whose start a pair can be
   anchored, takes the one with the rarest pair.  */
gboolean
plan_pair (const Matcher *matcher, RarePair *pair)
{
  const Needle *needle = &matcher->needles[0];
  gdouble best = 2.0;
  gsize before = 0;

  if (needle->atoms == NULL)
    return choose_pair (needle, needle->length, pair) <= 1.0;
  for (gsize i = 0; i < needle->n_atoms;)
    {
      Needle run = { .atoms = &needle->atoms[i] };
      RarePair candidate = { .anchor = i, .before = before };
      gsize length;
      gdouble rate;

      while (i < needle->n_atoms
             && (length = fixed_length (&needle->atoms[i])) > 0)
        {
          run.length += length;
          run.n_atoms++;
          i++;
        }
      before += run.length;
      rate = run.length > 0 ? choose_pair (&run, run.length, &candidate) : 2.0;
      if (rate < best)
        {
          best = rate;
          *pair = candidate;
        }
      if (i < needle->n_atoms)
        before += shortest_form (&needle->atoms[i++]);
    }
  return best <= PAIR_MAX_RATE;
}

/* A needle's window, as plan_teddy() sorts and buckets it.  */
typedef struct
{
  ByteSet sets[TEDDY_BYTES];
  guint32 needle;
  gsize max_length;
} Window;

static int
compare_windows (const void *a, const void *b)
{
  const Window *x = a;
  const Window *y = b;
  int order = 0;

  for (guint j = 0; j < TEDDY_BYTES && order == 0; j++)
    order = memcmp (&x->sets[j], &y->sets[j], sizeof x->sets[j]);
  return order;
}

static int
compare_lengths (const void *a, const void *b)
{
  const Window *x = a;
  const Window *y = b;

  return x->max_length > y->max_length ? -1 : x->max_length < y->max_length;
}

/* Chooses the window's offsets [n_bytes], one after the other.  */
static void
choose_offsets (const Matcher *matcher, guint n_bytes, gsize *offset)
{
  gsize n_offsets = MIN (matcher->min_length, TEDDY_OFFSETS);
  gsize n = matcher->n_needles;
  g_autofree gdouble *frequency = g_new (gdouble, n * n_offsets);
  g_autofree gdouble *rate = g_new (gdouble, n); /* by the bytes so far */
  gboolean taken[TEDDY_OFFSETS] = { FALSE };

  for (gsize i = 0; i < n; i++)
    {
      ByteSet sets[TEDDY_OFFSETS];

      memset (sets, 0, sizeof sets);
      needle_byte_sets (&matcher->needles[i], sets, n_offsets);
      for (gsize o = 0; o < n_offsets; o++)
        frequency[i * n_offsets + o] = byte_set_frequency (&sets[o]);
      rate[i] = 1;
    }
  for (guint j = 0; j < n_bytes; j++)
    {
      gdouble least = G_MAXDOUBLE;

      for (gsize o = 0; o < n_offsets; o++)
        {
          gdouble sum = 0;

          for (gsize i = 0; i < n; i++)
            sum += rate[i] * frequency[i * n_offsets + o];
          if (!taken[o] && sum < least)
            {
              least = sum;
              offset[j] = o;
            }
        }
      taken[offset[j]] = TRUE;
      for (gsize i = 0; i < n; i++)
        rate[i] *= frequency[i * n_offsets + offset[j]];
    }
}

/* The share of text positions whose byte `j` passes the tables of bucket
   `b`.  */
static gdouble
pass_rate (const Teddy *teddy, guint b, guint j)
{
  guint bit = 1u << (b % 8);
  ByteSet set = { { 0 } };

  for (guint x = 0; x < 256; x++)
    if ((teddy->lo[b / 8][j][x & 15] & teddy->hi[b / 8][j][x >> 4] & bit) != 0)
      set.bits[x >> 6] |= G_GUINT64_CONSTANT (1) << (x & 63);
  return byte_set_frequency (&set);
}

static void
add_to_tables (Teddy *teddy, const Window *window, guint b)
{
  guint8 bit = (guint8)(1u << (b % 8));

  for (guint j = 0; j < teddy->n_bytes; j++)
    for (guint x = 0; x < 256; x++)
      if (has_byte (&window->sets[j], x))
        {
          teddy->lo[b / 8][j][x & 15] |= bit;
          teddy->hi[b / 8][j][x >> 4] |= bit;
        }
}

/* Fills `teddy` for `n_groups` from the windows [n], which are sorted, and
   drops the bytes that cost more than they save; returns the cost of a vector
   and stores the share of starts that are candidates.  */
static gdouble
fill_tables (Teddy *teddy, const Window *windows, gsize n, guint n_groups,
             gdouble *rate)
{
  guint n_buckets = n_groups * 8;
  gdouble sum[TEDDY_BYTES] = { 0 }; /* of the rates by the first j + 1 bytes */
  gdouble best = G_MAXDOUBLE;
  guint n_bytes = 0;

  teddy->n_groups = n_groups;
  memset (teddy->lo, 0, sizeof teddy->lo);
  memset (teddy->hi, 0, sizeof teddy->hi);
  for (guint b = 0; b < TEDDY_BUCKETS; b++)
    {
      gsize first = n * MIN (b, n_buckets) / n_buckets;
      gsize last = n * MIN (b + 1, n_buckets) / n_buckets;
      gdouble passed = 1;

      teddy->bucket_start[b] = (guint)first;
      teddy->bucket_start[b + 1] = (guint)last;
      if (first == last)
        continue;
      for (gsize i = first; i < last; i++)
        add_to_tables (teddy, &windows[i], b);
      for (guint j = 0; j < teddy->n_bytes; j++)
        {
          passed *= pass_rate (teddy, b, j);
          sum[j] += passed;
        }
    }
  for (guint j = 0; j < teddy->n_bytes; j++)
    {
      gdouble cost = (j + 1) * (BYTE_COST + GROUP_COST * n_groups)
                     + sum[j] * VERIFY_COST;

      if (cost < best)
        {
          best = cost;
          n_bytes = j + 1;
          *rate = sum[j];
        }
    }
  teddy->n_bytes = n_bytes;
  return best;
}

/* Fills `teddy`; returns the share of positions of average text at which a
   candidate has to be verified.  */
gdouble
plan_teddy (const Matcher *matcher, Teddy *teddy)
{
  gsize n = matcher->n_needles;
  guint n_bytes = (guint)MIN (matcher->min_length, TEDDY_BYTES);
  g_autofree Window *windows = g_new0 (Window, n);
  gdouble rate = 1;

  memset (teddy, 0, sizeof *teddy);
  choose_offsets (matcher, n_bytes, teddy->offset);
  for (gsize i = 0; i < n; i++)
    {
      ByteSet sets[TEDDY_OFFSETS];

      memset (sets, 0, sizeof sets);
      needle_byte_sets (&matcher->needles[i], sets, TEDDY_OFFSETS);
      for (guint j = 0; j < n_bytes; j++)
        windows[i].sets[j] = sets[teddy->offset[j]];
      windows[i].needle = (guint32)i;
      windows[i].max_length = matcher->needles[i].max_length;
    }
  qsort (windows, n, sizeof *windows, compare_windows);

  teddy->n_bytes = n_bytes;
  gdouble cost = fill_tables (teddy, windows, n, 1, &rate);
  if (n > 8)
    {
      Teddy other = *teddy;
      gdouble other_rate = 1;

      other.n_bytes = n_bytes;
      if (fill_tables (&other, windows, n, 2, &other_rate) < cost)
        {
          *teddy = other;
          rate = other_rate;
        }
    }

  teddy->needles = g_new (guint32, n);
  for (guint b = 0; b < TEDDY_BUCKETS; b++)
    {
      guint first = teddy->bucket_start[b];
      guint last = teddy->bucket_start[b + 1];

      qsort (windows + first, last - first, sizeof *windows, compare_lengths);
      for (guint i = first; i < last; i++)
        teddy->needles[i] = windows[i].needle;
    }
  return rate;
}
