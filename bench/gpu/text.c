/* SPDX-License-Identifier: MIT */
/* text.c: gigabytes of text that looks like English, with a needle in known
   places.

   DESIGN. Each segment of 1 MiB has its own random numbers, so the text does
   not depend on the threads. Words follow each other with one separator
   between them, and no word contains the needle; a needle, which has no
   separator in it, is planted with a space on both sides, so that what is
   left of the words around it cannot add to it. A segment ends with a line
   end. So the number of needles is the number of plantings: one across each
   border between segments, at another offset each time, and fifteen within
   each segment.

   Thread safety: one thread calls. */
#include "gpu_bench.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#define SEGMENT MIB
#define SLOT (64 * KIB)
#define WORD_BYTES 16

/* The first 64 make half of the text. */
static const char *const words[] = {
  "the",     "of",      "and",     "to",       "a",        "in",      "that",
  "he",      "was",     "it",      "his",      "is",       "with",    "as",
  "I",       "had",     "for",     "at",       "by",       "on",      "not",
  "be",      "from",    "but",     "you",      "which",    "are",     "or",
  "her",     "she",     "this",    "they",     "all",      "him",     "were",
  "have",    "my",      "one",     "who",      "their",    "so",      "there",
  "we",      "an",      "when",    "been",     "what",     "me",      "no",
  "said",    "if",      "will",    "more",     "them",     "would",   "into",
  "out",     "up",      "then",    "some",     "man",      "time",    "could",
  "now",     "Shade",   "Shire",   "Sher",     "lock",     "lockers", "Sheriff",
  "shear",   "herring", "clock",   "Sherlo",   "herlock",  "street",  "window",
  "morning", "evening", "letter",  "carriage", "question", "answer",  "because",
  "without", "through", "another", "between",  "nothing",  "however", "against",
  "country", "perhaps", "himself", "herself",  "thought",  "whether", "quickly",
  "journey", "kitchen", "village", "journal",  "looked",   "asked",   "turned",
  "seemed",  "known",   "taken",   "having",   "being",    "found",   "heard",
  "hand",    "head",    "face",    "door",     "room",     "house",   "night",
  "day",     "year",    "friend",  "father",   "mother",   "child",   "water",
  "fire",    "earth",   "world"
};

static const char separators[]
    = "                                                     ,,,,,,;.....\n\n\n";

gboolean
text_can_have (const guint8 *needle, gsize length)
{
  if (length < SCAN_MIN_NEEDLE || length > SCAN_MAX_NEEDLE)
    return FALSE;
  for (gsize i = 0; i < length; i++)
    if (memchr (separators, needle[i], sizeof separators))
      return FALSE;
  for (gsize w = 0; w < G_N_ELEMENTS (words); w++)
    if (memmem (words[w], strlen (words[w]), needle, length))
      return FALSE;
  return TRUE;
}

static guint64
next_random (guint64 *state)
{
  guint64 z = (*state += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

typedef struct
{
  guint8 *text;
  gsize n;
  guint64 seed;
  _Atomic gsize next; /* segment; relaxed: only the number counts */
  guint8 word[G_N_ELEMENTS (words)][WORD_BYTES];
  guint8 length[G_N_ELEMENTS (words)];
} Fill;

static void
fill_segment (const Fill *fill, gsize segment)
{
  guint8 *p = fill->text + segment * SEGMENT;
  guint8 *end = p + MIN (SEGMENT, fill->n - segment * SEGMENT);
  guint64 state = fill->seed ^ (segment * 0xd1342543de82ef95);
  while (end - p > 2 * WORD_BYTES)
    {
      guint64 r = next_random (&state);
      for (int k = 0; k < 2 && end - p > 2 * WORD_BYTES; k++, r >>= 32)
        {
          guint w = r & 1 ? (r >> 1) & 63
                          : ((r >> 1) & 0xffff) * G_N_ELEMENTS (words) >> 16;
          memcpy (p, fill->word[w], WORD_BYTES);
          p += fill->length[w];
          *p++ = (guint8)
              separators[(r >> 20 & 0xfff) * (sizeof separators - 1) >> 12];
        }
    }
  memset (p, '.', (gsize)(end - p));
  end[-1] = '\n';
}

static void
fill_some (guint index, gpointer arg)
{
  Fill *fill = arg;
  gsize n_segments = (fill->n + SEGMENT - 1) / SEGMENT, s;
  (void)index;
  while ((s = atomic_fetch_add_explicit (&fill->next, 1, memory_order_relaxed))
         < n_segments)
    fill_segment (fill, s);
}

/* Puts the needle at @at, if it and its spaces lie within the text. */
static guint
plant (guint8 *text, gsize n, gsize at, const guint8 *needle, gsize length)
{
  if (at == 0 || at + length + 1 > n)
    return 0;
  text[at - 1] = text[at + length] = ' ';
  memcpy (text + at, needle, length);
  return 1;
}

guint64
text_fill (guint8 *text, gsize n, guint64 seed, const guint8 *needle,
           gsize length, Crew *crew)
{
  guint64 planted = 0, state = seed + 1;
  g_return_val_if_fail (text_can_have (needle, length), 0);
  Fill *fill = g_new0 (Fill, 1);
  fill->text = text;
  fill->n = n;
  fill->seed = seed;
  for (gsize w = 0; w < G_N_ELEMENTS (words); w++)
    {
      fill->length[w] = (guint8)strlen (words[w]);
      memcpy (fill->word[w], words[w], fill->length[w]);
    }
  crew_run (crew, crew_size (crew), fill_some, fill);
  g_free (fill);
  for (gsize slot = 0; slot < n; slot += SLOT)
    {
      gsize at = slot + next_random (&state) % (SLOT - 128) + 64;
      if (slot % SEGMENT == 0)
        /* 0 to length bytes of it before the border */
        at = slot - MIN (slot, slot / SEGMENT % (length + 1));
      planted += plant (text, n, at, needle, length);
    }
  return planted;
}

guint8 *
pages_new (gsize n_bytes, gboolean huge)
{
  guint8 *pages = mmap (NULL, n_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED)
    g_error ("no %" G_GSIZE_FORMAT " bytes of memory", n_bytes);
  madvise (pages, n_bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  return pages;
}

void
pages_free (guint8 *pages, gsize n_bytes)
{
  munmap (pages, n_bytes);
}
