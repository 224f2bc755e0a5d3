/* SPDX-License-Identifier: MIT */
/* stream-private.h: what the files of a running pipeline share.
   Thread safety: each field says who uses it. */
#ifndef HASS_STREAM_PRIVATE_H
#define HASS_STREAM_PRIVATE_H

#include "recycle.h"
#include "stream.h"

/* Most tokens in a batch. More, and tiny tokens wait for longer; fewer, and a
   turn is passed more often. On 16 cores 256 were no faster. */
#define HASS_BATCH_TOKENS 64
/* Work of a batch at all stages together, in ns, if enough loads wait, and of
   the rounds that it goes while some of its tokens are sent back: at least, and
   for each core. More, and tokens wait for the others of their batch; less, and
   cores wait for each other, as one admits, or passes a turn on, for 0.5 us. */
#define HASS_BATCH_NS 20000
#define HASS_CORE_BATCH_NS 5000
/* A batch of less work than this, in ns, is not made smaller to leave tokens
   for other cores; as HASS_PULL_NS. */
#define HASS_LEAST_BATCH_NS 2000
/* A token that is sent back more often than this fails: it would go round for
   ever. A guess. */
#define HASS_MOST_AGAINS 65536
/* Sizes of a batch's array of items: 1, 2, 4, ... HASS_BATCH_TOKENS. */
#define HASS_N_SIZES 7
/* Sizes of chunks: powers of two. */
#define HASS_CHUNK_CLASSES 63

/* Memory for outputs and parts. */
typedef struct HassChunk HassChunk;
struct HassChunk
{
  HassFree free;      /* while it is free */
  guint8 *data;       /* [bytes], aligned to 64 bytes */
  gsize bytes;        /* a power of two */
  guint size_class;   /* log2 of bytes */
  gboolean pinned;    /* page-locked, for fast copies */
  _Atomic guint refs; /* items whose input or output lies in it */
};

/* A load of which parts are on their way. */
typedef struct
{
  _Atomic guint refs;
  _Atomic gboolean failed; /* a part has failed */
  /* what tokens replaced by their parts count in HassStream.bytes */
  _Atomic gsize charge;
} HassOrigin;

typedef enum
{
  HASS_ITEM_ALIVE,
  HASS_ITEM_DROPPED, /* by hass_token_drop(), or replaced by its parts */
  HASS_ITEM_FAILED,
  HASS_ITEM_AGAIN /* sent back by hass_token_again() */
} HassItemState;

/* A token with what the library needs to know of it. */
typedef struct
{
  HassToken token; /* first, so that a token's address is its item's */
  HassLoad load;
  HassOrigin *origin; /* of a part; NULL: the item is a load of its own */
  HassChunk *chunk;   /* memory of the token's input; NULL: the user's */
  HassChunk *fresh;   /* memory of the token's output, or NULL */
  gsize charge;       /* bytes that it counts in HassStream.bytes */
  guint32 agains;     /* how often it was sent back */
  guint8 state;       /* HassItemState */
  guint8 due;         /* the stage that computes it next, if it is later than
                         that of its batch */
  /* too large for a device that computes several stages on it at once */
  guint8 one_stage;
} HassItem;

/* The state of a batch's turn at an ordered stage. */
enum
{
  HASS_TURN_NONE,   /* the batch has neither come nor the turn */
  HASS_TURN_PARKED, /* the batch has come and waits */
  HASS_TURN_HERE    /* the batch has the turn */
};

typedef struct HassRace HassRace; /* restart.c */

struct HassBatch
{
  HassFree free;   /* while it is free */
  HassBatch *next; /* its successor in the order; written by its owner */
  HassBatch *link; /* the next in a ready set or a queue */
  HassItem *items; /* [capacity], a power of two */
  guint32 n, capacity;
  guint32 n_alive;
  guint stage;
  gboolean entered; /* it may run at its stage: has its turn or its place */
  gint64 since_ns;  /* when it came to its stage */
  gint64 back_ns;   /* when a stage first sent tokens of it back; 0: none has */
  _Atomic guint8 turn[HASS_MAX_CLASSES];

  /* Of a stand-in, see restart.c: the batch that it stands for; NULL: it is
     none. By its owner, but @race and the list under race_lock. */
  HassBatch *original;
  HassRace *race; /* NULL: it is the only one, in the list of those */
  HassBatch *older, *newer;
  guint device;          /* that computes it */
  gint64 begun_ns;       /* since when */
  gsize charge;          /* what the batch's tokens counted then */
  gboolean owns_tags;    /* a token does: no second one may be made */
  gboolean second;       /* the batch had another one before */
  gboolean claims;       /* its results are the batch's; under race_lock */
  _Atomic gboolean lost; /* those of the other stand-in are */
};

