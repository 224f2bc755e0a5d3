/* SPDX-License-Identifier: MIT */
/* pipeline.c: which blocks of 4 KiB of a file repeat an earlier one. A
   pipeline: the calling thread reads, all cores compute digests, one core at a
   time looks them up in the order of the file.
   Usage: pipeline FILE */
#include <errno.h>
#include <hass/hass.h>
#include <stdio.h>

#define BLOCK 4096
#define DIGEST 65 /* SHA-256 in hexadecimal digits, and a NUL */

static gboolean
read_blocks (HassEmitter *emitter, gpointer user_data, GError **error)
{
  HassLoad load = { .flags = HASS_LOAD_BUFFER };
  gpointer buffer;
  (void)error;
  while ((load.input = buffer = hass_emitter_buffer (emitter, BLOCK))
         && (load.input_bytes = fread (buffer, 1, BLOCK, user_data)) > 0
         && hass_emitter_emit (emitter, &load))
    ;
  return TRUE;
}

/* The digest, a token's output, takes the place of the block. */
static gboolean
digest (HassToken *token, HassWorker *worker, gpointer user_data,
        GError **error)
{
  g_autofree char *text = g_compute_checksum_for_data (
      G_CHECKSUM_SHA256, token->input, token->input_bytes);
  (void)worker, (void)user_data, (void)error;
  memcpy (token->output, text, DIGEST);
  return TRUE;
}

/* The table needs no lock: the stage is ordered. */
static gboolean
look_up (HassToken *token, HassWorker *worker, gpointer user_data,
         GError **error)
{
  GHashTable *blocks = user_data;
  gsize first = GPOINTER_TO_SIZE (g_hash_table_lookup (blocks, token->input));
  gsize number = token->seq + 1;
  (void)worker, (void)error;
  if (first > 0)
    printf ("block %zu repeats block %zu\n", number, first);
  else
    g_hash_table_insert (blocks, g_strdup ((char *)token->input),
                         GSIZE_TO_POINTER (number));
  return TRUE;
}

int
main (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (HassReport) report = NULL;
  g_autoptr (GHashTable) blocks
      = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  FILE *file = argc == 2 ? fopen (argv[1], "rb") : NULL;
  if (argc != 2)
    return fprintf (stderr, "usage: pipeline FILE\n"), 2;
  if (!file)
    return fprintf (stderr, "pipeline: %s: %s\n", argv[1], g_strerror (errno)),
           2;
  HassStage stages[]
      = { HASS_STAGE (.name = "digest", .cpu = digest, .output_bytes = DIGEST),
          HASS_STAGE (.name = "look up", .mode = HASS_STAGE_ORDERED,
                      .cpu = look_up, .user_data = blocks) };
  HassPipeline pipeline = HASS_PIPELINE_INIT;
  pipeline.name = "repeats";
  pipeline.user_data = file;
  pipeline.generate = read_blocks;
  pipeline.stages = stages;
  pipeline.n_stages = G_N_ELEMENTS (stages);
  gboolean ok = hass_pipeline (&pipeline, &report, &error) && !ferror (file);
  g_autofree char *table = hass_report_to_string (report);
  fprintf (stderr, "%s\n", error ? error->message : table);
  fclose (file);
  if (fclose (stdout) != 0)
    return perror ("pipeline: standard output"), 1;
  return ok ? 0 : 1;
}
