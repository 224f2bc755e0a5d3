/* SPDX-License-Identifier: MIT */
/* test_info.c: hass-info as users and programs run it.
   Thread safety: one thread. */
#include <json-glib/json-glib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "hass/profile.h"
#include "hass/strategy.h"
#include "hass_test.h"
#include "tests/program.h"
#include "tools/hass-info/info.h"

/* The JSON that hass-info prints, in a parser to be unreffed. */
static JsonParser *
json_of (const char *a, const char *b)
{
  g_autofree char *out = NULL, *err = NULL;
  GError *error = NULL;
  JsonParser *parser = json_parser_new ();
  CU_ASSERT_EQUAL (program_run (&out, &err, "hass-info", a, b, NULL), 0);
  gboolean ok = json_parser_load_from_data (parser, out, -1, &error);
  CU_ASSERT_TRUE_FATAL (
      ok && JSON_NODE_HOLDS_OBJECT (json_parser_get_root (parser)));
  return parser;
}

static JsonObject *
object_of (JsonParser *parser)
{
  return json_node_get_object (json_parser_get_root (parser));
}

static const char *const top[]
    = { "cpu", "gpus", "gpu_problem", "kinds", NULL };
static const char *const of_cpu[]
    = { "model",     "available_threads", "threads",   "cores",
        "sockets",   "numa_nodes",        "l2_caches", "l2_bytes",
        "l3_caches", "l3_bytes",          "read_gbps", "read_one_thread_gbps",
        NULL };
static const char *const of_gpu[] = { "name",
                                      "model",
                                      "pci",
                                      "memory_bytes",
                                      "multiprocessors",
                                      "threads_per_multiprocessor",
                                      "link",
                                      "numa_node",
                                      "to_device_gbps",
                                      "to_host_gbps",
                                      "pageable_to_device_gbps",
                                      "register_ms_per_gib",
                                      "unregister_ms_per_gib",
                                      "copy_4k_us",
                                      "launched",
                                      "launch_us",
                                      "launch_asleep_us",
                                      "problem",
                                      NULL };

/* These members, no other ones, and the manual has them. */
static void
has_members (JsonObject *object, const char *const *names)
{
  g_autofree char *manual = NULL;
  CU_ASSERT_FATAL (g_file_get_contents (HASS_TOP "/doc/man/hass-info.1",
                                        &manual, NULL, NULL));
  for (guint i = 0; names[i]; i++)
    {
      g_autofree char *entry = g_strdup_printf ("\n.B %s\n", names[i]);
      CU_ASSERT_TRUE (json_object_has_member (object, names[i]));
      program_says (manual, entry);
    }
  CU_ASSERT_EQUAL (json_object_get_size (object),
                   g_strv_length ((char **)names));
}

static double
number (JsonObject *object, const char *name)
{
  return json_object_get_null_member (object, name)
             ? 0
             : json_object_get_double_member (object, name);
}

static void
within (JsonObject *object, const char *name, double least, double most)
{
  double value = number (object, name);
  CU_ASSERT_TRUE (value >= least && value <= most);
  if (!(value >= least && value <= most))
    printf ("\n    %s is %g", name, value);
}

static void
check_cpu (JsonObject *cpu)
{
  has_members (cpu, of_cpu);
  within (cpu, "available_threads", 1, 4096);
  within (cpu, "threads", number (cpu, "available_threads"), 4096);
  within (cpu, "cores", 1, number (cpu, "threads"));
  within (cpu, "sockets", 1, number (cpu, "cores"));
  within (cpu, "numa_nodes", 1, 1024);
}

