/* SPDX-License-Identifier: MIT */
/* made_up_stream.c: see made_up_stream.h.
   Thread safety: one thread. */
#include "made_up_stream.h"

#include <string.h>

void
made_up_init_with (Stream *s, const char *strategy,
                   const HassProfileRate *rates)
{
  static const char *const names[] = { "cpu", "gpu0", "gpu1" };
  memset (s, 0, sizeof *s);
  for (guint d = 0; d < DEVICES; d++)
    {
      s->devices[d] = (HassDeviceTraits){ .name = names[d],
                                          .kind = d == CPU ? HASS_DEVICE_CPU
                                                           : HASS_DEVICE_GPU,
                                          .cores = 4,
                                          .width = d == CPU ? 4 : 8,
                                          .latency_ns = d == CPU ? 0 : 1000,
                                          .max_in_flight = d == CPU ? 1 : 3 };
      s->holds[d].units = s->units[d];
    }
  for (guint c = 0; c < CLASSES; c++)
    s->classes[c] = (HassClassTraits){ .name = "x",
                                       .devices = c == A ? 1 : 7,
                                       .element_threads = 1 };
  s->env = (HassStrategyEnv){ .struct_size = sizeof s->env,
                              .farm = HASS_FARM_PIPELINE,
                              .n_devices = DEVICES,
                              .devices = s->devices,
                              .n_classes = CLASSES,
                              .classes = s->classes,
                              .profile = rates };
  s->state = (HassStreamState){ .now_ns = 1,
                                .n_classes = CLASSES,
                                .classes = s->states,
                                .n_devices = DEVICES,
                                .devices = s->holds,
                                .tokens = 100,
                                .waiting = 100000000,
                                .most_tokens = 100000 };
  s->strategy = hass_strategy_new (strategy, &s->env, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL (s->strategy);
}

void
made_up_init (Stream *s, const char *strategy)
{
  made_up_init_with (s, strategy, NULL);
}

HassAnswer
made_up_ask (Stream *s, guint device, HassServe *serve)
{
  *serve = (HassServe){ 0 };
  return s->strategy->ops->serve (s->strategy->self, &s->state, device, FALSE,
                                  serve);
}

void
made_up_tell_units (Stream *s, guint device, guint c, guint64 units,
                    double unit_ns)
{
  double ns = (double)units * unit_ns;
  HassServed done = { .device = device,
                      .class_index = c,
                      .units = units,
                      .busy_ns = ns,
                      .held_ns = ns / (1 + s->helping),
                      .end_ns = s->state.now_ns,
                      .kernel_ns = ns + s->devices[device].latency_ns };
  s->strategy->ops->served (s->strategy->self, &s->state, &done);
}

void
made_up_tell (Stream *s, guint device, guint c, double unit_ns)
{
  made_up_tell_units (s, device, c, 1000, unit_ns);
}

void
made_up_tell_all (Stream *s)
{
  made_up_tell (s, CPU, A, 1000);
  made_up_tell (s, CPU, B, 40000);
  made_up_tell (s, CPU, C, 40000);
  made_up_tell (s, GPU0, B, 2000);
  made_up_tell (s, GPU0, C, 20000);
  made_up_tell (s, GPU1, B, 20000);
  made_up_tell (s, GPU1, C, 2000);
  s->state.now_ns += 10000000;
}

void
made_up_share_b (Stream *s, double ns)
{
  s->classes[C].devices = 1;
  made_up_tell (s, CPU, A, 10);
  made_up_tell (s, CPU, B, ns);
  made_up_tell (s, CPU, C, 10);
  made_up_tell (s, GPU0, B, 2000);
  made_up_tell (s, GPU1, B, 2000);
  s->state.now_ns += 10000000;
}
