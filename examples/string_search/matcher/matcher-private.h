/* SPDX-License-Identifier: MIT */
/* The parts of a Matcher, shared by the files that build and run it.
   Everything here is written while the matcher is built and only read
   afterwards.  */

#ifndef STRING_SEARCH_MATCHER_PRIVATE_H
#define STRING_SEARCH_MATCHER_PRIVATE_H

#include <string.h>

#include "fold.h"
#include "matcher.h"

G_BEGIN_DECLS

/* Byte frequencies in 1/400000.  */
extern const guint16 byte_frequency[256];
#define BYTE_FREQUENCY_SCALE 400000.0

typedef struct
{
  guint64 bits[4];
} ByteSet;

/* One pattern, ready to be compared with the text.  Where `atoms` is NULL,
   a text of `length` bytes matches if (text[i] | fold[i]) == value[i] for
   all i; else it is a sequence of one form of each atom.  */
typedef struct
{
  gsize length; /* the least bytes of text that can match */
  gsize max_length;
  guint64 head_value; /* the first 8 bytes of value, fold and mask */
  guint64 head_fold;
  guint64 head_mask;
  guint8 *value;   /* [length] */
  guint8 *fold;    /* [length] */
  FoldAtom *atoms; /* [n_atoms] or NULL */
  gsize n_atoms;
} Needle;

/* Two bytes of a pattern, rare in text, at fixed offsets from the start of
   its atom `anchor` (0 for a needle without atoms), which has at least
   `before` bytes in front of it.  */
typedef struct
{
  gsize anchor;
  gsize before;
  gsize offset[2];
  guint8 fold[2];
  guint8 value[2];
} RarePair;

#define TEDDY_BUCKETS 16
#define TEDDY_BYTES 4

/* A text position can start a match of a needle in bucket b only if bit b is
   set in lo[b / 8][j][x & 15] & hi[b / 8][j][x >> 4] for the byte x at
   offset[j], each j < n_bytes.  */
typedef struct
{
  guint n_bytes;
  guint n_groups; /* 1: 8 buckets, 2: 16 */
  gsize offset[TEDDY_BYTES];
  guint8 lo[2][TEDDY_BYTES][16];
  guint8 hi[2][TEDDY_BYTES][16];
  guint bucket_start[TEDDY_BUCKETS + 1];
  guint32 *needles; /* of each bucket, longest first */
} Teddy;

typedef struct _Aho Aho;

typedef const guint8 *(*FindFunc) (const Matcher *matcher, const guint8 *begin,
                                   const guint8 *end, gsize *match_length);

struct _Matcher
{
  FindFunc find;
  gboolean has_empty;
  gboolean ignore_case;
  gboolean utf8;
  MatcherKernel kernel;
  MatcherStrategy strategy;
  gsize min_length;
  gsize max_length;
  gsize n_needles;
  Needle *needles;
  RarePair pair;
  Teddy teddy;
  Aho *aho;
  FoldTable *folds;
};

/* needle.c */
gboolean needle_init (Needle *needle, const Pattern *pattern,
                      gboolean ignore_case, const FoldTable *folds,
                      GError **error);
void needle_clear (Needle *needle);
/* Adds to sets [n_sets] the bytes possible at each offset of a match.  */
void needle_byte_sets (const Needle *needle, ByteSet *sets, gsize n_sets);
gsize needle_match_atoms (const Needle *needle, const guint8 *p,
                          const guint8 *end);
gsize needle_match_long (const Needle *needle, const guint8 *p);
/* As needle_match(), but `*p` is where atom `anchor` is; moves it to where
   the match starts, not before `begin`.  */
gsize needle_match_around (const Needle *needle, gsize anchor,
                           const guint8 *begin, const guint8 **p,
                           const guint8 *end);

/* plan.c: choose the bytes that the vector kernels look for.  */
/* The share of the bytes of average text that are in `set`.  */
gdouble byte_set_frequency (const ByteSet *set);
gboolean plan_pair (const Matcher *matcher, RarePair *pair);
gdouble plan_teddy (const Matcher *matcher, Teddy *teddy);

