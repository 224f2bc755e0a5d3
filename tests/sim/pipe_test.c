/* SPDX-License-Identifier: MIT */
/* pipe_test.c: what the tests of modelled pipelines share.
   Thread safety: one thread. */
#include "pipe_test.h"

#include <unistd.h>

#include "tests/engine/trial.h"

SimPipeCase *
pipe_test_case (const char *platform, const char *pipe, GError **error)
{
  g_autofree char *p = trial_file (platform), *w = trial_file (pipe);
  SimPipe *described = sim_pipe_load (w, error);
  HassPlatform *machine = described ? hass_platform_load (p, "x", error) : NULL;
  unlink (p);
  unlink (w);
  if (described && !machine)
    sim_pipe_free (described);
  return machine ? sim_pipe_case_new (described, machine, 1, error) : NULL;
}
