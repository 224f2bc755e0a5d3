/* SPDX-License-Identifier: MIT */
/* load.c: loads a plug-in that runs a farm, and closes it again, as programs in
   Python, R or Julia do. Usage: load PLUG-IN.so
   Thread safety: one thread. */
#include <dlfcn.h>
#include <stdio.h>

int
main (int argc, char **argv)
{
  for (int i = 0; argc == 2 && i < 3; i++)
    {
      void *plugin = dlopen (argv[1], RTLD_NOW | RTLD_LOCAL);
      int (*run) (void) = NULL;
      if (plugin)
        *(void **)&run = dlsym (plugin, "run");
      if (!run)
        {
          fprintf (stderr, "load: %s\n", dlerror ());
          return 1;
        }
      if (run () != 0 || dlclose (plugin) != 0)
        return 1;
    }
  return argc != 2;
}
