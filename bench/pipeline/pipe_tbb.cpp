// SPDX-License-Identifier: MIT
// pipe_tbb.cpp: oneTBB's parallel_pipeline and flow graph.
// Thread safety: one run at a time.
#include <memory>
#include <vector>

#include <tbb/flow_graph.h>
#include <tbb/parallel_pipeline.h>

#include "pipes.h"

namespace
{

constexpr std::size_t tokens = 256; // in flight

tbb::filter_mode
mode_of (const PipeRun *run, guint stage)
{
  return run->stages[stage].ordered ? tbb::filter_mode::serial_in_order
                                    : tbb::filter_mode::parallel;
}

void
run_pipeline (PipeRun *run)
{
  gsize next = 0;
  tbb::filter<void, gsize> chain = tbb::make_filter<void, gsize> (
      tbb::filter_mode::serial_in_order,
      [run, &next] (tbb::flow_control &control) -> gsize {
        if (next == run->n_tokens)
          {
            control.stop ();
            return 0;
          }
        pipe_source (run, next);
        return next++;
      });
  guint last = run->n_stages - 1;
  for (guint i = 0; i < last; i++)
    chain = chain
            & tbb::make_filter<gsize, gsize> (mode_of (run, i),
                                              [run, i] (gsize token) -> gsize {
                                                pipe_stage (run, i, token);
                                                return token;
                                              });
  tbb::parallel_pipeline (
      tokens, chain
                  & tbb::make_filter<gsize, void> (
                      mode_of (run, last), [run, last] (gsize token) {
                        pipe_stage (run, last, token);
                      }));
}

using Token = tbb::flow::sender<gsize>;
using Sequencer = tbb::flow::sequencer_node<gsize>;

// Adds what calls a stage; an ordered one is a sequencer and a serial function.
template <typename Function, typename Body>
Function &
add_stage (PipeRun *run, guint i, tbb::flow::graph &graph, Token *&last,
           std::vector<std::shared_ptr<void>> &nodes, Body body)
{
  bool ordered = run->stages[i].ordered;
  auto function = std::make_shared<Function> (
      graph, ordered ? tbb::flow::serial : tbb::flow::unlimited, body);
  if (ordered)
    {
      auto sequencer = std::make_shared<Sequencer> (
          graph, [] (const gsize &token) { return token; });
      tbb::flow::make_edge (*last, *sequencer);
      last = sequencer.get ();
      nodes.push_back (sequencer);
    }
  tbb::flow::make_edge (*last, *function);
  nodes.push_back (function);
  return *function;
}

// A limiter bounds the tokens in flight.
void
run_graph (PipeRun *run)
{
  using Middle = tbb::flow::function_node<gsize, gsize>;
  using End = tbb::flow::function_node<gsize, tbb::flow::continue_msg>;
  tbb::flow::graph graph;
  std::vector<std::shared_ptr<void>> nodes;
  gsize next = 0;
  tbb::flow::input_node<gsize> source (
      graph, [run, &next] (tbb::flow_control &control) -> gsize {
        if (next == run->n_tokens)
          {
            control.stop ();
            return 0;
          }
        pipe_source (run, next);
        return next++;
      });
  tbb::flow::limiter_node<gsize> limiter (graph, tokens);
  tbb::flow::make_edge (source, limiter);
  Token *last = &limiter;
  guint i = 0;
  for (; i + 1 < run->n_stages; i++)
    last = &add_stage<Middle> (run, i, graph, last, nodes,
                               [run, i] (gsize token) -> gsize {
                                 pipe_stage (run, i, token);
                                 return token;
                               });
  End &end
      = add_stage<End> (run, i, graph, last, nodes, [run, i] (gsize token) {
          pipe_stage (run, i, token);
          return tbb::flow::continue_msg ();
        });
  tbb::flow::make_edge (end, limiter.decrementer ());
  source.activate ();
  graph.wait_for_all ();
}

} // namespace

// C++17 has no designated initialisers: name, most, begin, end, run.
extern "C"
{
  const PipePeer pipe_tbb
      = { "TBB parallel_pipeline", 0, nullptr, nullptr, run_pipeline };
  const PipePeer pipe_tbb_graph
      = { "TBB flow graph", 200000, nullptr, nullptr, run_graph };
}
