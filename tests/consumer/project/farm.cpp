/* SPDX-License-Identifier: MIT */
/* farm.cpp: farm.c as C++, which must compile, link and print the same.
   Thread safety: the farm's. */
#include "farm.c"
