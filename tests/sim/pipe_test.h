/* SPDX-License-Identifier: MIT */
/* pipe_test.h: what the tests of modelled pipelines share.
   Thread safety: one thread. */
#ifndef PIPE_TEST_H
#define PIPE_TEST_H

#include "tools/hass-sim/pipe/pipe.h"

/* Four cores that compute a unit of work in 1 us; a GPU that does so in 0.1 us
   and copies 1 byte in 1 ns. */
#define PIPE_CPU "[platform]\n[cpu]\ncores = 4\nwork_per_us = 1\npull_us = 0\n"
#define PIPE_GPU(n)                                                            \
  "[gpu" n "]\nmultiprocessors = 4\nwidth = 1\nwork_per_us = 10\n"             \
  "h2d_gbps = 1\nlaunch_us = 0\nlink_us = 0\n"

/* A case of the texts of files; NULL with an error. */
SimPipeCase *pipe_test_case (const char *platform, const char *pipe,
                             GError **error);

#endif
