/* SPDX-License-Identifier: MIT */
/* auto-private.h: what the strategy auto believes of its devices, and the
   plan that it makes from it.

   DESIGN. auto.c lives, auto_gpu.c and auto_cpu.c decide, auto_guard.c says who
   may take part at all, auto_plan.c knows and plans; auto_model.c holds two
   small things that can be tested without a round:
   1. A fit: the service time of a bundle as fixed_ns + ns_per_work * work,
      from weighted least squares over what was seen, newest first.
   2. A fill: who of the devices takes part in what is left, and when all of
      them finish together.
   and auto_shape.c a third: the bundles in which a GPU gets its part.

   Thread safety: plain values. */
#ifndef HASS_SCHED_AUTO_PRIVATE_H
#define HASS_SCHED_AUTO_PRIVATE_H

#include <hass/strategy.h>

/* Zeros: nothing seen. The sums are decayed: those for the slope after a few
   bundles, those for the fixed part after some tens. */
typedef struct
{
  double n, work, ns;             /* for the slope */
  double s, s_w, s_t, s_ww, s_wt; /* for the fixed part, weights 1/ns */
  double least_ns;                /* the shortest seen of late */
  double fixed_ns, ns_per_work;   /* the result */
  double error;                   /* relative, of what was foretold */
  double pair_ns, step, last_work, last_ns; /* see hass_fit_compare */
  gboolean spread; /* sizes differed enough to tell the two */
  guint64 seen;
  guint64 last; /* its device's n_done when last added to */
} HassFit;

void hass_fit_add (HassFit *fit, double work, double ns, double latency_ns);
void hass_fit_compare (HassFit *fit, double work, double ns, double latency_ns);
void hass_fit_scale (HassFit *fit, double times);
void hass_fit_limit (HassFit *fit, double most_fixed_ns);
gboolean hass_fit_hides (const HassFit *fit, double largest);
double hass_fit_ns (const HassFit *fit, double work);

/**
 * HassRunner: a device in a plan. Times count from now.
 * @rate: work per ns; 0: it is not planned with.
 * @ready_ns: when it could begin to compute something new.
 * @step_ns: its least bundle, or one unit on one core, takes so long.
 * @fill_ns: of that, what fills a GPU takes so long.
 * @alone: by such a part a bundle takes longer of which nothing overlaps; in
 *   @ready_ns for @step_ns.
 * @runs: filled in: it takes part.
 */
typedef struct
{
  double rate, ready_ns, step_ns, fill_ns, alone;
  gboolean runs;
} HassRunner;

double hass_fill (HassRunner *runners, guint n, double work);

/* -- auto_levels.c -------------------------------------------------------- */

#define HASS_AUTO_PARTS 32

typedef struct HassAutoLevels HassAutoLevels;

HassAutoLevels *hass_auto_levels_new (guint n_devices);
void hass_auto_levels_free (HassAutoLevels *levels);
double hass_auto_levels_between (const HassAutoLevels *levels, double from,
                                 double to);
void hass_auto_levels_add (HassAutoLevels *levels, guint device, double from,
                           double to, double units, double ns);
void hass_auto_levels_end (HassAutoLevels *levels, guint n_devices);
double hass_auto_levels_doubt (const HassAutoLevels *levels);
double hass_auto_levels_rate (const HassAutoLevels *levels, guint device);
double hass_auto_levels_trust (const HassAutoLevels *levels);

/* -- auto_known.c, auto_plan.c -------------------------------------------- */

#define HASS_AUTO_DEEPEST 8 /* bundles in flight that are kept track of */

#define HASS_AUTO_CORE_THREADS 64 /* of a GPU; no core is slower than those */
#define HASS_AUTO_TRIFLE 0.05 /* of GPUs' rate, not worth waiting for cores */
#define HASS_AUTO_SETTLING 3  /* rounds after the arm has changed */

/* Its parameters. */
enum
{
  HASS_AUTO_PROBE,
  HASS_AUTO_IN_FLIGHT
};

typedef struct
{
  double work, ns; /* work: as if it filled the GPU; ns: as foretold */
  double unfilled; /* its kernel could do so many times as much in its time */
  guint fit;
  gboolean enters;  /* the first of a round, and copies more than itself */
  guint64 first, n; /* its units */
  double level;     /* of their costs, over the mean, as foretold */
  double end_ns;    /* as its stages foretell */
} HassAutoBundle;

/* Stages of a bundle. */
enum
{
  HASS_AUTO_IN,
  HASS_AUTO_KERNEL,
  HASS_AUTO_OUT,
  HASS_AUTO_STAGES
};

/* -- auto_shape.c -------------------------------------------------------- */