/* aho.c */
Aho *aho_new (const Pattern *patterns, gsize n_patterns, const FoldTable *folds,
              gboolean fold_ascii, gsize dense_bytes, GError **error);
void aho_free (Aho *aho);
const guint8 *aho_find (const Matcher *matcher, const guint8 *begin,
                        const guint8 *end, gsize *match_length);

/* kernels-*.c */
const guint8 *pair_find_scalar (const Matcher *matcher, const guint8 *begin,
                                const guint8 *end, gsize *match_length);
#if defined(__x86_64__)
#  define HAVE_X86_KERNELS 1
const guint8 *pair_find_sse (const Matcher *matcher, const guint8 *begin,
                             const guint8 *end, gsize *match_length);
const guint8 *pair_find_avx2 (const Matcher *matcher, const guint8 *begin,
                              const guint8 *end, gsize *match_length);
const guint8 *pair_find_avx512 (const Matcher *matcher, const guint8 *begin,
                                const guint8 *end, gsize *match_length);
const guint8 *teddy_find_sse (const Matcher *matcher, const guint8 *begin,
                              const guint8 *end, gsize *match_length);
const guint8 *teddy_find_avx2 (const Matcher *matcher, const guint8 *begin,
                               const guint8 *end, gsize *match_length);
const guint8 *teddy_find_avx512 (const Matcher *matcher, const guint8 *begin,
                                 const guint8 *end, gsize *match_length);
#elif defined(__aarch64__)
#  define HAVE_NEON_KERNELS 1
const guint8 *pair_find_neon (const Matcher *matcher, const guint8 *begin,
                              const guint8 *end, gsize *match_length);
const guint8 *teddy_find_neon (const Matcher *matcher, const guint8 *begin,
                               const guint8 *end, gsize *match_length);
#endif
const guint8 *teddy_find_scalar (const Matcher *matcher, const guint8 *begin,
                                 const guint8 *end, gsize *match_length);

static inline guint64
load_u64 (const guint8 *p)
{
  guint64 value;

  memcpy (&value, p, sizeof value);
  return value;
}

/* Returns the length of the match of `needle` at `p`, or 0.  */
static inline gsize
needle_match (const Needle *needle, const guint8 *p, const guint8 *end)
{
  gsize left = (gsize)(end - p);
  guint64 head;

  if (left < needle->length)
    return 0;
  if (needle->atoms != NULL)
    return needle_match_atoms (needle, p, end);
  if (G_LIKELY (left >= 8))
    head = load_u64 (p);
  else
    {
      head = 0;
      memcpy (&head, p, left);
    }
  if (((head | needle->head_fold) & needle->head_mask) != needle->head_value)
    return 0;
  return needle->length <= 8 ? needle->length : needle_match_long (needle, p);
}

/* Tests the candidate `*p` of a pair kernel; as needle_match_around().  */
static inline gsize
pair_match (const Matcher *matcher, const guint8 *begin, const guint8 **p,
            const guint8 *end)
{
  const Needle *needle = &matcher->needles[0];

  if (matcher->pair.anchor == 0)
    return needle_match (needle, *p, end);
  return needle_match_around (needle, matcher->pair.anchor, begin, p, end);
}

/* Returns the length of the longest match at `p` of the needles in the
   buckets whose bits are set.  */
static inline gsize
teddy_match (const Matcher *matcher, const guint8 *p, const guint8 *end,
             guint buckets)
{
  const Teddy *teddy = &matcher->teddy;
  gsize longest = 0;

  while (buckets != 0)
    {
      guint b = (guint)__builtin_ctz (buckets);

      buckets &= buckets - 1;
      for (guint i = teddy->bucket_start[b]; i < teddy->bucket_start[b + 1];
           i++)
        {
          const Needle *needle = &matcher->needles[teddy->needles[i]];

          if (needle->max_length > longest)
            longest = MAX (longest, needle_match (needle, p, end));
        }
    }
  return longest;
}

G_END_DECLS

#endif
