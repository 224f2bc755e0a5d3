/* SPDX-License-Identifier: MIT */
/* fake_faults.c: random faults of the stand-in for the CUDA runtime.
   Thread safety: one thread. */
#include "fake_cudart.h"
#include "tests/chance.h"

/* Until fake_end_hang(). */
#define FAKE_HANG_MS 600000

/* The first few calls are the likeliest, but any may be it. */
static guint
nth (GRand *r)
{
  return 1 + below (r, 1 << (1 + below (r, 8)));
}

/* Calls that fail for one reason. */
typedef struct
{
  const FakeCall *calls;
  guint n;
} Calls;

#define CALLS(...)                                                             \
  {                                                                            \
    (const FakeCall[]){ __VA_ARGS__ },                                         \
        sizeof ((FakeCall[]){ __VA_ARGS__ }) / sizeof (FakeCall)               \
  }

static const Calls allocations
    = CALLS (FAKE_ALLOCATE, FAKE_ALLOCATE_HOST, FAKE_REGISTER, FAKE_STREAM_NEW,
             FAKE_EVENT_NEW, FAKE_RELEASE, FAKE_RELEASE_HOST),
    pools = CALLS (FAKE_POOL_KEEP, FAKE_POOL_SPARE, FAKE_POOL_SHARE,
                   FAKE_ALLOCATE_ASYNC, FAKE_RELEASE_ASYNC),
    copies = CALLS (FAKE_COPY, FAKE_CLEAR, FAKE_COPY_BATCH, FAKE_COPY_ROWS,
                    FAKE_COPY_PEER),
    events = CALLS (FAKE_EVENT_RECORD, FAKE_EVENT_QUERY, FAKE_EVENT_ELAPSED,
                    FAKE_STREAM_WAIT, FAKE_STREAM_QUERY),
    others = CALLS (FAKE_SET_DEVICE, FAKE_MEMORY_INFO, FAKE_UNREGISTER,
                    FAKE_PROPERTIES, FAKE_DEVICE_COUNT),
    launches = CALLS (FAKE_LAUNCH);

static void
fail_call (GRand *r, const Calls *of, FakePlan *f, GString *text)
{
  FakeCall call = of->calls[below (r, of->n)];
  guint n = nth (r);
  if (one_in (r, 4))
    f->fail_every[call] = n;
  else
    f->fail_at[call] = n;
  g_string_append_printf (text, " %s %u", fake_call_name (call), n);
}

void
fake_add_fault (GRand *r, guint n_gpus, FakePlan *f, GString *text)
{
  switch (below (r, 13))
    {
    case 0:
      fail_call (r, &allocations, f, text);
      break;
    case 1:
      f->fail_above_bytes = 1 << (14 + below (r, 6));
      g_string_append_printf (text, " above %zu", f->fail_above_bytes);
      break;
    case 2:
      f->memory_bytes = 1 << (17 + below (r, 6));
      g_string_append_printf (text, " memory %zu", f->memory_bytes);
      break;
    case 3:
      fail_call (r, &copies, f, text);
      break;
    case 4:
      f->fail_copy_at = nth (r);
      f->fail_copy_every = one_in (r, 4) ? nth (r) : 0;
      g_string_append_printf (text, " copying %u every %u", f->fail_copy_at,
                              f->fail_copy_every);
      break;
    case 5:
      fail_call (r, &launches, f, text);
      break;
    case 6:
      fail_call (r, &events, f, text);
      break;
    case 7:
      f->sticky_at_call = 10 * nth (r);
      g_string_append_printf (text, " sticky call %u", f->sticky_at_call);
      break;
    case 8:
      f->sticky_at_kernel = nth (r);
      g_string_append_printf (text, " assert %u", f->sticky_at_kernel);
      break;
    case 9:
      f->hang_kernel_at = nth (r);
      f->hang_ms = FAKE_HANG_MS;
      g_string_append_printf (text, " hang %u", f->hang_kernel_at);
      break;
    case 10:
      f->kernel_delay_us = below (r, 1000);
      f->copy_delay_us = below (r, 200);
      g_string_append_printf (text, " slow %u %u", f->kernel_delay_us,
                              f->copy_delay_us);
      break;
    case 11:
      f->gone_at_call = 10 * nth (r);
      f->gone_device = below (r, n_gpus);
      g_string_append_printf (text, " gpu%u gone at call %u", f->gone_device,
                              f->gone_at_call);
      break;
    default:
      fail_call (r, one_in (r, 3) ? &pools : &others, f, text);
    }
}
