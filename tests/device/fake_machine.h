/* SPDX-License-Identifier: MIT */
/* fake_machine.h: a machine with GPUs of the stand-in, as a process finds it
   and leaves it.
   Thread safety: one thread, while no farm runs, where nothing else is said. */
#ifndef FAKE_MACHINE_H
#define FAKE_MACHINE_H

#include "fake_cudart.h"

/* What is known of other GPUs is forgotten. */
void fake_machine_begin (const FakePlan *plan);

/* Makes the start of a GPU that has been started count as so long, however long
   it took; any thread. */
void fake_machine_set_start (guint gpu, guint ms);

/* Fails the test where the runtime was used wrongly or something is left. */
FakeCounts fake_machine_end (void);

#endif
