/* SPDX-License-Identifier: MIT */
/* fake_kit.h: what the tests of the stand-in for the CUDA runtime share: the
   stand-in with a stream, an event and some memory.
   Thread safety: one thread, beside the stand-in's own. */
#ifndef FAKE_KIT_H
#define FAKE_KIT_H

#include <semaphore.h>

#include "tests/device/fake_cudart.h"

#define N 64

/* A stream, an event and N bytes on a device and pinned. */
typedef struct
{
  const HassCudart *cuda;
  gpointer stream, event;
  guint8 *device, *pinned;
  sem_t gate;
} Kit;

/* Installs the stand-in, alone or with a kit. */
const HassCudart *kit_install (const FakePlan *plan);
void kit_init (Kit *k, const FakePlan *plan);

/* Removes it: nothing was wrong, nothing leaked; or this was wrong. */
void kit_clear (Kit *k);
void kit_clean (void);
void kit_wrong (const char *text);

/* The stream stands still until the gate is posted. */
void kit_close_gate (Kit *k);

/* N bytes to the device or from it, behind what the stream has to do. */
int kit_copy_in (Kit *k, gconstpointer from);
int kit_copy_out (Kit *k, gpointer to);

/* Waits for all that the stream has to do. */
int kit_finish (Kit *k);

#endif
