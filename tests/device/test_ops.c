/* SPDX-License-Identifier: MIT */
/* test_ops.c: what the library refuses in the function tables of a device.
   Thread safety: single-threaded. */
#include <stdio.h>
#include <string.h>

#include "device/ops.h"
#include "hass/device_data.h"
#include "hass/error.h"
#include "hass_test.h"
#include "tests/engine/stand_in_data.h"

/* The tables are refused, and the message says @what. */
static void
refused (HassDevice *device, const char *what)
{
  g_autoptr (GError) error = NULL;
  HassDeviceOps ops;
  CU_ASSERT_FALSE (hass_device_ops_read (&ops, device, &error));
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_INVALID));
  CU_ASSERT_TRUE (error && strstr (error->message, what));
  if (error && !strstr (error->message, what))
    printf ("\n    \"%s\" does not say \"%s\"", error->message, what);
}

typedef struct
{
  const char *name;
  gsize offset;
} Function;

#define DATA(name)                                                             \
  {                                                                            \
#    name, G_STRUCT_OFFSET(HassDeviceDataOps, name)                            \
  }
#define DEVICE(name)                                                           \
  {                                                                            \
#    name, G_STRUCT_OFFSET(HassDeviceOps, name)                                \
  }

static const Function data_functions[]
    = { DATA (capacity), DATA (alloc),          DATA (free), DATA (copy),
        DATA (compute),  DATA (most_computing), DATA (wait) },
    device_functions[] = { DEVICE (describe), DEVICE (open), DEVICE (submit),
                           DEVICE (wait), DEVICE (close) };

static void
missing (void)
{
  HassDevice *stand_in = stand_in_data_new (&(StandInDataPlan){ 0 });
  HassDeviceOps ops = *stand_in->ops;
  HassDeviceDataOps data = *ops.data;
  HassDevice device = { &ops };
  ops.data = &data;
  for (guint i = 0; i < G_N_ELEMENTS (data_functions); i++)
    {
      const Function *f = &data_functions[i];
      g_autofree char *text
          = g_strdup_printf ("its data ops have no %s", f->name);
      memset (G_STRUCT_MEMBER_P (&data, f->offset), 0, sizeof (gpointer));
      refused (&device, text);
      data = *stand_in->ops->data;
    }
  for (guint i = 0; i < G_N_ELEMENTS (device_functions); i++)
    {
      const Function *f = &device_functions[i];
      g_autofree char *text = g_strdup_printf ("it has no %s", f->name);
      memset (G_STRUCT_MEMBER_P (&ops, f->offset), 0, sizeof (gpointer));
      refused (&device, text);
      ops = *stand_in->ops;
    }
  stand_in_data_free (stand_in);
}

static void
sizes (void)
{
  HassDevice *stand_in = stand_in_data_new (&(StandInDataPlan){ 0 });
  HassDeviceOps ops = *stand_in->ops, read;
  struct
  {
    HassDeviceDataOps data;
    gpointer later[2];
  } longer = { .data = *ops.data };
  HassDevice device = { &ops };
  CU_ASSERT_TRUE (hass_device_ops_read (&read, stand_in, NULL));
  ops.data = NULL;
  CU_ASSERT_TRUE (hass_device_ops_read (&read, &device, NULL));
  ops.data = &longer.data;
  longer.data.struct_size = sizeof longer;
  CU_ASSERT_TRUE (hass_device_ops_read (&read, &device, NULL));
  longer.later[1] = &longer;
  refused (&device, "HassDeviceDataOps");
  longer.data.struct_size = G_STRUCT_OFFSET (HassDeviceDataOps, wait);
  refused (&device, "HassDeviceDataOps");
  longer.data.struct_size = 0;
  refused (&device, "HassDeviceDataOps");
  stand_in_data_free (stand_in);
}

HASS_TEST_SUITE (
    device_ops,
    { "a table without a function that is called is refused by its name",
      missing },
    { "data ops of another version's size are read, or refused", sizes })
