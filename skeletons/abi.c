/* SPDX-License-Identifier: MIT */
/* abi.c: fails the build if a public struct of fixed size has another size.

   These structs are elements of arrays, members of other structs or on a
   caller's stack, so programs built with earlier headers rely on their sizes.
   Later versions add fields in place of reserved words; structs without
   reserved words are frozen. See doc/compatibility.md. Sizes are those of
   64-bit machines.

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
FIXED (HassDeviceStage, 64);
FIXED (HassParameter, 40);
FIXED (HassProfileRate, 32);
FIXED (HassDeviceSummary, 64);
FIXED (HassTask, 96);
FIXED (HassRunOptions, 192);
FIXED (HassDeviceReport, 192);
FIXED (HassUnfinished, 64);
FIXED (HassAccess, 16);
FIXED (HassTaskHints, 32);
FIXED (HassKindCodelet, 16);
#else
typedef int hass_no_sizes; /* C does not allow an empty translation unit */
#endif
