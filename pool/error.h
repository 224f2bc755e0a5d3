/* SPDX-License-Identifier: MIT */
/* hass/error.h: the error domain that every room reports in.
   Thread safety: immutable. */
#ifndef HASS_ERROR_H
#define HASS_ERROR_H

#include <glib.h>
#include <hass/version.h>

HASS_BEGIN_DECLS

#define HASS_ERROR (hass_error_quark ())

/**
 * HassError: what a farm fails with, unless one of its callbacks failed with
 * an error of its own: then the farm's error has that domain and code, for
 * instance G_FILE_ERROR and G_FILE_ERROR_NOENT.
 * @HASS_ERROR_INVALID: an argument, option or environment value is wrong.
 * @HASS_ERROR_NO_DEVICE: no present device has a worker for the loads.
 * @HASS_ERROR_GENERATOR: the generator failed without an error; emitted loads
 *   were finished (policy continue) or named in the report (policy stop).
 * @HASS_ERROR_WORKER: a worker failed on a load without an error.
 * @HASS_ERROR_PARTITION: a partitioner returned blocks that do not tile its
 *   load, or failed without an error.
 * @HASS_ERROR_BUNDLE: a bundler wrote past its buffer or returned offsets
 *   that do not ascend; it or an unbundler failed without an error.
 * @HASS_ERROR_OVERFLOW: a size does not fit.
 * @HASS_ERROR_PLATFORM: a platform file is broken; the message has the line.
 * @HASS_ERROR_STRATEGY: a strategy is unknown, was given a bad parameter or
 *   broke its contract.
 * @HASS_ERROR_CANCELLED: the farm was cancelled.
 * @HASS_ERROR_DEADLINE: the farm's deadline passed.
 * @HASS_ERROR_MISUSE: a callback called what it must not call.
 * @HASS_ERROR_DEVICE: a device failed and no other can take its loads.
 * @HASS_ERROR_COLLECTOR: the result collector failed without an error.
 * @HASS_ERROR_IO: a file could not be read or written.
 * @HASS_ERROR_NO_MEMORY: there is too little memory on the host or on a device.
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
