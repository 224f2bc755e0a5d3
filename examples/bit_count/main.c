/* SPDX-License-Identifier: MIT */
/* main.c: bit_count, the smallest farm on CPU and GPUs: the number of bits set
   in N bytes. One divisible load; the sums of all devices are reduced.
   Thread safety: the farm's. */
#include <hass/hass.h>
#include <stdio.h>
#include <string.h>

/* In gpu.cu; NULL in a program built without CUDA. */
gboolean bit_count_gpu (const HassBundle *bundle, HassGpuStream *stream,
                        gpointer user_data, GError **error)
    __attribute__ ((weak));

static gboolean
cpu_worker (const HassBlock *block, HassWorker *worker, gpointer user_data,
            GError **error)
{
  guint64 *sum = hass_worker_accumulator (worker), bits = 0;
  (void)user_data;
  (void)error;
  gsize i = 0;
  for (guint64 word; i + 8 <= block->count; i += 8)
    {
      memcpy (&word, block->input + i, 8);
      bits += (guint64)__builtin_popcountll (word);
    }
  for (; i < block->count; i++)
    bits += (guint64)__builtin_popcount (block->input[i]);
  *sum += bits;
  return TRUE;
}

static void
add (gpointer sum, gconstpointer part, gpointer user_data)
{
  (void)user_data;
  *(guint64 *)sum += *(const guint64 *)part;
}

int
main (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;
  guint64 n = 100000000;
  if (argc > 2
      || (argc == 2
          && !g_ascii_string_to_unsigned (argv[1], 10, 0, G_MAXINT64, &n,
                                          NULL)))
    {
      fprintf (stderr, "usage: bit_count [BYTES]\n");
      return 2;
    }
  guint64 bits = 0;
  guint8 *bytes = hass_memory_alloc (n, &error);
  for (gsize i = 0; bytes && i < n; i++)
    bytes[i] = (guint8)i;
  HassLoad load = { .input = bytes, .input_bytes = n, .size = n };
  HassDataFarm farm = HASS_DATA_FARM_INIT;
  farm.name = "bit_count";
  farm.loads = &load;
  farm.n_loads = n > 0;
  farm.cpu_worker = cpu_worker;
  farm.gpu_worker = bit_count_gpu;
  farm.reduce = add;
  farm.accumulator = &bits;
  farm.accumulator_bytes = sizeof bits;
  g_autoptr (HassReport) report = NULL;
  gboolean ok = bytes && hass_data_farm_partition (&farm, &report, &error);
  g_autofree char *table = report ? hass_report_to_string (report) : NULL;
  fprintf (stderr, "%s%s%s", table ? table : "", ok ? "" : error->message,
           ok ? "" : "\n");
  if (ok)
    printf ("%zu bytes have %" G_GUINT64_FORMAT " bits set\n", n, bits);
  hass_memory_free (bytes);
  if (fclose (stdout) != 0)
    {
      perror ("bit_count: standard output");
      return 1;
    }
  return ok ? 0 : 1;
}
