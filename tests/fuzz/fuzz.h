/* SPDX-License-Identifier: MIT */
/* fuzz.h: functions that read one hostile input each.

   DESIGN. `make fuzz` links each file of this folder that holds a FUZZ_TARGET
   with libFuzzer into a program of its own; there the target is
   LLVMFuzzerTestOneInput. The ordinary test program holds all of them, and
   test_fuzz_corpus.c gives each the inputs in corpus/NAME.

   Thread safety: one thread. */
#ifndef FUZZ_H
#define FUZZ_H

#include <glib.h>

typedef int (*FuzzFunc) (const guint8 *data, size_t size);

/* A file that holds these bytes until the next call. The path is static; it
   is not on a disk. */
const char *fuzz_file (const guint8 *data, size_t size);

/* What must hold of every input: ends the fuzzer, or fails the test. */
#define FUZZ_CHECK(condition) fuzz_check ((condition), #condition, __FILE__)
void fuzz_check (gboolean holds, const char *condition, const char *file);

/* The target of that name, NULL where there is none. */
FuzzFunc fuzz_find (const char *name);
void fuzz_register (const char *name, FuzzFunc func);

#ifdef HASS_FUZZ
int LLVMFuzzerTestOneInput (const guint8 *data, size_t size);
#  define FUZZ_TARGET(name, func)                                              \
    int LLVMFuzzerTestOneInput (const guint8 *data, size_t size)               \
    {                                                                          \
      return func (data, size);                                                \
    }
#else
#  define FUZZ_TARGET(name, func)                                              \
    __attribute__ ((constructor)) static void fuzz_register_##name (void)      \
    {                                                                          \
      fuzz_register (#name, func);                                             \
    }
#endif

#endif