/* a * work + b. */
typedef struct
{
  double a, b;
} HassAutoLine;

/**
 * HassAutoPipe: a GPU that is to do more work. Times count from now.
 * @in: its copies in; of the first bundle, if kernels are there, so that one
 *   that ends with them is as large as it may be.
 * @kernel, @out: kernels, copies out.
 * @in_ns: before that no copy in begins.
 * @kernel_ns: until then kernels are there.
 * @next: of a size the largest that may follow it; @a 0: nothing overlaps.
 * @last: of a size the largest that may come before it, at the end.
 * @least: work of the least bundle.
 * @held_up: so many GPUs like it wait for its first copy.
 * @held_later: and so many for what is more of it than @in_time.
 */
typedef struct
{
  HassAutoLine in, kernel, out, next, last;
  double in_ns, kernel_ns, least, held_up, held_later, in_time;
} HassAutoPipe;

/* Bundles for so much work: its first, when they are done, and what counts,
   others' waits included. A little more or less work takes ready_ns + work /
   rate; exposed: kernels wait for the first copy. */
typedef struct
{
  double first;
  gboolean exposed;
  double ns, cost_ns, ready_ns, rate;
} HassAutoShape;

HassAutoShape hass_auto_best_shape (const HassAutoPipe *pipe, double work);

/* -- What auto keeps ----------------------------------------------------- */

/* Index of a fit, a sum: what was on the device, and what it was given. */
enum
{
  HASS_AUTO_IDLE = 1,
  HASS_AUTO_SIMPLE = 2,
  HASS_AUTO_FITS = 4
};

/* What a device has shown; a GPU by bundles, the CPU pool by sums, decayed. */
typedef struct
{
  HassFit fits[HASS_AUTO_FITS];
  double work, busy_ns;
  double mean_rate; /* in the last round in which it did much */
  gboolean valid;
} HassAutoView;

typedef struct
{
  HassAutoView shown;
  HassAutoView views[2];       /* before, from the back, from the front */
  double prior_rate;           /* of its traits or of earlier runs */
  double copy_ns;              /* of what a round's first bundle needs first */
  double entry_ns;             /* with the turns of others on its link */
  gboolean entered;            /* that has been, or is on its way */
  double largest;              /* work of its largest bundle */
  double round_largest;        /* that in this round, finished or not */
  guint64 n_given;             /* bundles */
  guint64 n_done;              /* bundles of all rounds that ended well */
  double first_work, first_ns; /* of the first of them */
  gboolean failed;             /* its last grant did */
  gboolean absent;             /* nobody asks for it */
  gboolean hopeless;           /* unmeasured, and could not help if it could */
  double fill_units;           /* that offer as many elements as it is wide */
  gboolean asked;              /* in this round */
  guint mute_rounds;           /* in which it could have and did not */
  gboolean back;               /* it is idle since now and will ask */
  guint64 asked_at;            /* completions of all devices by then */

  HassAutoBundle bundles[HASS_AUTO_DEEPEST]; /* GPU: in flight, oldest first */
  guint n_bundles;
  double queue_ns; /* sum of theirs */
  gint64 since_ns; /* when the first of them began */
  gint64 end_ns;   /* of the last one */

  /* Decayed: time at a link that others use too, over what it needed itself. */
  double waited_ns, needed_ns, link_wait;

  /* Decayed: what bundles took on the way in, there, and on the way out. */
  double in_ns, kernels_ns, out_ns;

  /* Decayed: for how long kernels kept it busy, and their work. */
  double computed_ns, computed_work;

  /* auto_pipeline.c: from when on its stages are known well enough. */
  HassFit stages[HASS_AUTO_STAGES];
  gboolean pipelined;
  gboolean smooth; /* less than what fills it takes less time */
  double in_end_ns, kernel_end_ns, out_end_ns; /* of what it has */
  double rest;                                 /* of its part */
  HassAutoShape shape;      /* of that, from kernel_end_ns on */
  HassAutoShape whole;      /* of a whole round's part */
  double whole_ns_per_work; /* of kernels then */

  /* Decayed: time of cores that a GPU's bundles cost, and their work. */
  double host_ns, host_work;

  /* What it did in this round, fixed parts left out. */
  double done_work, done_ns;

  /* The CPU pool. */
  HassProgress seen;
  gint64 units;   /* granted in this round and not stolen */
  guint64 n_seen; /* units, of all rounds */

  /* Measured alone in this round; 0: not. When it may be again. */
  double solo_fixed_ns, solo_ns_per_work;
  guint64 probe_at;
  guint hidden_rounds; /* in which all took part to see how fast it is */
} HassAutoMember;

