/* SPDX-License-Identifier: MIT */
/* gpus-private.h: the GPUs of the machine, as one process sees them.

   DESIGN. The GPUs are listed once (look.c) and each is started once, when a
   farm first uses it (gpu_start.c). Streams, events, device buffers and pinned
   staging take long to make; they are kept from farm to farm and freed while
   no kernel runs (idle.c). After a sticky error the process has no usable GPUs;
   a GPU with a kernel that hangs is not used again (fault.c).

   Thread safety: any thread; a slot belongs to one device at a time. */
#ifndef HASS_GPUS_PRIVATE_H
#define HASS_GPUS_PRIVATE_H

#include <glib.h>
#include <pthread.h>

#include "cudart-private.h"
#include "hass/device.h"

#define HASS_GPU_SIDE_STREAMS 8
#define HASS_MOST_GPUS 64

/* A list of GPUs with the properties that are known before a GPU is started. */
typedef struct
{
  guint n;
  gint64 start_ns; /* that a start of one has taken; 0: unknown */
  HassCudaProperties gpus[HASS_MOST_GPUS];
} HassGpuList;

/* A buffer that only grows, of device memory or of pinned host memory. */
typedef struct
{
  guint8 *data;
  gsize capacity;
} HassGpuBuffer;

/* Pinned memory through which gathered inputs pass to the device, chunk after
   chunk, in turn. The bundles of all slots share it, as pinning takes 0.5 ms a
   MiB, more than ten times what gathering takes. */
#define HASS_GPU_RING_CHUNKS 16
#define HASS_GPU_CHUNK_BYTES ((gsize)1 << 20)
typedef struct
{
  HassGpuBuffer memory;
  /* Chunks that were used so far, and of these the first ones, whose copy to
     the device is known to have ended. */
  guint64 n_sent, n_copied;
  /* Marks, each behind the copy of at least one chunk, the oldest at @first: a
     CUDA event, and the chunks that were used up to there. */
  gpointer copied[HASS_GPU_RING_CHUNKS];
  guint64 ends[HASS_GPU_RING_CHUNKS];
  guint first, n_marks;
  gint64 oldest_ns; /* since when the oldest mark is that */
} HassGpuRing;

/* A kit: the CUDA streams, events and buffers that one bundle in flight needs.
   Kits are kept by the GPU between bundles and farms, since making them is
   slow. */
typedef struct HassGpuKit HassGpuKit;
struct HassGpuKit
{
  gpointer stream;
  /* CUDA events: recorded when the bundle begins, and when its inputs are
     copied, its kernels done, its results copied. */
  gpointer begun, copied, computed, done;
  /* CUDA event: time 0 of a farm, from which ends of kernels are measured. */
  gpointer epoch;
  gpointer side[HASS_GPU_SIDE_STREAMS], joined[HASS_GPU_SIDE_STREAMS];
  guint n_side;
  /* Of slot 0's kit: streams of large copies of all slots, to the device and to
     the host; NULL: there were none. */
  gpointer link[2];
  HassGpuRing ring; /* of slot 0's kit: of all slots */
  /* Bytes of inputs that have passed through a ring since host_in has grown. */
  guint64 ringed_bytes;
  HassGpuBuffer in, out, records;
  HassGpuBuffer host_in, host_out, host_records;
  /* Of a kit whose stream orders allocations (data.c): those that were made,
     and which of them its event `copied` follows. */
  guint64 n_allocs, n_recorded;
  /* Of another kit: of which such kit its stream has waited for how many. */
  const HassGpuKit *followed;
  guint64 n_followed;
};

/* A contiguous stretch of pageable input smaller than this (1 MiB) is always
   staged, that is, copied into pinned memory first. For larger ones staging
   competes with pinning the pages themselves, whose fixed cost a small stretch
   does not repay. */
#define HASS_GPU_CHOICE_BYTES ((gsize)1 << 20)

/* The ways to bring contiguous inputs in pageable memory to a GPU: copying them
   to pinned memory first, or pinning their pages. */
typedef enum
{
  HASS_GPU_STAGED,
  HASS_GPU_PINNED,
  HASS_GPU_WAYS
} HassGpuWay;

/* Sizes of inputs of which the cost of each way is measured: below 4, 16 and 64
   HASS_GPU_CHOICE_BYTES, and above. Several threads copy large ones. */
#define HASS_GPU_WAY_SIZES 4

typedef enum
{
  HASS_GPU_COLD, /* not started, or its start failed */
  HASS_GPU_STARTING,
  HASS_GPU_READY
} HassGpuStart;

typedef struct
{
  guint index;
  char name[16]; /* "gpu0" */
  HassCudaProperties properties;
  guint link;
  /* The stored list had this GPU, but the runtime does not list it. */
  _Atomic gboolean stale;
  _Atomic gboolean hung; /* a kernel has not ended within its deadline */
  /* HassGpuBuffer: released while kernels ran; guarded by idle.c's lock. */
  GArray *spares;
  /* Bundles of all farms in flight; guarded by idle.c's lock. */
  guint n_bundles;
  /* A bundle hangs and will not be reported as ended; idle.c's lock. */
  gboolean given_up;
  pthread_mutex_t lock;     /* guards the fields below */
  GPtrArray *kits;          /* HassGpuKit: kits that no bundle uses */
  GPtrArray *abandoned;     /* kits that kernels of a lost GPU may still use */
  double link_bytes_per_ns; /* highest measured rate; 0: none yet */
  /* Mean time of a proxy for a byte, in ns, of all farms so far; 0: this way
     was not tried yet with this size. */
  double way_ns[HASS_GPU_WAYS][HASS_GPU_WAY_SIZES];
  guint n_pageable; /* inputs that could go either way */
  /* Bytes of device memory held by kits and constants. */
  guint64 held_bytes;
  /* Bytes of device memory hass may hold, as computed at budget_ns. */
  guint64 budget_bytes;
  gint64 budget_ns; /* when the driver was asked; 0: never */
  HassGpuStart start;
  gboolean looked; /* the starter has listed the GPUs */
  gint64 start_ns; /* duration of the start; 0: not started yet */
  /* Total duration in ns of farms that ran without starting this GPU. */
  gint64 unstarted_ns;
  GError *start_error; /* why the last start failed; NULL: it did not */
  /* Thread that starts or started the GPU; valid if has_starter. */
  pthread_t starter;
  gboolean has_starter;
  pthread_cond_t started; /* the start has ended, or a wait was cancelled */
} HassGpu;

