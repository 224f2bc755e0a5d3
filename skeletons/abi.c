/* SPDX-License-Identifier: MIT */
/* abi.c: stops the build when a public struct that must keep its size has
   another one.

   These structs lie in arrays, within other structs or on a caller's stack, so
   that programs which were built before know their sizes. What later versions
   add goes into their reserved words; those that have none are frozen. See
   doc/compatibility.md. Sizes are those of a machine of 64 bits.

   Thread safety: no code. */
#include "hass/hass.h"

#if GLIB_SIZEOF_VOID_P == 8
#  define FIXED(type, bytes) G_STATIC_ASSERT (sizeof (type) == (bytes))

FIXED (HassLoad, 56);
FIXED (HassBlock, 128);
FIXED (HassDeviceTraits, 128);
FIXED (HassGrant, 96);
FIXED (HassProgress, 24);
FIXED (HassConstant, 16);
FIXED (HassKindWorker, 16);
FIXED (HassRectangle, 48);
FIXED (HassStaging, 24);
FIXED (HassBundleDone, 128);
FIXED (HassTransfers, 64);
FIXED (HassParameter, 40);
FIXED (HassProfileRate, 32);
FIXED (HassDeviceSummary, 64);
FIXED (HassTask, 96);
FIXED (HassRunOptions, 192);
FIXED (HassDeviceReport, 192);
FIXED (HassUnfinished, 64);
#else
typedef int hass_no_sizes; /* a translation unit must not be empty */
#endif
