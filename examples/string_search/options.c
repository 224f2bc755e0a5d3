/* SPDX-License-Identifier: MIT */
/* options.c: parses the command line as grep would.
   Thread safety: single-threaded, at start-up. */
#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include <hass/hass.h>

#define NAME "string_search"

enum
{
  STRATEGY = 256,
  PLATFORM,
  REPORT,
  DRY,
  CORES,
  NO_PROGRESS,
  GPU,
  NO_GPU,
  ONLY_GPU,
  HELP,
  VERSION
};

static const char short_options[] = "+:cnobie:f:Fr";
static const struct option long_options[]
    = { { "count", no_argument, NULL, 'c' },
        { "line-number", no_argument, NULL, 'n' },
        { "only-matching", no_argument, NULL, 'o' },
        { "byte-offset", no_argument, NULL, 'b' },
        { "ignore-case", no_argument, NULL, 'i' },
        { "regexp", required_argument, NULL, 'e' },
        { "file", required_argument, NULL, 'f' },
        { "fixed-strings", no_argument, NULL, 'F' },
        { "recursive", no_argument, NULL, 'r' },
        { "strategy", required_argument, NULL, STRATEGY },
        { "platform", required_argument, NULL, PLATFORM },
        { "report", no_argument, NULL, REPORT },
        { "dry", no_argument, NULL, DRY },
        { "cores", required_argument, NULL, CORES },
        { "no-progress", no_argument, NULL, NO_PROGRESS },
        { "gpu", no_argument, NULL, GPU },
        { "no-gpu", no_argument, NULL, NO_GPU },
        { "gpu-only", no_argument, NULL, ONLY_GPU },
        { "help", no_argument, NULL, HELP },
        { "version", no_argument, NULL, VERSION },
        { NULL, 0, NULL, 0 } };

static void
show_help (void)
{
  g_autofree const HassStrategyOps **all = hass_strategy_list ();
  fputs ("Usage: " NAME " [OPTION]... [PATTERN] PATH...\n"
         "Prints the lines that contain a fixed string, in files and below\n"
         "directories, in the order of their paths, as grep -rF does.\n\n"
         "  -e, --regexp=PATTERN   search for this (may be repeated)\n"
         "  -f, --file=FILE        search for the lines of FILE; - is stdin\n"
         "  -i, --ignore-case      take upper and lower case as the same\n"
         "  -c, --count            print only a count of lines per file\n"
         "  -n, --line-number      print line numbers\n"
         "  -o, --only-matching    print only the matches\n"
         "  -b, --byte-offset      print byte offsets\n"
         "  -F, -r                 taken and always on\n"
         "      --strategy=NAME    schedule with this strategy, see below\n"
         "      --platform=FILE    run on a modelled machine, virtual time\n"
         "      --dry              with --platform: time only, no results\n"
         "      --cores=N          use at most N cores\n"
         "      --gpu              have GPUs help with files of 8 MiB and\n"
         "                         more, not only where it is likely to pay\n"
         "      --no-gpu           search on the CPU alone\n"
         "      --gpu-only         search such files on GPUs alone\n"
         "      --report           print where the time went, to stderr\n"
         "      --no-progress      none on the terminal\n"
         "      --help, --version\n\n"
         "Other switches of grep are refused. Exit status: 0 a line was\n"
         "found, 1 none was, 2 there was an error.\n\nStrategies:\n",
         stdout);
  for (gsize i = 0; all[i]; i++)
    printf ("  %-16s %s%s%s%s\n", all[i]->name, all[i]->summary,
            all[i]->source ? " (" : "", all[i]->source ? all[i]->source : "",
            all[i]->source ? ")" : "");
}

static gboolean
add_file (PatternList *list, const char *path)
{
  g_autofree char *text = NULL;
  gsize length;
  g_autoptr (GError) error = NULL;
  if (strcmp (path, "-") == 0)
    path = "/dev/stdin";
  if (!g_file_get_contents (path, &text, &length, &error))
    {
      fprintf (stderr, NAME ": %s\n", error->message);
      return FALSE;
    }
  pattern_list_add_file (list, (const guint8 *)text, length);
  return TRUE;
}

