/* SPDX-License-Identifier: MIT */
/* profile.c: the profile store's file. What was read is written and read
   again: the lines are the same.
   Thread safety: see fuzz.h. */
#include <math.h>
#include <string.h>

#include "engine/profile/profile-private.h"
#include "fuzz.h"

static void
check_entry (const HassProfileEntry *entry)
{
  HassProfileRate rate = hass_profile_entry_rate (entry);
  g_autofree char *line = hass_profile_line_new (entry);
  HassProfileEntry *again = hass_profile_line_parse (line);
  FUZZ_CHECK (again != NULL);
  FUZZ_CHECK (isfinite (rate.work_per_ns) && rate.work_per_ns > 0);
  FUZZ_CHECK (isfinite (rate.latency_ns) && rate.latency_ns >= 0);
  if (!again)
    return;
  g_autofree char *twice = hass_profile_line_new (again);
  FUZZ_CHECK (strcmp (line, twice) == 0);
  HassProfileSample sample
      = { .work_per_ns = 1, .latency_ns = 1, .unit_work = 1 };
  hass_profile_entry_add (again, &sample, 1);
  hass_profile_entry_free (again);
}

static int
profile (const guint8 *data, size_t size)
{
  gboolean ours;
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) lines
      = hass_profile_file_read (fuzz_file (data, size), &ours, &error);
  FUZZ_CHECK ((lines == NULL) == (error != NULL));
  for (guint i = 0; lines && i < lines->len; i++)
    {
      HassProfileEntry *entry = hass_profile_line_parse (lines->pdata[i]);
      if (!entry)
        continue;
      check_entry (entry);
      hass_profile_entry_free (entry);
    }
  return 0;
}

FUZZ_TARGET (profile, profile)