/* Tokens that wait before a stage, or for a place in it; a list of batches,
   first in, first out. */
typedef struct
{
  _Alignas(HASS_CACHE_LINE) pthread_mutex_t lock;
  HassBatch *head, *tail;
  _Atomic guint64 n_tokens;
  _Atomic gint64 oldest_ns;
} HassBatchQueue;

typedef struct
{
  HassStage public;      /* the user's, with all defaults filled in */
  HassStageFunc compute; /* the CPU worker, or what stands in for it */
  char *label;           /* "stage 'write'", for messages */
  gboolean ordered;      /* ORDERED or CALLER */
  gboolean linked;       /* devices beside the CPU pool have a worker for it */
  gboolean promises;     /* has output_bytes or output_ratio */
  gboolean restarts;     /* linked and pure: see restart.c */
  HassDeviceStage sizes; /* for hass_device_stage_output() */
  HassBatchQueue ready;
  HassBatchQueue cores; /* ready, but too large for other devices */
  /* SERIAL stages, those with at_once and linked ones: batches that cores
     compute. Of a linked stage, batches wait in the ready set for a place, else
     in @waiting; then both are changed under its lock. @most: 0: no bound. */
  guint most;
  _Atomic guint running;
  HassBatchQueue waiting;
  _Atomic gint64 n_parked; /* tokens that wait for their turn, if ordered */
  gboolean backed_up; /* see turn.c; by who has the turn, or @waiting.lock */
  /* of a linked stage, what the strategy says, see HassServe; and whether that
     holds: a device is left for the stage, and the pipeline has not stalled */
  _Atomic guint32 leave, at_once;
  _Atomic gboolean bound;
  gpointer *accumulators; /* [n_workers], or NULL */
} HassStageState;

/* What a worker has done at a stage. Written by the worker alone. */
typedef struct
{
  _Atomic guint64 tokens, bytes, batches;
  _Atomic guint64 lost;     /* tokens that another device has computed before */
  guint64 again, overtaken; /* as in HassStageReport */
  _Atomic gint64 busy_ns, waited_ns;
  _Atomic gint64 helped_ns; /* of @busy_ns, of other threads in its loops */
  _Atomic double token_ns;  /* recent time of a token; 0: unknown */
} HassStageCount;

/* What the strategy was told of the cores' work at a stage. */
typedef struct
{
  guint64 tokens, bytes, lost;
  gint64 busy_ns, held_ns;
} HassStageTold;

/* What belongs to one worker context. */
typedef struct
{
  _Alignas(HASS_CACHE_LINE) HassStageCount stages[HASS_MAX_CLASSES];
  /* stage that the core computes at, plus 1, and tokens there; 0: none */
  _Atomic guint32 at_stage, n_running;
  HassItem *item;      /* the one that its callback computes, or NULL */
  guint32 n_computed;  /* items of its last batch that were looked at */
  guint32 n_resting;   /* items of it that are due later, or behind such */
  guint32 n_done;      /* of these, tokens that were computed */
  guint32 n_stay;      /* of these, that do not go on to the next stage */
  guint64 n_bytes;     /* of the inputs of those computed */
  guint64 n_through;   /* tokens whose end it made, but for those that failed */
  HassItem *items;     /* of the batch that it computes */
  HassBatch *stand_in; /* that batch, if it is one, or NULL */
  guint stage;         /* the stage of that batch */
  gsize most_output;   /* size of the item's output, if it has one */
  guint32 n_again;     /* tokens of its last batch that were sent back */
  HassBatch *later;    /* what it computes after the batch, or NULL */
  GArray *parts;       /* HassPart: what the batch's tokens have emitted */
  GPtrArray *buffers;  /* HassChunk: of hass_token_buffer() in this call */
  /* the arrays above are not empty; here, because their lengths lie in cache
     lines that other threads write */
  gboolean has_parts, has_buffers;
  guint last_batch; /* tokens of the last batch that it admitted */
  HassRack free_batches, free_items[HASS_N_SIZES];
  HassRack free_chunks[HASS_CHUNK_CLASSES];
} HassStreamWorker;

/* A part that a token has emitted. */
typedef struct
{
  guint32 index; /* of its token in the batch */
  HassItem item;
} HassPart;

