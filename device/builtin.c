/* SPDX-License-Identifier: MIT */
/* builtin.c: the library's own kinds of devices, one line each. Modelled
   devices are not a kind: a platform file lists them for virtual time.
   Thread safety: immutable. */
#include "kinds.h"

/* clang-format off */
#define KINDS(X)     \
  X (hass_cuda_kind)
/* clang-format on */

#define DECLARE(ops) extern const HassDeviceKindOps ops;
#define LIST(ops) &ops,

KINDS (DECLARE)

const HassDeviceKindOps *const hass_builtin_kinds[] = { KINDS (LIST) NULL };

extern const HassPinner hass_cuda_pinner;
const HassPinner *const hass_pinner = &hass_cuda_pinner;