/* A set of devices that may compute a round; see auto_guard.c. */
typedef struct
{
  double factor;    /* its rounds took so many times as long as planned */
  guint rounds;     /* that were measured */
  gboolean outlier; /* the last of them took much longer and is not counted */
  double work;      /* of the last of them */
  double ns;        /* of the present round, as foretold */
} HassAutoArm;

/* Rounds in which GPUs took from one end. */
typedef struct
{
  double ns_per_work; /* decayed mean */
  guint rounds;
} HassAutoEnd;

typedef struct
{
  const HassStrategyEnv *env;
  guint n, cpu; /* cpu: n where there is none */
  HassAutoMember *members;
  HassRunner *plan; /* [n] */
  guint64 *counts;  /* [n], scratch */
  gint64 now_ns;    /* of the last completion */
  guint64 n_told;   /* completions */
  guint64 n_waited; /* of this round, while units waited for anybody */
  gint64 begin_ns;  /* of the round, once begun */
  double spent_ns;  /* in rounds before */
  gboolean begun;   /* something of it has finished */
  double unit_work, unit_elements, unit_bytes, finish_ns, left;
  double longest; /* work of the round's longest unit, where costs are known */
  guint64 share_back;
  guint64 first_mpd; /* function farm: position of its first parallel task */
  HassAutoLevels *levels; /* NULL: costs are known, or their order is ours */
  guint64 round_units;
  gboolean may_list; /* loads of known sizes, one to a multiprocessor each */
  gboolean listed;   /* and in ascending order, in this round */
  gboolean reversed; /* GPUs take from the front, cores from the back */
  const char *why;   /* of the last decision, for people */

  /* auto_cpu.c: all cores wait, since then and so many completions, for so long
     at most; and have waited in this round. */
  double wait_ns, waited_ns;
  gint64 wait_from_ns;
  guint64 wait_told;

  /* auto_guard.c. Arm d: that device alone; n: all; n + 1: all but the CPU. */
  HassAutoArm *arms; /* [n + 2] */
  guint streak;      /* rounds since that changed */
  guint arm, used;   /* of this round; of the last one that was measured */
  gboolean chosen;   /* and not for want of knowledge */
  gboolean together; /* all have done such a round */
  double round_work, planned_ns;
  guint64 retry_at, retry_gap, probe_at; /* rounds */
  guint hiding; /* all take part to see how fast it is; or G_MAXUINT */
  gboolean probing, probed; /* still; in this round */
  gboolean probe_later;     /* somebody, when more time has passed */
  guint solo;               /* who is probed; n: nobody yet */
  double solo_work, solo_given, solo_ns;
  HassFit solo_fits[HASS_AUTO_FITS]; /* as they were before */
  HassProgress solo_seen;

  /* auto_ends.c: of GPUs from the back, from the front. */
  HassAutoEnd ends[2];
  gboolean best_end, trying_end;
  guint tried;        /* rounds of a trial */
  guint64 try_end_at; /* round */
} HassAuto;

/* A line for whoever wants to know; costs a look when nobody does. */
#define HASS_AUTO_NOTE(s, ...)                                                 \
  do                                                                           \
    if (G_UNLIKELY ((s)->env->note != NULL))                                   \
      (s)->env->note ((s)->env->note_data, __VA_ARGS__);                       \
  while (0)

void hass_auto_look_at_cpu (HassAuto *s, const HassRound *round);
double hass_auto_of_late (const HassAuto *s, guint device, double rate);
double hass_auto_cpu_rate (const HassAuto *s);
gboolean hass_auto_simple (const HassAuto *s, const HassRound *round);
const HassFit *hass_auto_fit_of (const HassAuto *s, const HassRound *round,
                                 guint device, gboolean idle);
gboolean hass_auto_measured (const HassAuto *s, const HassRound *round,
                             guint device);
gint64 hass_auto_core_units (const HassAuto *s, const HassRound *round);
gboolean hass_auto_busy (const HassAuto *s, const HassRound *round,
                         guint device);
gboolean hass_auto_all_settled (const HassAuto *s, const HassRound *round,
                                gboolean planned);
gboolean hass_auto_long_units (const HassAuto *s);
gsize hass_auto_middle_bytes (const HassRound *round);
gboolean hass_auto_are_data (const HassRound *round);
gboolean hass_auto_warming_up (const HassAuto *s, const HassRound *round,
                               double soon_ns, gboolean few);
guint64 hass_auto_cpu_share (const HassAuto *s, const HassRound *round);
double hass_auto_range_work (const HassAuto *s, const HassRound *round,
                             guint64 first, guint64 n);
gboolean hass_auto_alike (const HassAuto *s, guint one, guint other);
gboolean hass_auto_differs (const HassAuto *s);
double hass_auto_next_level (const HassAuto *s, const HassRound *round,
                             guint device);