/* fault.c */
gboolean hass_gpu_check (const HassGpu *gpu, int code, const char *what,
                         GError **error);
gboolean hass_gpu_usable (HassGpu *gpu, GError **error);
void hass_gpu_note_hung (HassGpu *gpu);
gboolean hass_gpu_hangs (const HassGpu *gpu);
gboolean hass_gpus_hang (void);
void hass_gpus_forget_hung (void);
gboolean hass_gpus_broken (void);
void hass_gpus_break (const char *why);
void hass_gpus_note_problem (const char *why);
const char *hass_gpus_known_problem (void);
void hass_gpus_mend (void);

/* look.c */
typedef enum
{
  /* Host memory was pinned. The CUDA runtime has made a context on the first
     GPU for it, so starting that GPU takes less time. */
  HASS_GPUS_PINNED = 1 << 0,
  HASS_GPUS_STARTED = 1 << 1
} HassGpusNote;

void hass_gpus_look (void);
void hass_gpus_note_start (gint64 ns);
gint64 hass_gpus_remembered_start_ns (void);
guint hass_gpus_count (void);
guint hass_gpus_expected (void);
const char *hass_gpus_problem (void);
HassGpu *hass_gpus_get (guint index);
HassGpu *hass_gpus_get_any (guint index);
void hass_gpus_note (HassGpusNote what);
gboolean hass_gpus_noted (guint what);
void hass_gpus_drop (void);

/* remembered.c */
typedef enum
{
  HASS_GPUS_REMEMBERED,
  /* The list belongs to another machine, driver, boot or set of /dev/nvidia*
     files. */
  HASS_GPUS_ELSEWHERE,
  HASS_GPUS_DAMAGED
} HassGpusMemory;

HassGpusMemory hass_gpus_parse (const char *text, HassGpuList *list);
char *hass_gpus_text (const HassGpuList *list);
gboolean hass_gpu_alike (const HassCudaProperties *a,
                         const HassCudaProperties *b);
gboolean hass_gpus_recall (HassGpuList *list);
void hass_gpus_remember (HassGpuList *list);

/* gpus.c */
HassGpu *hass_gpu_new (guint index, const HassCudaProperties *properties);
void hass_gpu_free (HassGpu *gpu);
gboolean hass_gpu_take_budget (HassGpu *gpu, gsize bytes, guint64 budget,
                               GError **error);
void hass_gpu_give_budget_back (HassGpu *gpu, gsize bytes);
void hass_gpu_way_took (HassGpu *gpu, HassGpuWay way, gsize bytes, gint64 ns);
gboolean hass_gpu_prefers_pinning (HassGpu *gpu, gsize bytes);

HassGpuKit *hass_gpu_kit_take (HassGpu *gpu, GError **error);
void hass_gpu_kit_return (HassGpu *gpu, HassGpuKit *kit);
void hass_gpu_kit_abandon (HassGpu *gpu, HassGpuKit *kit);
gboolean hass_gpu_kit_side (HassGpu *gpu, HassGpuKit *kit, guint n,
                            GError **error);
gboolean hass_gpu_kit_links (HassGpu *gpu, HassGpuKit *kit, GError **error);
gboolean hass_gpu_kit_ring (HassGpu *gpu, HassGpuKit *kit, GError **error);
gboolean hass_gpu_reserve (HassGpu *gpu, HassGpuBuffer *buffer, gsize bytes,
                           guint64 budget, GError **error);
gboolean hass_gpu_reserve_host (HassGpu *gpu, HassGpuBuffer *buffer,
                                gsize bytes, GError **error);
void hass_gpu_strip_idle_kits (HassGpu *gpu);

/* cuda.c */
HassDevice *hass_cuda_device_new (guint index);
void hass_cuda_device_free (HassDevice *device);

/* idle.c */
void hass_gpu_bundle_begins (HassGpu *gpu);
void hass_gpu_bundle_ends (HassGpu *gpu);
void hass_gpu_give_bundle_up (HassGpu *gpu);
void hass_gpu_release (HassGpu *gpu, HassGpuBuffer *buffer);
void hass_gpus_release_host (HassGpuBuffer *buffer);
gboolean hass_gpus_take_host_spare (gsize bytes, HassGpuBuffer *buffer);
gboolean hass_gpu_take_spare (HassGpu *gpu, gsize bytes, HassGpuBuffer *buffer);
void hass_gpu_trim (HassGpu *gpu);
gboolean hass_gpu_trim_within (HassGpu *gpu, guint n, gint64 until_us);
void hass_gpus_forget_bundles (void);

/* gpu_start.c */
gboolean hass_gpu_start (HassGpu *gpu, struct _GCancellable *unwanted,
                         GError **error);
gint64 hass_gpu_start_ns (HassGpu *gpu);
void hass_gpu_unstarted (HassGpu *gpu, gint64 ns);
gboolean hass_gpu_ask_memory (HassGpu *gpu, GError **error);
void hass_gpus_end_starts (void);
void hass_gpus_forget (void);

#endif
