/* SPDX-License-Identifier: MIT */
/* main.cu: gpu-bench COMMAND [options].

   Without a GPU it says so and succeeds; "check" then checks what needs
   none. "all" runs each command in a process of its own, so that none spoils
   another, and ends with all their targets. What hass remembers of its farms
   begins empty in each process.

   Thread safety: one thread. */
#include "cuda_check.cuh"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static int all_main (const GpuBenchOptions *options);

static const struct
{
  const char *name, *what;
  int (*run) (const GpuBenchOptions *options);
  gboolean without_gpu;
} commands[] = {
  { "raw", "links, launches, registering, host memory", raw_main, FALSE },
  { "hybrid", "search by CPU and GPUs", hybrid_main, FALSE },
  { "small", "scattered small loads, 64 B to 1 MiB", small_main, FALSE },
  { "large", "few large loads, 512 KiB to 128 MiB", large_main, FALSE },
  { "tasks", "different functions: one kernel or streams", tasks_main, FALSE },
  { "overhead", "turnaround of an empty bundle, cores that wait", overhead_main,
    FALSE },
  { "never-worse", "where one device is far faster, and where none is",
    never_worse_main, FALSE },
  { "few", "a few loads that take a core long", few_units_main, FALSE },
  { "pipelines", "the default strategy beside the best single device",
    pipelines_main, FALSE },
  { "all", "all of these, and a table of targets", all_main, FALSE },
  { "check", "right answers, before anything is timed", check_main, TRUE },
};

static void
print_machine (guint n_gpus)
{
  printf ("- %u cores, %u GPU%s used\n", bench_cores (), n_gpus,
          n_gpus == 1 ? "" : "s");
  for (guint g = 0; g < n_gpus; g++)
    {
      cudaDeviceProp p;
      CU (cudaGetDeviceProperties (&p, (int)g));
      printf ("- gpu%u: %s, %d multiprocessors, %.1f GiB\n", g, p.name,
              p.multiProcessorCount, (double)p.totalGlobalMem / GIB);
    }
  fflush (stdout);
}

/* -- Output to two places ----------------------------------------------- */

static ssize_t
write_both (void *file, const char *bytes, size_t n)
{
  const int to[] = { STDOUT_FILENO, *static_cast<int *> (file) };
  for (int fd : to)
    for (size_t done = 0; done < n;)
      {
        ssize_t written = write (fd, bytes + done, n - done);
        if (written <= 0)
          return 0;
        done += (size_t)written;
      }
  return (ssize_t)n;
}

/* What is printed from here on also goes to OUT/COMMAND.md. */
static gboolean
copy_output (const char *folder, const char *command)
{
  static int file;
  cookie_io_functions_t functions = { NULL, write_both, NULL, NULL };
  char *name = g_strconcat (command, ".md", NULL);
  char *path = g_build_filename (folder, name, NULL);
  file = g_mkdir_with_parents (folder, 0777) == 0
             ? open (path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)
             : -1;
  if (file >= 0)
    stdout = fopencookie (&file, "w", functions);
  else
    fprintf (stderr, "%s: %s\n", path, g_strerror (errno));
  g_free (path);
  g_free (name);
  return file >= 0;
}

/* -- A profile of its own ----------------------------------------------- */

static char *profile;

static void
remove_profile (void)
{
  char *lock = g_strconcat (profile, ".lock", NULL);
  unlink (profile);
  unlink (lock);
  g_free (lock);
}

static void
use_empty_profile (void)
{
  profile = g_strdup_printf ("%s/gpu-bench-%d.profile", g_get_tmp_dir (),
                             (int)getpid ());
  remove_profile ();
  g_setenv ("HASS_PROFILE", profile, TRUE);
  atexit (remove_profile);
}

/* -- A measurement in a process of its own ------------------------------ */

static char *
child_output (const char *command, char *spec)
{
  GError *error = NULL;
  gint status = 0;
  char *out = NULL, *err = NULL;
  char *self = g_file_read_link ("/proc/self/exe", NULL);
  char *argv[] = { self, const_cast<char *> (command),
                   const_cast<char *> ("--run"), spec, NULL };
  gboolean ok = g_spawn_sync (NULL, argv, NULL, G_SPAWN_DEFAULT, NULL, NULL,
                              &out, &err, &status, &error)
                && g_spawn_check_wait_status (status, &error);
  if (err && *err)
    fputs (err, stderr);
  if (!ok)
    {
      fflush (stdout);
      fprintf (stderr, "a process that ran %s failed: %s\n", spec,
               error->message);
      exit (1);
    }
  g_free (err);
  g_free (self);
  return out;
}

