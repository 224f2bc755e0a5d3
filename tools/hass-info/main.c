/* SPDX-License-Identifier: MIT */
/* hass-info: the devices of this machine as hass sees them, and how fast they
   and their links are. Exit status: 0, 1 when a GPU failed, 2 when the
   options or the environment are wrong.
   Thread safety: one thread. */
#include <locale.h>
#include <stdio.h>

#include "engine/environment.h"
#include "info.h"

/* In empty.cu, where there is nvcc. */
int info_launch_empty (gpointer stream) __attribute__ ((weak));

static gboolean json, no_measure, strategies;

static const GOptionEntry entries[]
    = { { "json", 0, 0, G_OPTION_ARG_NONE, &json, "Print JSON", NULL },
        { "no-measure", 0, 0, G_OPTION_ARG_NONE, &no_measure,
          "Say what there is, but measure nothing", NULL },
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
      context, "HASS_NGPU and CUDA_VISIBLE_DEVICES limit what is "
               "shown. See hass-info(1).");
  g_option_context_add_main_entries (context, entries, NULL);
  if (!g_option_context_parse (context, &argc, &argv, error))
    return FALSE;
  if (argc == 1)
    return TRUE;
  g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_UNKNOWN_OPTION,
               "unknown argument %s", argv[1]);
  return FALSE;
}

static int
show_machine (void)
{
  InfoMachine *m = info_look ();
  int status = 0;
  if (!no_measure)
    info_measure (m, info_launch_empty, &info_effort);
  g_autofree char *text = json ? info_machine_json (m) : info_machine_text (m);
  fputs (text, stdout);
  if (json)
    putchar ('\n');
  for (guint i = 0; i < m->n_gpus; i++)
    if (m->gpus[i].problem)
      status = 1;
  info_machine_free (m);
  return status;
}

int
main (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;
  setlocale (LC_ALL, "");
  if (!parse (argc, argv, &error) || !hass_environment_check (&error))
    {
      fprintf (stderr, "hass-info: %s\n", error->message);
      return 2;
    }
  if (!strategies)
    return show_machine ();
  g_autofree char *text
      = json ? info_strategies_json () : info_strategies_text ();
  fputs (text, stdout);
  if (json)
    putchar ('\n');
  return 0;
}
