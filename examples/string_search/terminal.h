/* SPDX-License-Identifier: MIT */
/* terminal.h: the line of progress at the foot of a terminal.
   Thread safety: any thread. */
#ifndef STRING_SEARCH_TERMINAL_H
#define STRING_SEARCH_TERMINAL_H

#include <hass/hass.h>

typedef struct Terminal Terminal;

Terminal *terminal_new (gboolean wanted);
void terminal_free (Terminal *terminal);
void terminal_add_total (Terminal *terminal, guint64 bytes);
void terminal_watch (Terminal *terminal, HassRunOptions *run);
void terminal_hide (Terminal *terminal);

#endif