void
child_scan (const char *command, char *spec, int n, const char *format, ...)
{
  va_list numbers;
  char *out = child_output (command, spec);
  va_start (numbers, format);
  int found = vsscanf (out, format, numbers);
  va_end (numbers);
  if (found != n)
    {
      fflush (stdout);
      fprintf (stderr, "a process that ran %s printed no numbers: %s\n", spec,
               out);
      exit (1);
    }
  g_free (out);
  g_free (spec);
}

/* -- All ---------------------------------------------------------------- */

static gboolean
run_command (const char *name, const GpuBenchOptions *options,
             const char *targets)
{
  char gib[32], gpus[32], repeat[32];
  GError *error = NULL;
  gint status = 0;
  char *self = g_file_read_link ("/proc/self/exe", NULL);
  g_snprintf (gib, sizeof gib, "--gib=%g", options->gib);
  g_snprintf (gpus, sizeof gpus, "--gpus=%u", options->n_gpus);
  g_snprintf (repeat, sizeof repeat, "--repeat=%u", options->repeat);
  GPtrArray *argv = g_ptr_array_new ();
  for (const char *word :
       { (const char *)self, name, (const char *)gib, (const char *)gpus,
         (const char *)repeat, "--targets", targets })
    g_ptr_array_add (argv, const_cast<char *> (word));
  if (options->out)
    {
      g_ptr_array_add (argv, const_cast<char *> ("--out"));
      g_ptr_array_add (argv, const_cast<char *> (options->out));
    }
  g_ptr_array_add (argv, NULL);
  gboolean ok = g_spawn_sync (NULL, reinterpret_cast<char **> (argv->pdata),
                              NULL, G_SPAWN_CHILD_INHERITS_STDIN, NULL, NULL,
                              NULL, NULL, &status, &error)
                && g_spawn_check_wait_status (status, &error);
  if (!ok)
    fprintf (stderr, "%s: %s\n", name, error->message);
  g_clear_error (&error);
  g_ptr_array_unref (argv);
  g_free (self);
  return ok;
}

static int
all_main (const GpuBenchOptions *options)
{
  int status = 0;
  char *targets = g_strdup_printf ("%s/gpu-bench-%d.targets", g_get_tmp_dir (),
                                   (int)getpid ());
  GString *failed = g_string_new (NULL);
  char *lines = NULL;
  unlink (targets);
  for (const char *name :
       { "check", "raw", "hybrid", "overhead", "small", "large", "never-worse",
         "few", "tasks", "pipelines" })
    {
      gint64 begin = bench_now_ns ();
      printf ("\n");
      fflush (stdout);
      if (!run_command (name, options, targets))
        {
          g_string_append_printf (failed, "| %s | | failed | missed |\n", name);
          status = 1;
        }
      fprintf (stderr, "%s took %.1f s\n", name, seconds_since (begin));
    }
  g_file_get_contents (targets, &lines, NULL, NULL);
  printf ("\n# All targets\n\n" TARGETS_HEAD "%s%s", lines ? lines : "",
          failed->str);
  unlink (targets);
  g_free (lines);
  g_free (targets);
  g_string_free (failed, TRUE);
  return status;
}

/* -- The command line --------------------------------------------------- */

static int
usage (GOptionContext *context)
{
  char *help = g_option_context_get_help (context, TRUE, NULL);
  fputs (help, stderr);
  g_free (help);
  g_option_context_free (context);
  return 2;
}

