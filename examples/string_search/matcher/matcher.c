/* SPDX-License-Identifier: MIT */
/* Builds a matcher: needles, the strategy, the kernel.
   Thread safety: immutable after matcher_new().

   DESIGN.  One pattern is searched by its two rarest bytes, a small set by
   Teddy's nibble masks, a large set by Aho-Corasick.  Teddy also serves one
   pattern whose case forms leave no byte at a fixed place, and gives way to
   Aho-Corasick when its masks let too much of average text through.  The
   widest vectors that the machine has are used, found when the matcher is
   made.  */

#include "matcher-private.h"

/* Above these Aho-Corasick's steady pace wins; measured on word lists.  */
#define TEDDY_MAX_NEEDLES 96
#define TEDDY_MAX_RATE 0.25

gboolean
matcher_kernel_available (MatcherKernel kernel)
{
  switch (kernel)
    {
    case MATCHER_KERNEL_AUTO:
    case MATCHER_KERNEL_SCALAR:
      return TRUE;
#ifdef HAVE_X86_KERNELS
    case MATCHER_KERNEL_SSE:
      return __builtin_cpu_supports ("ssse3");
    case MATCHER_KERNEL_AVX2:
      return __builtin_cpu_supports ("avx2") && __builtin_cpu_supports ("bmi2");
    case MATCHER_KERNEL_AVX512:
      return __builtin_cpu_supports ("avx512bw")
             && matcher_kernel_available (MATCHER_KERNEL_AVX2);
#endif
#ifdef HAVE_NEON_KERNELS
    case MATCHER_KERNEL_NEON:
      return TRUE;
#endif
    default:
      return FALSE;
    }
}

static MatcherKernel
best_kernel (void)
{
  MatcherKernel kernel = MATCHER_KERNEL_NEON;

  while (!matcher_kernel_available (kernel))
    kernel--;
  return kernel;
}

static const guint8 *
find_nothing (const Matcher *matcher, const guint8 *begin, const guint8 *end,
              gsize *match_length)
{
  (void)matcher;
  (void)begin;
  (void)end;
  (void)match_length;
  return NULL;
}

static FindFunc
find_func (MatcherStrategy strategy, MatcherKernel kernel)
{
  gboolean pair = strategy == MATCHER_STRATEGY_PAIR;

  if (strategy == MATCHER_STRATEGY_AHO_CORASICK)
    return aho_find;
  switch (kernel)
    {
#ifdef HAVE_X86_KERNELS
    case MATCHER_KERNEL_SSE:
      return pair ? pair_find_sse : teddy_find_sse;
    case MATCHER_KERNEL_AVX2:
      return pair ? pair_find_avx2 : teddy_find_avx2;
    case MATCHER_KERNEL_AVX512:
      return pair ? pair_find_avx512 : teddy_find_avx512;
#endif
#ifdef HAVE_NEON_KERNELS
    case MATCHER_KERNEL_NEON:
      return pair ? pair_find_neon : teddy_find_neon;
#endif
    default:
      return pair ? pair_find_scalar : teddy_find_scalar;
    }
}

static gboolean
refuse (GError **error, const char *why)
{
  g_set_error (error, MATCHER_ERROR, MATCHER_ERROR_TUNING,
               "cannot search as asked: %s", why);
  return FALSE;
}