/* Loads taken from the load pool at once, which cores copy, each its own. */
typedef struct
{
  HassSpan span;
  guint64 seq; /* of the first load */
  guint32 at;  /* the loads before it are admitted; under admit_lock */
  /* loads that are not copied yet, by all copiers */
  _Alignas(HASS_CACHE_LINE) _Atomic guint32 left;
} HassIntake;

struct HassStream
{
  HassJob *job;
  guint n_stages;
  HassStageState *stages;
  HassClassTraits *classes;
  HassStreamWorker *workers; /* [job->n_workers] */
  gboolean promises;         /* some stage promises an output */
  /* see alone.c: the cores are alone for at most so many loads and so long, in
     ns from the begin of the job */
  guint64 alone_loads;
  double alone_ns;
  gsize user_tokens;         /* bound of the user, or the default */
  _Atomic gsize most_tokens; /* bound of the strategy, at most @user_tokens */
  gsize given_bytes;         /* the user's bound; 0: see window.c */
  _Atomic gsize most_bytes;  /* the bound now */
  _Atomic gsize largest;     /* that a token so far has counted in it */
  _Atomic guint64 wanted;    /* tokens, by the strategy; 0: it wants no more */
  /* [n_stages] in which cores look for ready batches: stages that compute one
     token at a time first, which at most one core can take, then the others,
     both from the last on: few bytes are in flight, and a stage that binds is
     not kept waiting by work that comes after it */
  guint order[HASS_MAX_CLASSES];
  gboolean linked;   /* a stage can run on devices beside the CPU pool */
  gboolean restarts; /* a stage does */
  _Atomic guint n_backed_up; /* stages that are; see turn.c */
  _Atomic guint feed;        /* see HassServe.feed */
  /* By the generating thread: since when it leaves tokens to others, until when
     at most, and HassPhases.room_ns then, which differs in each emission. */
  gint64 declined_ns, declines_until_ns, declined_room_ns;

  /* Under the decision lock. */
  gint64 consulted_ns; /* when the strategy was asked for the CPU pool */
  gint64 told_ns;      /* when a device was last done with a grant */
  gboolean was_forced; /* the last question for the CPU pool was with force */
  gboolean unleashed;  /* cores take from all stages: see ask.c */
  HassStageTold *told; /* [n_stages] */
  guint64 *holds;      /* [n_devices][n_stages] tokens granted */
  guint *bundles, *depth; /* [n_devices] grants in flight, and most of them */
  gint64 *busy_until_ns;  /* [n_devices] its busy time is counted until then */
  gboolean (*tells_busy)[HASS_N_STAGES]; /* [n_devices] hass_busy_added_ns() */
  HassStreamState state;
  HassClassState *class_states;   /* [n_stages] */
  HassDeviceHolds *device_states; /* [n_devices] */

  /* [n_devices] HassTicket: by the proxy of the device */
  GPtrArray **tickets;

  /* Under admit_lock. */
  _Alignas(HASS_CACHE_LINE) pthread_mutex_t admit_lock;
  HassBatch *open;    /* the last of the order, with no tokens yet */
  HassIntake *intake; /* from which loads are admitted, one of @intakes */
  GPtrArray *intakes; /* HassIntake: all, for use again */
  /* tokens that have begun, and what they counted in the bound on bytes */
  _Atomic guint64 n_begun, bytes_begun;
  /* loads in @intake that are not admitted, and what the next of them counts
     in the bound on bytes if that has stopped it; hints for other threads */
  _Atomic guint32 n_pending;
  _Atomic guint64 next_charge;

  _Alignas(HASS_CACHE_LINE) _Atomic guint64 n_tokens; /* in flight */
  _Atomic guint64 bytes;                              /* of those */
  _Atomic gsize asked_bytes; /* largest output of hass_token_output() */

  _Alignas(HASS_CACHE_LINE) _Atomic guint64 n_ready; /* batches in ready sets */

  /* restart.c: stand-ins of which a second one may be made */
  _Alignas(HASS_CACHE_LINE) pthread_mutex_t race_lock;
  HassBatch *oldest_held, *newest_held;

  _Alignas(HASS_CACHE_LINE) pthread_mutex_t memory_lock;
  GPtrArray *all_batches, *all_items, *all_chunks;
  struct HassSlabs *slabs; /* pinned memory for chunks; memory.c */
  HassDepot free_batches, free_items[HASS_N_SIZES];
  HassDepot free_chunks[HASS_CHUNK_CLASSES];
};