static int
run (const char *name, GpuBenchOptions *options, int n_gpus)
{
  for (const auto &c : commands)
    if (strcmp (c.name, name) == 0)
      {
        /* A process of child_scan(): nothing touches CUDA before its farm. */
        if (options->run)
          return c.run (options);
        guint there = gpus_there ();
        options->n_gpus = n_gpus > 0 ? MIN ((guint)n_gpus, there) : there;
        if (there == 0 && !c.without_gpu)
          {
            printf ("no GPU: nothing measured\n");
            return 0;
          }
        if (options->out && !copy_output (options->out, name))
          return 1;
        printf ("# gpu-bench %s\n\n", name);
        if (there == 0)
          printf ("no GPU: the CPU's part only\n\n");
        if (options->n_gpus < (guint)n_gpus)
          printf ("%d GPUs asked for, %u there\n\n", n_gpus, there);
        print_machine (options->n_gpus);
        int status = c.run (options);
        targets_print (options->targets);
        return status;
      }
  fprintf (stderr, "no command %s\n", name);
  return 2;
}

int
main (int argc, char **argv)
{
  GpuBenchOptions options = {};
  options.gib = 6;
  options.token_kib = 64;
  options.core_ms = 20;
  options.farm = "combine";
  int n_gpus = 0, repeat = 11;
  const GOptionEntry entries[] = {
    { "gib", 0, 0, G_OPTION_ARG_DOUBLE, &options.gib, "of text (6)", "N" },
    { "gpus", 0, 0, G_OPTION_ARG_INT, &n_gpus, "first N GPUs (all)", "N" },
    { "repeat", 0, 0, G_OPTION_ARG_INT, &repeat, "rounds (11)", "R" },
    { "out", 0, 0, G_OPTION_ARG_FILENAME, &options.out,
      "also write COMMAND.md there, and small.svg", "DIR" },
    { "svg", 0, 0, G_OPTION_ARG_FILENAME, &options.svg,
      "small: file for the plot", "FILE" },
    { "ratio", 0, 0, G_OPTION_ARG_INT, &options.ratio,
      "few, pipelines: GPU over one core (2, 10, 50, 300, 1000)", "N" },
    { "farm", 0, 0, G_OPTION_ARG_STRING, &options.farm,
      "few: combine, indivisible, tasks, mixed, emitted or simple", "KIND" },
    { "units", 0, 0, G_OPTION_ARG_INT, &options.units,
      "few: only this many units (4, 16, 64)", "N" },
    { "in-flight", 0, 0, G_OPTION_ARG_INT, &options.in_flight,
      "pipelines: most tokens in flight (8, 64, 512)", "N" },
    { "core-ms", 0, 0, G_OPTION_ARG_DOUBLE, &options.core_ms,
      "few, pipelines: time of a token on a core (20)", "MS" },
    { "silent", 0, 0, G_OPTION_ARG_NONE, &options.silent,
      "few: workers do not ask whether they should stop", NULL },
    { "token-kib", 0, 0, G_OPTION_ARG_INT, &options.token_kib,
      "few, pipelines: size of a token (64)", "N" },
    { "buffers", 0, 0, G_OPTION_ARG_NONE, &options.buffers,
      "pipelines: tokens in a buffer of hass_emitter_buffer()", NULL },
    { "targets", 0, G_OPTION_FLAG_HIDDEN, G_OPTION_ARG_FILENAME,
      &options.targets, "", "FILE" },
    { "run", 0, G_OPTION_FLAG_HIDDEN, G_OPTION_ARG_STRING, &options.run, "",
      "SPEC" },
    { NULL, 0, 0, G_OPTION_ARG_NONE, NULL, NULL, NULL }
  };
  GError *error = NULL;
  GOptionContext *context = g_option_context_new ("COMMAND");
  GString *summary = g_string_new ("Commands:");
  for (const auto &c : commands)
    g_string_append_printf (summary, "\n  %-12s %s", c.name, c.what);
  g_option_context_set_summary (context, summary->str);
  g_string_free (summary, TRUE);
  g_option_context_add_main_entries (context, entries, NULL);
  if (!g_option_context_parse (context, &argc, &argv, &error))
    {
      fprintf (stderr, "%s\n", error->message);
      return usage (context);
    }
  if (argc != 2 || options.gib <= 0 || n_gpus < 0 || repeat < 1
      || !pipelines_can (&options))
    return usage (context);
  g_option_context_free (context);
  options.repeat = (guint)repeat;
  /* Before the first call of CUDA: as many queues as streams. */
  g_setenv ("CUDA_DEVICE_MAX_CONNECTIONS", "32", FALSE);
  use_empty_profile ();
  return run (argv[1], &options, n_gpus);
}
