/* SPDX-License-Identifier: MIT */
/* trials.h: how much a test tries, which a sanitizer makes 5 to 20 times as
   slow. What it looks for does not depend on how often or how large a thing is
   tried, once each path is taken; the plain build tries all.
   Thread safety: constant. */
#ifndef HASS_TEST_TRIALS_H
#define HASS_TEST_TRIALS_H

/* @plain, or as much as AddressSanitizer, or ThreadSanitizer, tries. */
#if defined __SANITIZE_THREAD__
#  define TRIALS(plain, address, thread) (thread)
#elif defined __SANITIZE_ADDRESS__
#  define TRIALS(plain, address, thread) (address)
#else
#  define TRIALS(plain, address, thread) (plain)
#endif

#endif