/* Returns: TRUE if not all loads of the intake are admitted. */
static inline gboolean
hass_intake_has_loads (const HassIntake *intake)
{
  return intake->at < intake->span.n;
}

static inline const HassLoad *
hass_intake_load (const HassIntake *intake, guint32 i)
{
  return &intake->span.loads[(intake->span.base + i) & intake->span.mask];
}

static inline HassStreamWorker *
hass_stream_worker (HassStream *stream, const HassWorker *worker)
{
  return &stream->workers[worker->index];
}

/* Returns the index of the item that the worker computes in its batch. */
static inline guint32
hass_item_index (const HassStreamWorker *sw)
{
  return (guint32)(sw->item - sw->items);
}

static inline HassReduction
hass_stage_reduction (const HassStage *stage)
{
  return (HassReduction){ stage->reduce, stage->reduce_init,
                          stage->reduce_clear, stage->accumulator_bytes,
                          stage->user_data };
}

/* Returns: TRUE if another device has begun the batch's tokens before, which
   did not wait since then. By its owner. */
static inline gboolean
hass_batch_is_second (const HassBatch *batch)
{
  return batch->original && batch->second;
}

static inline void
hass_item_move (HassItem *to, const HassItem *from)
{
  *to = *from;
  to->token.load = &to->load;
}

/* items.c */
gboolean hass_item_owns_tag (const HassStream *stream, const HassItem *item);
void hass_item_begin (HassItem *item, const HassLoad *load, guint64 seq);
void hass_item_advance (HassStream *stream, HassStreamWorker *sw,
                        HassItem *item);
gboolean hass_item_end (HassStream *stream, HassStreamWorker *sw,
                        HassItem *item);
void hass_item_list (HassStream *stream, HassItem *item, const char *message);
void hass_item_fail (HassStream *stream, const HassStageState *stage,
                     HassItem *item, GError *error);
void hass_part_discard (HassStream *stream, HassStreamWorker *sw,
                        HassPart *part);
gboolean hass_origin_unref (HassStream *stream, HassItem *item);
gsize hass_item_promised (const HassStream *stream, gsize input_bytes);

/* Returns what a token whose load has @input_bytes counts in the bound when it
   begins. @asked: HassStream.asked_bytes. The memory of the load stays until it
   is released. */
static inline gsize
hass_item_charge (const HassStream *stream, gsize input_bytes, gsize asked)
{
  return MIN (input_bytes, G_MAXSIZE / 4)
         + (stream->promises ? hass_item_promised (stream, input_bytes) : 0)
         + asked;
}

/* window.c */
void hass_stream_window_init (HassStream *stream);
void hass_stream_want (HassStream *stream, guint64 tokens);
void hass_stream_note_size (HassStream *stream, gsize charge);
void hass_stream_look_at_window (const HassStream *stream,
                                 HassStreamState *state);

/* caller.c */
gboolean hass_stream_caller_declines (HassStream *stream, guint stage,
                                      guint64 left);
extern gint64 hass_stream_patience_ns; /* for tests; 0: what the file says */

/* token.c */
void hass_stream_misuse (HassStream *stream, const HassStreamWorker *sw,
                         const char *what);

/* compute.c */
void hass_item_compute (HassStream *stream, HassWorker *worker, guint stage,
                        HassItem *item, HassBatch *stand_in);

/* memory.c */
HassBatch *hass_batch_new (HassStream *stream, HassStreamWorker *sw);
void hass_batch_reserve (HassStream *stream, HassStreamWorker *sw,
                         HassBatch *batch, guint32 n);
void hass_batch_free (HassStream *stream, HassStreamWorker *sw,
                      HassBatch *batch);
HassChunk *hass_chunk_new (HassStream *stream, HassStreamWorker *sw,
                           gsize bytes);
void hass_chunk_unref (HassStream *stream, HassStreamWorker *sw,
                       HassChunk *chunk);
void hass_stream_memory_init (HassStream *stream);
void hass_stream_memory_clear (HassStream *stream);

/* ready.c */
void hass_queue_init (HassBatchQueue *queue);
void hass_queue_clear (HassBatchQueue *queue);
void hass_queue_push_locked (HassBatchQueue *queue, HassBatch *batch);
HassBatch *hass_queue_pop_locked (HassBatchQueue *queue);
void hass_queue_push_front_locked (HassBatchQueue *queue, HassBatch *batch);
void hass_ready_push (HassStream *stream, HassBatch *batch);
HassBatch *hass_ready_take_locked (HassStream *stream, HassStreamWorker *sw,
                                   HassBatchQueue *queue, guint64 most);