static void
measured (void)
{
  g_autoptr (JsonParser) parser = json_of ("--json", NULL);
  JsonObject *all = object_of (parser);
  JsonObject *cpu = json_object_get_object_member (all, "cpu");
  JsonArray *gpus = json_object_get_array_member (all, "gpus");
  has_members (all, top);
  check_cpu (cpu);
  within (cpu, "read_gbps", 0.05, 5000);
  within (cpu, "read_one_thread_gbps", 0.05, 500);
  CU_ASSERT_EQUAL (json_object_get_null_member (all, "gpu_problem"),
                   json_array_get_length (gpus) > 0);
  for (guint i = 0; i < json_array_get_length (gpus); i++)
    {
      JsonObject *gpu = json_array_get_object_element (gpus, i);
      has_members (gpu, of_gpu);
      within (gpu, "to_device_gbps", 0.1, 2000);
      within (gpu, "to_host_gbps", 0.1, 2000);
      within (gpu, "pageable_to_device_gbps", 0.1, 2000);
      within (gpu, "register_ms_per_gib", 0.01, 1e5);
      within (gpu, "unregister_ms_per_gib", 0.01, 1e5);
      within (gpu, "copy_4k_us", 0.5, 1e4);
      within (gpu, "launch_us", 0.5, 1e4);
      within (gpu, "launch_asleep_us", 0.5, 1e4);
      CU_ASSERT_TRUE (json_object_get_null_member (gpu, "problem"));
      CU_ASSERT_STRING_EQUAL (json_object_get_string_member (gpu, "launched"),
                              "empty kernel");
    }
}

static void
not_measured (void)
{
  g_autoptr (JsonParser) parser = json_of ("--json", "--no-measure");
  JsonObject *all = object_of (parser);
  JsonObject *cpu = json_object_get_object_member (all, "cpu");
  JsonArray *gpus = json_object_get_array_member (all, "gpus");
  has_members (all, top);
  check_cpu (cpu);
  CU_ASSERT_TRUE (json_object_get_null_member (cpu, "read_gbps"));
  CU_ASSERT_TRUE (json_object_get_null_member (cpu, "read_one_thread_gbps"));
  for (guint i = 0; i < json_array_get_length (gpus); i++)
    {
      JsonObject *gpu = json_array_get_object_element (gpus, i);
      has_members (gpu, of_gpu);
      CU_ASSERT_TRUE (json_object_get_null_member (gpu, "to_device_gbps"));
      CU_ASSERT_TRUE (json_object_get_null_member (gpu, "launched"));
    }
}

static void
for_people (void)
{
  g_autofree char *out = NULL, *err = NULL;
  g_setenv ("HASS_NGPU", "0", TRUE);
  CU_ASSERT_EQUAL (program_run (&out, &err, "hass-info", "--no-measure", NULL),
                   0);
  g_unsetenv ("HASS_NGPU");
  CU_ASSERT_STRING_EQUAL (err, "");
  program_says (out, "CPU\n  model    ");
  program_says (out, " for hass, of ");
  program_says (out, "GPUs\n  none: HASS_NGPU is 0\n");
  CU_ASSERT_PTR_NULL (strstr (out, "GB/s"));
}

static void
unknown_caches (void)
{
  InfoMachine m = { .cpu = { .n_l3 = 2, .l3_bytes = 1 << 20 } };
  g_autofree char *large = info_machine_text (&m);
  m.cpu.n_l2 = 4;
  m.cpu.l3_bytes = 0;
  g_autofree char *none = info_machine_text (&m);
  program_says (large, "\n  caches   L3 1.0 MiB x 2\n");
  CU_ASSERT_PTR_NULL (strstr (none, "caches"));
}

static void
refuses (const char *wanted, const char *a, const char *b)
{
  g_autofree char *out = NULL, *err = NULL;
  CU_ASSERT_EQUAL (program_run (&out, &err, "hass-info", a, b, NULL), 2);
  CU_ASSERT_STRING_EQUAL (out, "");
  program_says (err, "hass-info: ");
  program_says (err, wanted);
}

