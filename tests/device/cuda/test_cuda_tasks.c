/* SPDX-License-Identifier: MIT */
/* test_cuda_tasks.c: bundles of tasks with several workers on a GPU, over the
   stand-in for the CUDA runtime.
   Thread safety: one thread, beside the stand-in's own. */
#include <string.h>

#include "cuda_rig.h"
#include "hass_test.h"

static void
multiply_kernel (const HassBundle *b, gpointer data)
{
  guint factor = GPOINTER_TO_UINT (data);
  for (gsize i = 0; i < b->n_blocks; i++)
    fake_output (b, i)[0]
        = (guint8)(fake_input (b, i)[0] * factor + b->functions[i]);
}

static guint n_calls[3];

static gboolean
twice (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
       GError **error)
{
  (void)data;
  n_calls[0]++;
  fake_launch (stream, multiply_kernel, bundle, GUINT_TO_POINTER (2));
  return fake_check ("twice", error);
}

static gboolean
thrice (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
        GError **error)
{
  (void)data;
  n_calls[1]++;
  fake_launch (stream, multiply_kernel, bundle, GUINT_TO_POINTER (3));
  return fake_check ("thrice", error);
}

static gboolean
fourfold (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
          GError **error)
{
  (void)data;
  n_calls[2]++;
  fake_launch (stream, multiply_kernel, bundle, GUINT_TO_POINTER (4));
  return fake_check ("fourfold", error);
}

static const HassGpuWorkerFunc task_workers[] = { twice, thrice, fourfold };

static HassGpuWorkerFunc
worker_of (const HassLoad *load)
{
  return task_workers[GPOINTER_TO_UINT (load->tag) % 3];
}

static guint32
function_of (const HassLoad *load)
{
  return GPOINTER_TO_UINT (load->tag) / 3;
}

static void
tasks (void)
{
  enum
  {
    N = 20
  };
  Rig r;
  guint8 in[N], out[N];
  HassLoad loads[N];
  HassBlock b[N];
  HassDeviceFarm farm = { .name = "farm",
                          .kind = HASS_FARM_FUNCTION,
                          .gpu_worker_of = worker_of,
                          .gpu_function_of = function_of };
  rig_init (&r, &(FakePlan){ .kernel_delay_us = 50 }, &farm);
  memset (n_calls, 0, sizeof n_calls);
  for (guint i = 0; i < N; i++)
    {
      in[i] = i + 1;
      loads[i] = (HassLoad){ .tag = GUINT_TO_POINTER (i * 5 % 17) };
      b[i] = rig_block (&in[i], &out[i], 1);
      b[i].load = &loads[i];
    }
  for (guint n = 1; n <= N; n++)
    {
      gboolean ok = TRUE;
      memset (out, 0, sizeof out);
      rig_run (&r, b, n);
      for (guint i = 0; i < n; i++)
        {
          guint tag = GPOINTER_TO_UINT (loads[i].tag);
          ok &= out[i] == (guint8)(in[i] * (2 + tag % 3) + tag / 3);
        }
      CU_ASSERT_TRUE (ok);
    }
  /* One call for all tasks of a worker: never more than bundles. */
  for (guint i = 0; i < 3; i++)
    CU_ASSERT_TRUE (n_calls[i] > 0 && n_calls[i] <= N);
  rig_clear (&r);
}

/* Tasks on side streams that could not be joined have ended before their
   buffers are used again. */
static void
failed_join (void)
{
  enum
  {
    N = 6
  };
  for (guint call = 1; call <= 12; call++)
    for (guint i = 0; i < 2; i++)
      {
        Rig r;
        guint8 in[N], out[N];
        HassLoad loads[N];
        HassBlock b[N];
        FakePlan plan = { .kernel_delay_us = 300 };
        HassDeviceFarm farm = { .name = "farm",
                                .kind = HASS_FARM_FUNCTION,
                                .gpu_worker_of = worker_of,
                                .gpu_function_of = function_of };
        rig_init (&r, &(FakePlan){ 0 }, &farm);
        plan.fail_at[i ? FAKE_STREAM_WAIT : FAKE_EVENT_RECORD] = call;
        fake_cudart_plan (&plan);
        for (guint k = 0; k < N; k++)
          {
            in[k] = k + 1;
            loads[k] = (HassLoad){ .tag = GUINT_TO_POINTER (k) };
            b[k] = rig_block (&in[k], &out[k], 1);
            b[k].load = &loads[k];
          }
        for (guint k = 0; k < 3; k++)
          if (r.device->ops->submit (r.device, 0, b, N, NULL))
            rig_wait_done (&r);
        CU_ASSERT_EQUAL (fake_cudart_counts ().faults, 1);
        memset (in, 50, sizeof in);
        memset (out, 0, sizeof out);
        rig_run (&r, b, N);
        gboolean ok = TRUE;
        for (guint k = 0; k < N; k++)
          ok &= out[k] == (guint8)(50 * (2 + k % 3) + k / 3);
        CU_ASSERT_TRUE (ok);
        rig_clear (&r);
      }
}

HASS_TEST_SUITE (cuda_tasks,
                 { "tasks are called by worker, with their functions", tasks },
                 { "tasks whose streams could not be joined have ended",
                   failed_join })
