/* SPDX-License-Identifier: MIT */
/* flow.h: dataflows that must fail, and what their errors must say.
   Thread safety: one thread. */
#ifndef FLOW_H
#define FLOW_H

#include "hass/dataflow.h"
#include "hass_test.h"

/* A codelet that does nothing. */
extern const HassCodelet flow_idle;

/* A dataflow 'flow' on two cores. */
HassDataflow flow_of (HassBuildFunc build, gpointer user_data);

/* Does an error have this code, and each word, NULL last? */
gboolean flow_says (const GError *error, HassError code,
                    ...) G_GNUC_NULL_TERMINATED;

/* Returns: the error of a dataflow that must fail. */
GError *flow_failure (HassBuildFunc build, gpointer user_data);
/* The same, of the recording of it. */
GError *flow_failed_recording (HassBuildFunc build, gpointer user_data);

/* A wrong build: run and recorded it has the same error, with these words. */
#define FLOW_REFUSED(build, user_data, ...)                                    \
  do                                                                           \
    {                                                                          \
      g_autoptr (GError) live = flow_failure (build, user_data);               \
      CU_ASSERT_TRUE (flow_says (live, __VA_ARGS__, NULL));                    \
      g_autoptr (GError) recorded = flow_failed_recording (build, user_data);  \
      CU_ASSERT_TRUE (flow_says (recorded, __VA_ARGS__, NULL));                \
    }                                                                          \
  while (0)

#endif
