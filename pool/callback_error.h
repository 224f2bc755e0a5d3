/* SPDX-License-Identifier: MIT */
/* callback_error.h: success and failure of a callback, from its return value
   and its error.
   Thread safety: any thread. */
#ifndef HASS_CALLBACK_ERROR_H
#define HASS_CALLBACK_ERROR_H

#include "hass/error.h"

void hass_callback_explain (GError **error, HassError code);

/* Checks the outcome of a user's callback that returned @ok and may have set
   @error, which is not NULL. Returns: TRUE if the callback returned TRUE and
   set no error; else FALSE with @error set: to an error of code @code if the
   callback set none. */
static inline gboolean
hass_callback_ok (gboolean ok, GError **error, HassError code)
{
  if (G_LIKELY (ok && !*error))
    return TRUE;
  hass_callback_explain (error, code);
  return FALSE;
}

#endif
