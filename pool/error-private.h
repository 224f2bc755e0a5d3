/* SPDX-License-Identifier: MIT */
/* error-private.h: what a callback's return and its error mean, for all
   callbacks alike.
   Thread safety: any thread. */
#ifndef HASS_ERROR_PRIVATE_H
#define HASS_ERROR_PRIVATE_H

#include "hass/error.h"

void hass_callback_explain (GError **error, HassError code);

/* @ok: what a callback returned; @error: where it could say why, not NULL.
   A callback has succeeded when it returned TRUE and set no error. Else FALSE
   is returned and an error is set: the callback's own, or one of @code where
   it gave none. */
static inline gboolean
hass_callback_ok (gboolean ok, GError **error, HassError code)
{
  if (G_LIKELY (ok && !*error))
    return TRUE;
  hass_callback_explain (error, code);
  return FALSE;
}

#endif
