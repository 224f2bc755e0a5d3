/* SPDX-License-Identifier: MIT */
/* test_cxx.cpp: farms of a program in C++, as it would be written: lambdas for
   callbacks, no cast of an initialiser. The Makefile compiles it as C++11 and
   lets no warning through.
   Thread safety: one thread. */
#include <numeric>
#include <vector>

#include <hass/hass.h>
#include <hass/profile.h>

extern "C"
{
#include "hass_test.h"
}

namespace
{

struct Squares
{
  std::vector<guint64> numbers, squares;
  guint64 sum = 0;
  gsize n_results = 0;
};

Squares &
squares_of (gpointer user_data)
{
  return *static_cast<Squares *> (user_data);
}

HassDataFarm
farm_of (Squares &s)
{
  HassDataFarm farm = hass_data_farm_init ();
  farm.name = "squares";
  farm.user_data = &s;
  farm.cpu_worker = [] (const HassBlock *block, HassWorker *worker, gpointer,
                        GError **) -> gboolean {
    auto *in = reinterpret_cast<const guint64 *> (block->input);
    auto *out = reinterpret_cast<guint64 *> (block->output);
    auto *sum = static_cast<guint64 *> (hass_worker_accumulator (worker));
    for (gsize i = 0; i < block->count; i++)
      *sum += out[i] = in[i] * in[i];
    return TRUE;
  };
  farm.collect = [] (const HassResult *, gpointer data, GError **) -> gboolean {
    squares_of (data).n_results++;
    return TRUE;
  };
  farm.reduce = [] (gpointer into, gconstpointer part, gpointer) {
    *static_cast<guint64 *> (into) += *static_cast<const guint64 *> (part);
  };
  farm.accumulator = &s.sum;
  farm.accumulator_bytes = sizeof s.sum;
  return farm;
}

void
data_farm ()
{
  Squares s;
  g_autoptr (HassReport) report = nullptr;
  GError *error = nullptr;
  s.numbers.resize (10000);
  s.squares.resize (10000);
  std::iota (s.numbers.begin (), s.numbers.end (), 0);
  HassLoad load = {};
  load.input = s.numbers.data ();
  load.input_bytes = s.numbers.size () * sizeof s.numbers[0];
  load.output = s.squares.data ();
  load.output_bytes = load.input_bytes;
  load.size = s.numbers.size ();
  HassDataFarm farm = farm_of (s);
  farm.loads = &load;
  farm.n_loads = 1;
  farm.block_elements = 100;
  CU_ASSERT_TRUE (hass_data_farm_partition (&farm, &report, &error));
  CU_ASSERT_PTR_NULL (error);
  CU_ASSERT_EQUAL (s.squares[9999], 9999 * 9999);
  CU_ASSERT_EQUAL (s.sum, 333283335000u);
  CU_ASSERT_TRUE (s.n_results > 0);
  CU_ASSERT_PTR_NOT_NULL (report);
  CU_ASSERT_EQUAL (report ? report->units : 0, 100);
}

void
function_farm ()
{
  guint n = 0;
  HassTask task = {};
  task.cpu = [] (const HassTask *, HassWorker *, gpointer data,
                 GError **) -> gboolean {
    __atomic_fetch_add (static_cast<guint *> (data), 1u, __ATOMIC_RELAXED);
    return TRUE;
  };
  std::vector<HassTask> tasks (100, task);
  HassFunctionFarm farm = HASS_FUNCTION_FARM_INIT;
  farm.user_data = &n;
  farm.tasks = tasks.data ();
  farm.n_tasks = tasks.size ();
  CU_ASSERT_TRUE (hass_function_farm (&farm, nullptr, nullptr));
  CU_ASSERT_EQUAL (n, 100);
}

void
initialisers ()
{
  HassDataFarm a = HASS_DATA_FARM_INIT;
  HassFunctionFarm b = hass_function_farm_init ();
  CU_ASSERT_EQUAL (a.struct_size, sizeof (HassDataFarm));
  CU_ASSERT_EQUAL (b.struct_size, sizeof (HassFunctionFarm));
  CU_ASSERT_PTR_NULL (a.cpu_worker);
  CU_ASSERT_PTR_NULL (b.run.reserved[6]);
}

} // namespace

HASS_TEST_SUITE (cxx, { "a program in C++ runs a data farm", data_farm },
                 { "a program in C++ runs a function farm", function_farm },
                 { "a farm is initialised in C++", initialisers })
