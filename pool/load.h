/* SPDX-License-Identifier: MIT */
/* hass/load.h: loads and blocks, the things a farm works on.
   Thread safety: plain values; the library never writes to a load that a
   user owns. */
#ifndef HASS_LOAD_H
#define HASS_LOAD_H

#include <glib.h>
#include <hass/version.h>

HASS_BEGIN_DECLS

/**
 * HassCostClass: what is known of the loads' costs before they run
 * (Zhang 2011, 3.3, figure 10).
 * @HASS_COST_EQUAL: every unit costs the same.
 * @HASS_COST_SIZED: cost is proportional to the load's @cost, or to its
 *   @size where @cost is 0.
 * @HASS_COST_UNKNOWN: nothing is known.
 */
typedef enum
{
  HASS_COST_EQUAL,
  HASS_COST_SIZED,
  HASS_COST_UNKNOWN
} HassCostClass;

/**
 * HassLoadFlags:
 * @HASS_LOAD_CPU: the load may run on the CPU pool.
 * @HASS_LOAD_GPU: the load may run on a GPU.
 * @HASS_LOAD_BUFFER: @input lies in a buffer of hass_emitter_buffer(), at any
 *   offset: the load claims it, and the library recycles it when the last load
 *   that claims it is finished. Several loads may claim the buffer that the
 *   generator got last; those that a worker emits also that of its own load.
 *   Everything else is HASS_ERROR_MISUSE and named: an input that lies in no
 *   buffer of this farm or ends behind it, a buffer that was emitted before.
 *
 * Neither @HASS_LOAD_CPU nor @HASS_LOAD_GPU set means any device that has a
 * worker. Both are read in function farms only, which set them by the task's
 * functions; in a data farm every device that has a worker takes any load.
 */
typedef enum
{
  HASS_LOAD_CPU = 1 << 0,
  HASS_LOAD_GPU = 1 << 1,
  HASS_LOAD_BUFFER = 1 << 2
} HassLoadFlags;

/* The load may run on devices of the kind with this index in the registry
   (0 to 15). Function farms set it by the task's workers. */
#define HASS_LOAD_KIND(index) (1u << (8 + (index)))
#define HASS_LOAD_KINDS 0xffff00u

/**
 * HassLoad: what a generator emits.
 * @input: host bytes [@input_bytes], or NULL. They stay the user's and must
 *   stay unchanged until the load is committed (the release callback).
 * @input_bytes: their number. A number without bytes (@input NULL) counts for
 *   the pool's bound alone; in a farm with a GPU worker and no bundler it is
 *   HASS_ERROR_INVALID.
 * @output: host bytes [@output_bytes] for the worker to fill, or NULL.
 * @output_bytes: their number; without bytes as above, with an unbundler.
 * @size: elements in the load; 0: unknown. A divisible load must know it.
 *   Input and output of a divisible load are arrays of @size equal elements.
 * @tag: the user's own, passed through.
 * @cost: expected cost in any unit that is the same for all loads; 0: none.
 *   Where costs are read, in farms of HASS_COST_SIZED and in virtual time, one
 *   that is negative or not finite makes the farm fail with HASS_ERROR_INVALID.
 * @flags: #HassLoadFlags.
 *
 * A waiting load takes sizeof (HassLoad) = 56 bytes of library memory, and 4
 * more while it is part of an ordered round. The struct is frozen: what later
 * versions have to say of a load is a flag, whose bits are 0 until then.
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
 * HassBlock: a load, or a sub-range of a divisible one, as a worker sees it.
 * @load: the load. It is the library's copy: valid during the callback.
 * @seq: sequence number of the load, from 0 in the order of emission (loads
 *   that workers emit are numbered as they enter a round).
 * @first: first element of the block within the load.
 * @count: elements in the block.
 * @halo_before: extra elements readable before @input [at most the farm's
 *   halo; less at the load's start].
 * @halo_after: extra elements readable after the block; less at its end.
 * @input: host bytes of the first element (not of the halo).
 * @input_bytes: bytes of the block without its halos.
 * @output: host bytes for the results of these elements, or NULL.
 * @output_bytes: their number.
 * @input_row_bytes, @input_pitch, @output_row_bytes, @output_pitch: a
 *   partitioner may make a block a tile of a matrix: rows of so many bytes,
 *   so far apart; @input_bytes and @output_bytes are those of the rows alone.
 *   0: no tile. On a device the rows lie one after another.
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
  gsize reserved[2];
} HassBlock;

HASS_END_DECLS

#endif
