/* SPDX-License-Identifier: MIT */
/* hass-info: shows the devices of this machine as hass sees them, and the
   speeds of devices and links. Exit status: 0; 1 if a GPU, the profile store or
   the output failed; 2 if the options or the environment are invalid.
   Thread safety: one thread. */
#include <stdio.h>

#include "engine/core/environment.h"
#include "hass/profile.h"
#include "info.h"
#include "tools/output.h"

/* From empty.cu, if there is nvcc. */
int info_launch_empty (gpointer stream) __attribute__ ((weak));

static gboolean json, no_measure, profile, strategies;

static const GOptionEntry entries[]
    = { { "json", 0, 0, G_OPTION_ARG_NONE, &json, "Print JSON", NULL },
        { "no-measure", 0, 0, G_OPTION_ARG_NONE, &no_measure,
          "Say what there is, but measure nothing", NULL },
        { "profile", 0, 0, G_OPTION_ARG_NONE, &profile,
          "Show what earlier runs of farms have measured instead", NULL },
        { "strategies", 0, 0, G_OPTION_ARG_NONE, &strategies,
          "List the scheduling strategies instead", NULL },
        { NULL, 0, 0, 0, NULL, NULL, NULL } };

static gboolean
parse (int argc, char **argv, GError **error)
{
  g_autoptr (GOptionContext) context = g_option_context_new (NULL);
  g_option_context_set_summary (
      context, "Shows the devices of this machine as hass sees them, and "
               "measures how fast they\nand their links are, which takes a "
               "second or two and wants an idle machine.");
  g_option_context_set_description (
      context, "HASS_DEVICES, HASS_NGPU and CUDA_VISIBLE_DEVICES "
               "limit what is shown. See hass-info(1).");
  g_option_context_add_main_entries (context, entries, NULL);
  if (!g_option_context_parse (context, &argc, &argv, error))
    return FALSE;
  if (argc > 1)
    g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_UNKNOWN_OPTION,
                 "unknown argument %s", argv[1]);
  else if (profile && strategies)
    g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                 "--profile and --strategies: one of them");
  return argc == 1 && !(profile && strategies);
}

static void
show (const char *text)
{
  fputs (text, stdout);
  if (json)
    putchar ('\n');
}

static int
show_machine (void)
{
  InfoMachine *m = info_look ();
  int status = 0;
  if (!no_measure)
    info_measure (m, info_launch_empty, &info_effort);
  g_autofree char *text = json ? info_machine_json (m) : info_machine_text (m);
  show (text);
  for (guint i = 0; i < m->n_gpus; i++)
    if (m->gpus[i].problem)
      status = 1;
  info_machine_free (m);
  return status;
}

static int
show_strategies (void)
{
  g_autofree char *text
      = json ? info_strategies_json () : info_strategies_text ();
  show (text);
  return 0;
}

static int
show_profile (void)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *path = hass_profile_path ();
  g_autoptr (GPtrArray) entries = hass_profile_list (&error);
  if (!entries)
    {
      fprintf (stderr, "hass-info: %s\n", error->message);
      return 1;
    }
  g_autofree char *text = json ? info_profile_json (path, entries)
                               : info_profile_text (path, entries);
  show (text);
  return 0;
}

int
main (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;
  output_begin ();
  guint32 chosen;
  if (!parse (argc, argv, &error) || !hass_environment_check (&error)
      || !hass_device_kinds_chosen (&chosen, &error))
    {
      fprintf (stderr, "hass-info: %s\n", error->message);
      return 2;
    }
  return strategies ? show_strategies ()
         : profile  ? show_profile ()
                    : show_machine ();
}