static void
wrong_options (void)
{
  refuses ("--no-such-option", "--no-such-option", NULL);
  refuses ("unknown argument gpu0", "--json", "gpu0");
  g_setenv ("HASS_NGPU", "many", TRUE);
  refuses ("HASS_NGPU='many'", "--no-measure", NULL);
  g_unsetenv ("HASS_NGPU");
  g_setenv ("HASS_DEVICES", "fpga", TRUE);
  refuses ("there is no kind 'fpga'", "--no-measure", NULL);
  g_unsetenv ("HASS_DEVICES");
}

static void
help (void)
{
  static const char *const options[]
      = { "--json", "--no-measure", "--profile", "--strategies" };
  g_autofree char *out = NULL, *err = NULL, *source = NULL;
  CU_ASSERT_EQUAL (program_run (&out, &err, "hass-info", "--help", NULL), 0);
  CU_ASSERT_FATAL (g_file_get_contents (HASS_TOP "/doc/man/hass-info.1",
                                        &source, NULL, NULL));
  g_auto (GStrv) parts = g_strsplit (source, "\\-", -1);
  g_autofree char *manual = g_strjoinv ("-", parts);
  for (guint i = 0; i < G_N_ELEMENTS (options); i++)
    {
      g_autofree char *entry = g_strdup_printf ("\n.B %s\n", options[i]);
      program_says (out, options[i]);
      program_says (manual, entry);
    }
}

static void
strategies (void)
{
  g_autofree char *out = NULL, *err = NULL;
  CU_ASSERT_EQUAL (program_run (&out, &err, "hass-info", "--strategies", NULL),
                   0);
  g_autoptr (JsonParser) parser = json_of ("--strategies", "--json");
  JsonObject *all = object_of (parser);
  JsonArray *list = json_object_get_array_member (all, "strategies");
  CU_ASSERT_TRUE (json_array_get_length (list) >= 9);
  for (guint i = 0; i < json_array_get_length (list); i++)
    {
      JsonObject *s = json_array_get_object_element (list, i);
      const char *name = json_object_get_string_member (s, "name");
      const HassStrategyOps *ops = hass_strategy_find (name, NULL);
      CU_ASSERT_PTR_NOT_NULL_FATAL (ops);
      CU_ASSERT_STRING_EQUAL (json_object_get_string_member (s, "summary"),
                              ops->summary);
      CU_ASSERT_EQUAL (
          g_strcmp0 (json_object_get_null_member (s, "source")
                         ? NULL
                         : json_object_get_string_member (s, "source"),
                     ops->source),
          0);
      program_says (out, name);
      program_says (out, ops->summary);
      if (ops->source)
        program_says (out, ops->source);
    }
}

/* -- Kinds of devices --------------------------------------------------- */

static const char *const of_kind[]
    = { "name", "summary", "problem", "devices", NULL };
static const char *const of_device[]
    = { "name",          "model",      "cores", "width",
        "latency_us",    "link_gbps",  "link",  "memory_bytes",
        "max_in_flight", "part_bytes", NULL };

static guint n_shown; /* devices of the kind that this suite registers */

static guint
count (gboolean exact)
{
  (void)exact;
  return n_shown;
}

static void
describe (HassDevice *device, HassDeviceTraits *traits)
{
  (void)device;
  *traits = (HassDeviceTraits){ .name = "shown0",
                                .kind = HASS_DEVICE_GPU,
                                .cores = 3,
                                .width = 96,
                                .link_bytes_per_ns = 1.5,
                                .max_in_flight = 2,
                                .memory_bytes = 64 << 20,
                                .model = "a model" };
}

static HassDevice *
create (guint index)
{
  static const HassDeviceOps ops
      = { .struct_size = sizeof ops, .kind = "shown", .describe = describe };
  HassDevice *device = g_new0 (HassDevice, 1);
  CU_ASSERT_TRUE (index < n_shown);
  device->ops = &ops;
  return device;
}

static void
destroy (HassDevice *device)
{
  n_shown--;
  g_free (device);
}

static const char *
problem (void)
{
  return "not plugged in";
}

