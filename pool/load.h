/* SPDX-License-Identifier: MIT */
/* hass/load.h: loads and blocks, the work items of a farm.
   Thread safety: plain values; the library never writes to a load that the
   user owns. */
#ifndef HASS_LOAD_H
#define HASS_LOAD_H

#include <glib.h>
#include <hass/version.h>

HASS_BEGIN_DECLS

/**
 * HassCostClass: what is known about the costs of loads before they run
 * (Zhang 2011, section 3.3, figure 10).
 * @HASS_COST_EQUAL: all units cost the same.
 * @HASS_COST_SIZED: the cost is proportional to HassLoad.cost, or to
 *   HassLoad.size where that is 0.
 * @HASS_COST_UNKNOWN: nothing is known.
 */
typedef enum
{
  HASS_COST_EQUAL,
  HASS_COST_SIZED,
  HASS_COST_UNKNOWN
} HassCostClass;

/**
 * HassLoadFlags: where a load may run and who owns its input.
 * @HASS_LOAD_CPU: the load may run on the CPU pool.
 * @HASS_LOAD_GPU: the load may run on a GPU.
 * @HASS_LOAD_BUFFER: @input points anywhere into a buffer of
 *   hass_emitter_buffer(). The load keeps the buffer alive; the library
 *   recycles it when the last load in it is finished. The generator may use
 *   the buffer that it got last for several loads; a worker may also use the
 *   buffer of its own load, and a stage of a pipeline, for the parts of a
 *   token, that of the token's load. Any other input is HASS_ERROR_MISUSE: one
 *   outside all buffers of the farm, one that extends past its buffer, or one
 *   in a buffer that the generator has already replaced.
 *
 * If neither HASS_LOAD_CPU nor HASS_LOAD_GPU is set, every device with a
 * worker may run the load. Both flags are set and read in function farms only,
 * according to the functions of the task; a data farm ignores them.
 */
typedef enum
{
  HASS_LOAD_CPU = 1 << 0,
  HASS_LOAD_GPU = 1 << 1,
  HASS_LOAD_BUFFER = 1 << 2
} HassLoadFlags;

/* The flag of a load that may run on devices of the kind with this index in
   the registry of kinds (0 to 15). Function farms set the flags according to
   the task's workers. */
#define HASS_LOAD_KIND(index) (1u << (8 + (index)))
#define HASS_LOAD_KINDS 0xffff00u

/* The function of a task, 0 to HASS_MOST_FUNCTIONS - 1, in the flags of its
   load, where a function farm tells functions apart. */
#define HASS_LOAD_FUNCTION(index) ((guint32)(index) << 24)
#define HASS_LOAD_FUNCTIONS HASS_LOAD_FUNCTION (7)

/**
 * HassLoad: an item of work, as a generator emits it.
 * @input: host memory [@input_bytes] or NULL. Owned by the user; it must stay
 *   valid and unchanged until the release callback gets the load.
 * @input_bytes: size of @input. If @input is NULL, this number counts towards
 *   the bound of the load pool only; a farm with a GPU worker and no bundler
 *   then fails with HASS_ERROR_INVALID.
 * @output: host memory [@output_bytes] that the worker fills, or NULL.
 * @output_bytes: size of @output. If @output is NULL, as for @input_bytes,
 *   with an unbundler in place of the bundler.
 * @size: number of elements in the load; 0: unknown. Required for a divisible
 *   load, whose input and output are arrays of @size equal elements.
 * @tag: a value of the user, passed through unchanged.
 * @cost: expected cost, in any unit common to all loads; 0: unknown. Read in
 *   farms of HASS_COST_SIZED and in virtual time, where a negative or
 *   non-finite cost fails the farm with HASS_ERROR_INVALID.
 * @flags: bits of #HassLoadFlags.
 *
 * A waiting load takes sizeof (HassLoad) = 56 bytes of library memory, and 4
 * bytes more while it is part of a round that was reordered. The struct is
 * frozen: later versions add flags, whose bits are 0 until then.
 */
typedef struct
{
  const void *input;
  gsize input_bytes;
  void *output;
  gsize output_bytes;
  gsize size;
  gpointer tag;
  gfloat cost;
  guint32 flags;
} HassLoad;

/**
 * HassBlock: a load, or a contiguous part of a divisible one, as a worker gets
 * it.
 * @load: the library's copy of the load; valid during the callback.
 * @seq: sequence number of the load: 0, 1, ... in order of emission. Loads
 *   emitted by workers get theirs when they enter a round.
 * @first: index of the block's first element in the load.
 * @count: number of elements in the block.
 * @halo_before: number of additional elements readable before @input: the
 *   halo of the farm, less at the start of the load.
 * @halo_after: number of additional elements readable after the block; less
 *   at the end of the load.
 * @input: host address of the first element, after the halo.
 * @input_bytes: size of the block without its halos.
 * @output: host memory [@output_bytes] for the results of these elements, or
 *   NULL.
 * @output_bytes: size of @output.
 * @input_row_bytes, @input_pitch, @output_row_bytes, @output_pitch: set by a
 *   partitioner that makes the block a tile of a matrix: bytes in a row of the
 *   tile, and bytes from one row to the next in host memory. @input_bytes and
 *   @output_bytes then count the rows only. On a device the rows are adjacent.
 *   All 0: the block is not a tile.
 * @stage: in a pipeline: index of the stage that computes the block; else 0.
 * @fused: number of stages after @stage that a device computes as well, without
 *   a copy to the host between them; see #HassDeviceStage. @output is then that
 *   of the last of these stages that makes one. 0 in blocks that workers get.
 * @reserved: zero; for later versions.
 */
typedef struct
{
  const HassLoad *load;
  guint64 seq;
  gsize first;
  gsize count;
  gsize halo_before;
  gsize halo_after;
  const guint8 *input;
  gsize input_bytes;
  guint8 *output;
  gsize output_bytes;
  gsize input_row_bytes, input_pitch;
  gsize output_row_bytes, output_pitch;
  guint32 stage, fused;
  gsize reserved[1];
} HassBlock;

HASS_END_DECLS

#endif