/* Sets strategy and what it needs; `patterns` are the non-empty ones.  */
static gboolean
choose_strategy (Matcher *matcher, const Pattern *patterns,
                 const FoldTable *folds, const MatcherTuning *tuning,
                 GError **error)
{
  MatcherStrategy strategy = tuning->strategy;
  gboolean automatic = strategy == MATCHER_STRATEGY_AUTO;

  if (strategy == MATCHER_STRATEGY_PAIR && matcher->n_needles != 1)
    return refuse (error, "a pair kernel serves exactly one pattern");
  if (automatic)
    strategy = matcher->n_needles == 1 ? MATCHER_STRATEGY_PAIR
               : matcher->n_needles <= TEDDY_MAX_NEEDLES
                   ? MATCHER_STRATEGY_TEDDY
                   : MATCHER_STRATEGY_AHO_CORASICK;
  if (strategy == MATCHER_STRATEGY_PAIR && !plan_pair (matcher, &matcher->pair))
    {
      if (!automatic)
        return refuse (error, "the pattern has no byte at a fixed place");
      strategy = MATCHER_STRATEGY_TEDDY;
    }
  if (strategy == MATCHER_STRATEGY_TEDDY
      && plan_teddy (matcher, &matcher->teddy) > TEDDY_MAX_RATE && automatic
      && matcher->n_needles > 8)
    strategy = MATCHER_STRATEGY_AHO_CORASICK;
  if (strategy == MATCHER_STRATEGY_AHO_CORASICK)
    {
      matcher->aho = aho_new (patterns, matcher->n_needles, folds,
                              matcher->ignore_case, tuning->dense_bytes, error);
      if (matcher->aho == NULL)
        return FALSE;
    }
  matcher->strategy = strategy;
  matcher->find = find_func (strategy, matcher->kernel);
  return TRUE;
}

Matcher *
matcher_new (const Pattern *patterns, gsize n_patterns, gboolean ignore_case,
             gboolean utf8, const MatcherTuning *tuning, GError **error)
{
  MatcherTuning options = MATCHER_TUNING_INIT;
  g_autoptr (Matcher) matcher = g_new0 (Matcher, 1);
  g_autofree Pattern *kept = g_new (Pattern, n_patterns);
  FoldTable *folds = NULL;

  if (tuning != NULL)
    memcpy (&options, tuning, MIN (tuning->struct_size, sizeof options));
  if (!matcher_kernel_available (options.kernel))
    {
      refuse (error, "this machine lacks the instructions of that kernel");
      return NULL;
    }
  matcher->kernel
      = options.kernel == MATCHER_KERNEL_AUTO ? best_kernel () : options.kernel;
  matcher->ignore_case = ignore_case;
  matcher->utf8 = utf8;
  matcher->find = find_nothing;
  matcher->min_length = G_MAXSIZE;
  if (ignore_case && utf8)
    matcher->folds = folds = fold_table_new ();

  matcher->needles = g_new0 (Needle, n_patterns);
  for (gsize i = 0; i < n_patterns; i++)
    {
      Needle *needle = &matcher->needles[matcher->n_needles];

      if (patterns[i].length == 0)
        {
          matcher->has_empty = TRUE;
          continue;
        }
      if (!needle_init (needle, &patterns[i], ignore_case, folds, error))
        return NULL;
      kept[matcher->n_needles++] = patterns[i];
      matcher->min_length = MIN (matcher->min_length, needle->length);
      matcher->max_length = MAX (matcher->max_length, needle->max_length);
    }
  if (matcher->n_needles > 0
      && !choose_strategy (matcher, kept, folds, &options, error))
    return NULL;
  return g_steal_pointer (&matcher);
}

void
matcher_free (Matcher *matcher)
{
  if (matcher == NULL)
    return;
  for (gsize i = 0; i < matcher->n_needles; i++)
    needle_clear (&matcher->needles[i]);
  g_free (matcher->needles);
  g_free (matcher->teddy.needles);
  aho_free (matcher->aho);
  fold_table_free (matcher->folds);
  g_free (matcher);
}

const guint8 *
matcher_find (const Matcher *matcher, const guint8 *begin, const guint8 *end,
              gsize *match_length)
{
  return matcher->find (matcher, begin, end, match_length);
}

gboolean
matcher_has_empty (const Matcher *matcher)
{
  return matcher->has_empty;
}

gsize
matcher_max_length (const Matcher *matcher)
{
  return matcher->max_length;
}

MatcherKernel
matcher_kernel (const Matcher *matcher)
{
  return matcher->kernel;
}

MatcherStrategy
matcher_strategy (const Matcher *matcher)
{
  return matcher->strategy;
}
