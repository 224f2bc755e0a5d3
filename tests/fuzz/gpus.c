/* SPDX-License-Identifier: MIT */
/* gpus.c: the file of remembered GPUs. An input holds what follows the ground,
   which differs from machine to machine and is put before it; one that begins
   with '#' is the whole file. What was read is written and read again.
   Thread safety: see fuzz.h. */
#include "device/cuda/gpus-private.h"
#include "fuzz.h"

#include <string.h>

static gboolean
read_text (const char *text, HassGpuList *list)
{
  memset (list, 0, sizeof *list);
  return hass_gpus_parse (text, list) == HASS_GPUS_REMEMBERED;
}

static void
check_list (const HassGpuList *list)
{
  g_autofree char *text = hass_gpus_text (list);
  g_autofree HassGpuList *again = g_new0 (HassGpuList, 1);
  FUZZ_CHECK (list->n >= 1 && list->n <= HASS_MOST_GPUS);
  FUZZ_CHECK (read_text (text, again));
  FUZZ_CHECK (again->n == list->n);
  for (guint i = 0; i < list->n; i++)
    FUZZ_CHECK (hass_gpu_alike (&list->gpus[i], &again->gpus[i]));
}

static int
gpus (const guint8 *data, size_t size)
{
  static const HassCudart none = { .version = 1 };
  g_autofree HassGpuList *list = g_new0 (HassGpuList, 1);
  g_autofree char *input = g_strndup ((const char *)data, size);
  hass_cudart_use (&none);
  g_autofree char *head = hass_gpus_text (list);
  char *groups = strstr (head, "[gpus]");
  if (groups)
    *groups = '\0';
  g_autofree char *text = g_strconcat (*input == '#' ? "" : head, input, NULL);
  if (read_text (text, list))
    check_list (list);
  hass_cudart_use (NULL);
  return 0;
}

FUZZ_TARGET (gpus, gpus)