double hass_auto_bundle_ns (const HassAuto *s, guint device, const HassFit *fit,
                            double work, double level);
double hass_auto_fixed_ns (const HassAuto *s, const HassRound *round,
                           guint device, const HassFit *fit);
guint64 hass_auto_units_of (const HassAuto *s, const HassRound *round,
                            guint64 lo, guint64 hi, gboolean back, double work);
double hass_auto_level (const HassAuto *s, guint64 first, guint64 n);
double hass_auto_work_at (const HassAuto *s, const HassRound *round,
                          gboolean gpu, guint64 n);
gboolean hass_auto_out (const HassAuto *s, guint device);
void hass_auto_judge (HassAuto *s, const HassRound *round, guint device);
double hass_auto_fill_work (const HassAuto *s, guint device);
gboolean hass_auto_counts_elements (const HassAuto *s);
double hass_auto_elements (const HassAuto *s, const HassRound *round,
                           guint64 first, guint64 n, guint some);
double hass_auto_fill_next (const HassAuto *s, const HassRound *round,
                            guint device);
double hass_auto_listed_work (const HassAuto *s, const HassRound *round,
                              guint device, guint64 first, guint64 n);
guint64 hass_auto_least_units (const HassAuto *s, const HassRound *round,
                               guint device);
double hass_auto_unit_ns (const HassAuto *s, const HassRound *round);
double hass_auto_next_free_ns (const HassAuto *s, const HassRound *round,
                               double unit_ns);
gboolean hass_auto_costs_more (const HassAuto *s, guint device);
double hass_auto_alone_part (const HassAuto *s, guint device);
guint hass_auto_in_flight (const HassAuto *s, guint device);
gboolean hass_auto_overlaps (const HassAuto *s, guint device);
void hass_auto_make_plan (HassAuto *s, const HassRound *round, guint asking);
double hass_auto_whole_ns (HassAuto *s, double work);
gboolean hass_auto_known (const HassAuto *s, const HassRound *round,
                          guint device);
gboolean hass_auto_all_measured (const HassAuto *s, const HassRound *round);
gboolean hass_auto_all_known (const HassAuto *s, const HassRound *round);
guint64 hass_auto_kept_units (const HassAuto *s, const HassRound *round);

/* -- auto_bundle.c ------------------------------------------------------- */

double hass_auto_bundle_work (HassAuto *s, const HassRound *round,
                              guint device);

/* -- auto_pipeline.c ----------------------------------------------------- */

gboolean hass_auto_pipelined (const HassAuto *s, guint device);
void hass_auto_pipeline_observe (HassAuto *s, const HassCompletion *done,
                                 const HassAutoBundle *b, double entry_ns);
void hass_auto_pipeline_begin (HassAuto *s, const HassRound *round);
gboolean hass_auto_pipeline_whole (const HassAuto *s, guint device, double work,
                                   HassRunner *r);
gboolean hass_auto_pipeline_plan (const HassAuto *s, guint device,
                                  HassRunner *r);
gboolean hass_auto_pipeline_waits (const HassAuto *s, guint device);
double hass_auto_pipeline_next (const HassAuto *s, guint device, double work);
void hass_auto_pipeline_granted (HassAuto *s, guint device, HassAutoBundle *b);
void hass_auto_pipeline_rest (HassAuto *s, guint device, double given);
void hass_auto_pipeline_idle (HassAuto *s, guint device);
void hass_auto_pipeline_shift (HassAuto *s, double by_ns);

/* -- auto_gpu.c, auto_cpu.c ---------------------------------------------- */

HassAnswer hass_auto_grant_gpu (HassAuto *s, HassRound *round, guint device,
                                gboolean force, HassGrant *grant);
HassAnswer hass_auto_grant_cpu (HassAuto *s, HassRound *round, gboolean force,
                                HassGrant *grant);

/* -- auto_ends.c --------------------------------------------------------- */

void hass_auto_ends_begin (HassAuto *s, const HassRound *round);
void hass_auto_ends_end (HassAuto *s, const HassRoundSummary *summary);

/* -- auto_guard.c ------------------------------------------------------- */

gboolean hass_auto_takes_part (const HassAuto *s, guint device);
void hass_auto_guard_begin (HassAuto *s, const HassRound *round);
void hass_auto_guard_watch (HassAuto *s);
void hass_auto_guard_give_up (HassAuto *s);
void hass_auto_guard_end (HassAuto *s, const HassRoundSummary *summary);
gboolean hass_auto_guard_waits (HassAuto *s, const HassRound *round,
                                guint device, gboolean force, double *work);

#endif