static gboolean
wrong (const char *what, const char *which)
{
  fprintf (stderr,
           NAME ": %s %s\n" NAME " knows -c -n -o -b -i -e -f; see --help\n",
           what, which);
  return FALSE;
}

/* The field that an option without an argument sets; NULL for the others. */
static gboolean *
switch_of (Options *o, int c)
{
  switch (c)
    {
    case 'c':
      return &o->count;
    case 'n':
      return &o->line_number;
    case 'o':
      return &o->only_matching;
    case 'b':
      return &o->byte_offset;
    case 'i':
      return &o->ignore_case;
    case REPORT:
      return &o->report;
    case DRY:
      return &o->dry;
    case NO_PROGRESS:
      return &o->no_progress;
    default:
      return NULL;
    }
}

/* Takes option `c` of getopt_long(). */
static gboolean
take (Options *o, int c, char **argv, gboolean *has_patterns)
{
  guint64 cores;
  gboolean *on = switch_of (o, c);
  if (on)
    return *on = TRUE;
  switch (c)
    {
    case 'F':
    case 'r':
      break;
    case 'e':
      pattern_list_add_text (o->patterns, (const guint8 *)optarg,
                             strlen (optarg));
      *has_patterns = TRUE;
      break;
    case 'f':
      *has_patterns = TRUE;
      return add_file (o->patterns, optarg);
    case STRATEGY:
      o->strategy = optarg;
      break;
    case PLATFORM:
      o->platform = optarg;
      break;
    case GPU:
      o->gpu = GPU_ALWAYS;
      break;
    case NO_GPU:
      o->gpu = GPU_NEVER;
      break;
    case ONLY_GPU:
      o->gpu = GPU_ONLY;
      break;
    case CORES:
      if (!g_ascii_string_to_unsigned (optarg, 10, 1, 4096, &cores, NULL))
        return wrong ("--cores needs a number from 1 to 4096, not", optarg);
      o->cores = (guint)cores;
      break;
    case ':':
      return wrong ("an argument is missing for", argv[optind - 1]);
    default:
      return wrong ("refused:", argv[optind - 1]);
    }
  return TRUE;
}

OptionsResult
options_parse (Options *o, int argc, char **argv)
{
  gboolean has_patterns = FALSE;
  g_autoptr (GPtrArray) operands = g_ptr_array_new ();
  int c;
  memset (o, 0, sizeof *o);
  o->patterns = pattern_list_new ();
  opterr = 0;
  /* As grep, options may follow operands. */
  while (optind < argc)
    {
      c = getopt_long (argc, argv, short_options, long_options, NULL);
      if (c == HELP)
        {
          show_help ();
          return OPTIONS_SHOWN;
        }
      if (c == VERSION)
        {
          printf (NAME " (hass) %s\n", hass_version ());
          return OPTIONS_SHOWN;
        }
      if (c != -1)
        {
          if (!take (o, c, argv, &has_patterns))
            return OPTIONS_WRONG;
          continue;
        }
      if (optind > 1 && strcmp (argv[optind - 1], "--") == 0)
        while (optind < argc)
          g_ptr_array_add (operands, argv[optind++]);
      else if (optind < argc)
        g_ptr_array_add (operands, argv[optind++]);
    }
  if (!has_patterns)
    {
      if (operands->len == 0)
        {
          fprintf (stderr, "Usage: " NAME " [OPTION]... [PATTERN] PATH...\n"
                           "Try '" NAME " --help'.\n");
          return OPTIONS_WRONG;
        }
      const char *pattern = operands->pdata[0];
      pattern_list_add_text (o->patterns, (const guint8 *)pattern,
                             strlen (pattern));
      g_ptr_array_remove_index (operands, 0);
    }
  g_ptr_array_add (operands, NULL);
  o->paths = (char **)g_ptr_array_free (g_steal_pointer (&operands), FALSE);
  return OPTIONS_RUN;
}

void
options_clear (Options *o)
{
  g_clear_pointer (&o->patterns, pattern_list_free);
  g_free (o->paths);
}