static void
register_kind (void)
{
  static const HassDeviceKindOps ops = { .struct_size = sizeof ops,
                                         .name = "shown",
                                         .summary = "a kind of this suite",
                                         .count = count,
                                         .create = create,
                                         .destroy = destroy,
                                         .problem = problem };
  g_autoptr (GError) error = NULL;
  CU_ASSERT_TRUE (hass_device_kind_find ("shown") >= 0
                  || hass_device_kind_register (&ops, &error));
}

static void
kinds (void)
{
  register_kind ();
  n_shown = 1;
  InfoMachine *m = info_look ();
  g_autofree char *text = info_machine_text (m);
  g_autofree char *json = info_machine_json (m);
  info_machine_free (m);
  CU_ASSERT_EQUAL (n_shown, 0); /* freed */
  program_says (text, "\nshown: a kind of this suite\n"
                      "  name    model    cores  width  memory    link      "
                      "in flight\n"
                      "  shown0  a model  3      96     64.0 MiB  1.5 GB/s  "
                      "2\n");
  g_autoptr (JsonParser) parser = json_parser_new ();
  CU_ASSERT_TRUE_FATAL (json_parser_load_from_data (parser, json, -1, NULL));
  JsonArray *list = json_object_get_array_member (object_of (parser), "kinds");
  JsonObject *cuda = json_array_get_object_element (list, 0);
  JsonObject *own
      = json_array_get_object_element (list, json_array_get_length (list) - 1);
  has_members (cuda, of_kind);
  has_members (own, of_kind);
  CU_ASSERT_STRING_EQUAL (json_object_get_string_member (cuda, "name"), "cuda");
  CU_ASSERT_STRING_EQUAL (json_object_get_string_member (own, "name"), "shown");
  CU_ASSERT_TRUE (json_object_get_null_member (own, "problem"));
  JsonArray *devices = json_object_get_array_member (own, "devices");
  CU_ASSERT_EQUAL_FATAL (json_array_get_length (devices), 1);
  JsonObject *device = json_array_get_object_element (devices, 0);
  has_members (device, of_device);
  CU_ASSERT_TRUE (json_object_get_null_member (device, "latency_us"));
  within (device, "link_gbps", 1.5, 1.5);
  within (device, "width", 96, 96);
}

static char *
text_with (const char *chosen)
{
  g_setenv ("HASS_DEVICES", chosen, TRUE);
  InfoMachine *m = info_look ();
  char *text = info_machine_text (m);
  info_machine_free (m);
  g_unsetenv ("HASS_DEVICES");
  return text;
}

static void
chosen_kinds (void)
{
  register_kind ();
  g_autofree char *cuda = text_with ("cuda");
  g_autofree char *own = text_with ("shown");
  CU_ASSERT_PTR_NULL (strstr (cuda, "shown: "));
  program_says (own, "GPUs\n  none: HASS_DEVICES does not name cuda\n");
  program_says (own, "shown: a kind of this suite\n  none: not plugged in\n");
}

/* -- The profile store -------------------------------------------------- */

static const char *const of_store[]
    = { "path", "this_machine", "profile", NULL };
static const char *const of_entry[]
    = { "machine", "farm",        "kind",       "cost",      "device", "model",
        "samples", "work_per_us", "latency_us", "updated_s", "runs",   NULL };

/* Another machine's entry and two of this one; unlink and g_free() it. */
static char *
a_store (void)
{
  char *path = NULL;
  const char *us = hass_profile_machine ();
  g_autofree char *text = g_strdup_printf (
      "hass-profile 1\n"
      "another\tsums\tcombine\tsized\tcpu\t9 cores\t1\t1\t86400000\t0\t9:0\n"
      "%s\tsums\tcombine\tsized\tcpu\t2 cores\t1\t1\t86400000\t0\t0.5:0\n"
      "%s\tsums\tcombine\tsized\tgpu0\tsome GPU\t7\t1\t86400000\t0\t"
      "2:3000\t2:3000\t8:3000\nend 3\n",
      us, us);
  int fd = g_file_open_tmp ("hass-profile-XXXXXX", &path, NULL);
  CU_ASSERT_FATAL (fd >= 0);
  close (fd);
  CU_ASSERT_TRUE (g_file_set_contents (path, text, -1, NULL));
  return path;
}