void hass_cores_push (HassStream *stream, HassStageState *stage,
                      HassBatch *batch);

/* admit.c */
double hass_stream_stage_ns (const HassStream *stream, const HassWorker *worker,
                             guint s);
double hass_stream_token_ns (const HassStream *stream, const HassWorker *worker,
                             guint first);
void hass_stream_admit_init (HassStream *stream);
void hass_stream_admit_clear (HassStream *stream);
HassBatch *hass_stream_admit (HassStream *stream, HassWorker *worker);
void hass_stream_count_begun (HassStream *stream, guint32 n, guint64 bytes);
double hass_stream_batch_ns (const HassStream *stream);
guint32 hass_stream_batch_size (const HassStream *stream,
                                const HassStreamWorker *sw, guint stage);
guint32 hass_stream_batch_limit (const HassStream *stream,
                                 const HassStreamWorker *sw, guint64 n_waiting);

/* turn.c */
gboolean hass_stage_has_place (const HassStageState *stage);
gboolean hass_stage_reserve (HassStageState *stage);
void hass_stage_give_place (HassStream *stream, HassStageState *stage);
gboolean hass_stage_enter (HassStream *stream, HassBatch *batch);
void hass_stage_keep_turn (HassBatch *batch);
HassBatch *hass_stage_leave (HassStream *stream, const HassStreamWorker *sw,
                             HassBatch *batch);

/* split.c */
HassBatch *hass_batch_split (HassStream *stream, HassStreamWorker *sw,
                             HassBatch *batch, guint32 at);
void hass_batch_recount (HassBatch *batch);
void hass_batch_insert_parts (HassStream *stream, HassStreamWorker *sw,
                              HassBatch *batch);

/* restart.c */
HassBatch *hass_stand_in_new (HassStream *stream, HassWorker *worker,
                              HassBatch *batch, guint device);
gboolean hass_stand_in_claim (HassStream *stream, HassBatch *stand_in);
gboolean hass_stand_in_refuse (HassStream *stream, HassBatch *stand_in,
                               gboolean *left);
HassBatch *hass_stand_in_end (HassStream *stream, HassStreamWorker *sw,
                              HassBatch *stand_in, gboolean done);
void hass_stand_in_abandon (HassStream *stream, HassBatch *stand_in);
HassBatch *hass_stand_ins_again (HassStream *stream, HassWorker *worker,
                                 guint device, guint64 units);

/* again.c */
void hass_again_set_due (const HassStream *stream, HassBatch *batch);
guint hass_again_due (const HassStream *stream, const HassBatch *batch);
gboolean hass_again_together (const HassStream *stream,
                              const HassWorker *worker, HassBatch *batch);
HassBatch *hass_again_divide (HassStream *stream, HassStreamWorker *sw,
                              HassBatch *batch, gboolean halve);

/* pass.c */
void hass_stream_pass (HassJob *job, const HassLoad *load);

/* flow.c */
void hass_batch_dispatch (HassStream *stream, HassWorker *worker,
                          HassBatch *batch);
void hass_batch_end (HassStream *stream, HassStreamWorker *sw, HassBatch *batch,
                     gboolean all);

/* stream.c */
HassGpuWorkerFunc hass_stage_worker (const HassStage *stage, const char *kind);

/* alone.c */
void hass_stream_alone_begin (HassJob *job);
gboolean hass_stream_is_alone (HassStream *stream);
HassRest hass_stream_rest (HassJob *job, guint device);
gboolean hass_stage_runs_on (const HassJob *job, const HassStage *stage,
                             guint device);

/* ticket.c, settle.c */
HassSlot *hass_ticket_grant (HassStream *stream, HassWorker *worker,
                             guint device, const HassServe *serve,
                             HassExtent *extent);
void hass_ticket_over (HassJob *job, HassSlot *slot,
                       const HassCompletion *told);
void hass_ticket_refused (HassJob *job, HassSlot *slot, guint32 position,
                          const char *why);
void hass_ticket_unfuse (HassJob *job, HassSlot *slot, guint32 position);

/* ask.c */
const HassStreamState *hass_stream_look (HassStream *stream, gint64 now_ns);
void hass_stream_tell_cores (HassStream *stream, gint64 now_ns);
void hass_stream_tell_served (HassStream *stream, const HassServed *served);

/* stage_report.c */
void hass_stream_report (HassJob *job, HassReport *report);

#endif
