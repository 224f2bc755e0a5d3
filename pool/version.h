/* SPDX-License-Identifier: MIT */
/* hass/version.h: the version of the library, and the macros that enclose the
   declarations of every public header.
   Thread safety: immutable. */
#ifndef HASS_VERSION_H
#define HASS_VERSION_H

#include <glib.h>

/* The version of the library. The Makefile, hass.pc, the CMake package and the
   name of the shared library take the version from these three lines. */
#define HASS_VERSION_MAJOR 0
#define HASS_VERSION_MINOR 1
#define HASS_VERSION_MICRO 0

/* Non-zero if these headers are of at least the given version. Usable in #if
   as well. */
#define HASS_CHECK_VERSION(major, minor, micro)                                \
  (HASS_VERSION_MAJOR > (major)                                                \
   || (HASS_VERSION_MAJOR == (major)                                           \
       && (HASS_VERSION_MINOR > (minor)                                        \
           || (HASS_VERSION_MINOR == (minor)                                   \
               && HASS_VERSION_MICRO >= (micro)))))

/* Declarations between these macros have C linkage and are exported by the
   shared library; all others are hidden (-fvisibility=hidden). */
#define HASS_BEGIN_DECLS G_BEGIN_DECLS _Pragma ("GCC visibility push(default)")
#define HASS_END_DECLS _Pragma ("GCC visibility pop") G_END_DECLS

HASS_BEGIN_DECLS

/**
 * hass_version:
 *
 * Any thread; does not block.
 *
 * Returns: the version of the library that the program runs with, as
 * "MAJOR.MINOR.MICRO"; static. It may be newer than the headers that the
 * program was compiled with.
 */
const char *hass_version (void);

HASS_END_DECLS

#endif
