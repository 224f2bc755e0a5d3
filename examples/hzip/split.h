/* SPDX-License-Identifier: MIT */
/* split.h: the generator of decompression: cuts a gzip file into tokens.
   Thread safety: the calling thread of the pipeline alone. */
#ifndef HZIP_SPLIT_H
#define HZIP_SPLIT_H

#include "job.h"

/* The tag of a token: whole members, whose lengths their headers tell, or
   bytes of the file of which no more is known. */
#define TAG_MEMBERS GINT_TO_POINTER (1)
#define TAG_BYTES GINT_TO_POINTER (2)

/* Emits the input of @job, all bytes in order, until @ended. A member whose
   header tells a length is not proven to have it. */
gboolean split_input (Job *job, const atomic_bool *ended, HassEmitter *emitter);

#endif
