/* SPDX-License-Identifier: MIT */
/* hass/error.h: the GError domain and codes of all rooms of the library.
   Thread safety: immutable. */
#ifndef HASS_ERROR_H
#define HASS_ERROR_H

#include <glib.h>
#include <hass/version.h>

HASS_BEGIN_DECLS

#define HASS_ERROR (hass_error_quark ())

/**
 * HassError: codes of the domain HASS_ERROR. A farm fails with one of them,
 * or with the domain and code that a callback set, for instance G_FILE_ERROR
 * and G_FILE_ERROR_NOENT.
 * @HASS_ERROR_INVALID: an argument, option or environment variable has an
 *   invalid value.
 * @HASS_ERROR_NO_DEVICE: no present device has a worker for a load.
 * @HASS_ERROR_GENERATOR: the generator returned FALSE without an error. With
 *   HASS_ON_ERROR_CONTINUE the emitted loads were finished; with
 *   HASS_ON_ERROR_STOP the report lists those that were not.
 * @HASS_ERROR_WORKER: a worker returned FALSE without an error.
 * @HASS_ERROR_PARTITION: the blocks of a partitioner do not tile the load, or
 *   the partitioner returned FALSE without an error.
 * @HASS_ERROR_BUNDLE: a bundler wrote past its buffer or returned offsets
 *   that do not ascend; or a bundler or unbundler returned FALSE without an
 *   error.
 * @HASS_ERROR_OVERFLOW: a size exceeds the range of its type.
 * @HASS_ERROR_PLATFORM: a platform file is malformed; the message names the
 *   line.
 * @HASS_ERROR_STRATEGY: the strategy is unknown, has an invalid parameter or
 *   violated its contract.
 * @HASS_ERROR_CANCELLED: the farm's cancellable was cancelled.
 * @HASS_ERROR_DEADLINE: the farm's deadline passed.
 * @HASS_ERROR_MISUSE: a callback called a function that is not allowed there.
 * @HASS_ERROR_DEVICE: a device failed and no other device can run its loads.
 * @HASS_ERROR_COLLECTOR: the collector returned FALSE without an error.
 * @HASS_ERROR_IO: a file could not be read or written.
 * @HASS_ERROR_NO_MEMORY: host or device memory is insufficient.
 */
typedef enum
{
  HASS_ERROR_INVALID,
  HASS_ERROR_NO_DEVICE,
  HASS_ERROR_GENERATOR,
  HASS_ERROR_WORKER,
  HASS_ERROR_PARTITION,
  HASS_ERROR_BUNDLE,
  HASS_ERROR_OVERFLOW,
  HASS_ERROR_PLATFORM,
  HASS_ERROR_STRATEGY,
  HASS_ERROR_CANCELLED,
  HASS_ERROR_DEADLINE,
  HASS_ERROR_MISUSE,
  HASS_ERROR_DEVICE,
  HASS_ERROR_COLLECTOR,
  HASS_ERROR_IO,
  HASS_ERROR_NO_MEMORY
} HassError;

GQuark hass_error_quark (void);

HASS_END_DECLS

#endif
