/* SPDX-License-Identifier: MIT */
/* kernels.h: GPU workers for the tests, one for each way of getting results.
   Weak: without nvcc they are NULL.
   Thread safety: as GPU workers. */
#ifndef TESTS_GPU_KERNELS_H
#define TESTS_GPU_KERNELS_H

#include <hass/hass.h>

G_BEGIN_DECLS

#define WORKER(name)                                                           \
  gboolean name (const HassBundle *bundle, HassGpuStream *stream,              \
                 gpointer user_data, GError **error) __attribute__ ((weak))

/* Elements are bytes; a match is a byte whose next one, perhaps in the halo,
   is greater by one. Into a guint64 accumulator. */
WORKER (kernel_count_ascents);
/* The same, each as a record: guint64 index of the element in its block. */
WORKER (kernel_list_ascents);
/* Sum of each block's input bytes, a guint64 an output. */
WORKER (kernel_sum);
/* Each input byte plus constant 0's first byte, to the output. */
WORKER (kernel_add);
/* A tile: 4-byte cells, cell c of block i gets first * 1000 + c. */
WORKER (kernel_tile);
WORKER (kernel_joined_tile);
/* Tasks: output 8 bytes = input 8 bytes, times 3, or plus 100. */
WORKER (kernel_task_triple);
WORKER (kernel_task_add);
/* The same two by the task's gpu_function. */
WORKER (kernel_task_table);
/* kernel_sum, and once in the process it goes wrong: a launch that cannot
   be, a failed device assert, an illegal address, a loop of seconds. */
WORKER (kernel_bad_launch);
WORKER (kernel_assert);
WORKER (kernel_loop);
/* kernel_sum after a loop of *user_data ms. */
WORKER (kernel_slow);
/* Launches nothing. */
WORKER (kernel_empty);

/* For dataflows. Adds @what to each of @bytes bytes. */
void kernel_add_bytes (HassGpuStream *stream, gpointer data, gsize bytes,
                       guint8 what) __attribute__ ((weak));
/* Takes so many ms of one multiprocessor. */
void kernel_spin (HassGpuStream *stream, double ms) __attribute__ ((weak));
/* Fails a device assert. */
void kernel_fail (HassGpuStream *stream) __attribute__ ((weak));

G_END_DECLS

#endif
