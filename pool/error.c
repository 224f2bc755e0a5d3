/* SPDX-License-Identifier: MIT */
/* error.c: registers the error domain; gives callbacks that fail without an
   error one.
   Thread safety: any thread. */
#include "callback_error.h"

GQuark
hass_error_quark (void)
{
  return g_quark_from_static_string ("hass-error-quark");
}

/* Sets @error to an error of code @code if a callback failed without setting
   one. */
void
hass_callback_explain (GError **error, HassError code)
{
  if (!*error)
    g_set_error_literal (error, HASS_ERROR, code,
                         "it failed without saying why");
}
