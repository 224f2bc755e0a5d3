/* SPDX-License-Identifier: MIT */
/* main.cu: gpu-bench raw | hybrid | small | tasks | check [options].

   Without a GPU it says so and succeeds; "check" then checks what needs
   none.

   Thread safety: one thread. */
#include "cuda_check.cuh"

#include <string.h>

static const struct
{
  const char *name, *what;
  int (*run) (const GpuBenchOptions *options);
  gboolean without_gpu;
} commands[] = {
  { "raw", "links, launches, registering, host memory", raw_main, FALSE },
  { "hybrid", "search by CPU and GPUs, written by hand", hybrid_main, FALSE },
  { "small", "scattered small loads, 64 B to 1 MiB", small_main, FALSE },
  { "tasks", "different functions: one kernel or streams", tasks_main, FALSE },
  { "check", "right answers, before anything is timed", check_main, TRUE },
};

static void
print_machine (guint n_gpus)
{
  printf ("%u cores, %u GPU%s used\n", bench_cores (), n_gpus,
          n_gpus == 1 ? "" : "s");
  for (guint g = 0; g < n_gpus; g++)
    {
      cudaDeviceProp p;
      CU (cudaGetDeviceProperties (&p, (int)g));
      printf ("gpu%u: %s, %d multiprocessors, %.1f GiB\n", g, p.name,
              p.multiProcessorCount, (double)p.totalGlobalMem / GIB);
    }
  fflush (stdout);
}

static int
usage (GOptionContext *context)
{
  char *help = g_option_context_get_help (context, TRUE, NULL);
  fputs (help, stderr);
  g_free (help);
  g_option_context_free (context);
  return 2;
}

int
main (int argc, char **argv)
{
  double gib = 6;
  int n_gpus = 0, repeat = 11;
  const GOptionEntry entries[]
      = { { "gib", 0, 0, G_OPTION_ARG_DOUBLE, &gib, "of text (6)", "N" },
          { "gpus", 0, 0, G_OPTION_ARG_INT, &n_gpus,
            "use the first N GPUs (all)", "N" },
          { "repeat", 0, 0, G_OPTION_ARG_INT, &repeat, "rounds (11)", "R" },
          { NULL, 0, 0, G_OPTION_ARG_NONE, NULL, NULL, NULL } };
  GError *error = NULL;
  GOptionContext *context = g_option_context_new ("COMMAND");
  GString *summary = g_string_new ("Commands:");
  for (const auto &c : commands)
    g_string_append_printf (summary, "\n  %-8s %s", c.name, c.what);
  g_option_context_set_summary (context, summary->str);
  g_string_free (summary, TRUE);
  g_option_context_add_main_entries (context, entries, NULL);
  if (!g_option_context_parse (context, &argc, &argv, &error))
    {
      fprintf (stderr, "%s\n", error->message);
      return usage (context);
    }
  if (argc != 2 || gib <= 0 || n_gpus < 0 || repeat < 1)
    return usage (context);
  /* Before the first call of CUDA: as many queues as streams. */
  g_setenv ("CUDA_DEVICE_MAX_CONNECTIONS", "32", FALSE);
  for (const auto &c : commands)
    if (strcmp (c.name, argv[1]) == 0)
      {
        guint there = gpus_there ();
        GpuBenchOptions options
            = { gib, n_gpus > 0 ? MIN ((guint)n_gpus, there) : there,
                (guint)repeat };
        g_option_context_free (context);
        if (there == 0)
          printf ("no GPU: %s\n",
                  c.without_gpu ? "the CPU's part only" : "nothing measured");
        if (there == 0 && !c.without_gpu)
          return 0;
        if (options.n_gpus < (guint)n_gpus)
          printf ("%d GPUs asked for, %u there\n", n_gpus, there);
        print_machine (options.n_gpus);
        return c.run (&options);
      }
  fprintf (stderr, "no command %s\n", argv[1]);
  return usage (context);
}