static void
profile_for_programs (void)
{
  g_autofree char *path = a_store ();
  g_setenv ("HASS_PROFILE", path, TRUE);
  g_autoptr (JsonParser) parser = json_of ("--profile", "--json");
  g_setenv ("HASS_PROFILE", "off", TRUE);
  JsonObject *all = object_of (parser);
  has_members (all, of_store);
  JsonArray *list = json_object_get_array_member (all, "profile");
  CU_ASSERT_EQUAL_FATAL (json_array_get_length (list), 3);
  for (guint i = 0; i < 3; i++)
    {
      JsonObject *e = json_array_get_object_element (list, i);
      has_members (e, of_entry);
      if (strcmp (json_object_get_string_member (e, "device"), "gpu0") != 0)
        continue;
      CU_ASSERT_STRING_EQUAL (
          json_object_get_string_member (e, "machine"),
          json_object_get_string_member (all, "this_machine"));
      CU_ASSERT_STRING_EQUAL (json_object_get_string_member (e, "kind"),
                              "combine");
      CU_ASSERT_STRING_EQUAL (json_object_get_string_member (e, "cost"),
                              "sized");
      CU_ASSERT_STRING_EQUAL (json_object_get_string_member (e, "model"),
                              "some GPU");
      within (e, "work_per_us", 1999, 5001);
      within (e, "latency_us", 3, 3);
      within (e, "samples", 3, 3);
      within (e, "runs", 7, 7);
      within (e, "updated_s", 86400000, 86400000);
    }
  remove (path);
}

static void
profile_for_people (void)
{
  g_autofree char *path = a_store (), *out = NULL, *err = NULL;
  g_autofree char *this_machine
      = g_strdup_printf ("\n%s (this machine)\n", hass_profile_machine ());
  g_setenv ("HASS_PROFILE", path, TRUE);
  CU_ASSERT_EQUAL (program_run (&out, &err, "hass-info", "--profile", NULL), 0);
  program_says (out, path);
  program_says (out, "\nanother\n");
  program_says (out, this_machine);
  program_says (out, "  sums  combine  sized  cpu     500      -            1");
  program_says (out, " some GPU\n");
  g_clear_pointer (&out, g_free);
  g_clear_pointer (&err, g_free);
  CU_ASSERT_TRUE (g_file_set_contents (path, "something else\n", -1, NULL));
  CU_ASSERT_EQUAL (program_run (&out, &err, "hass-info", "--profile", NULL), 1);
  program_says (err, path);
  g_clear_pointer (&out, g_free);
  g_clear_pointer (&err, g_free);
  remove (path);
  CU_ASSERT_EQUAL (program_run (&out, &err, "hass-info", "--profile", NULL), 0);
  program_says (out, "nothing is remembered yet");
  g_setenv ("HASS_PROFILE", "off", TRUE);
  refuses ("one of them", "--profile", "--strategies");
}

HASS_TEST_SUITE (
    hass_info, { "what is measured is plausible, and documented", measured },
    { "nothing is measured when that is not wanted", not_measured },
    { "people read what there is, and why there is no GPU", for_people },
    { "a cache of unknown size is not shown", unknown_caches },
    { "wrong options and variables are refused", wrong_options },
    { "the help and the manual have every option", help },
    { "strategies are listed with their source", strategies },
    { "a kind of devices that a program registers is shown with its traits",
      kinds },
    { "kinds that HASS_DEVICES does not name are not shown", chosen_kinds },
    { "programs read the profile store", profile_for_programs },
    { "people read the profile store", profile_for_people })
