// SPDX-License-Identifier: MIT
// graph_tbb.cpp: oneTBB's flow graph, with the edges that the accesses make:
// it has no analysis of its own.
// Thread safety: one run at a time.
#include <deque>

#include <tbb/flow_graph.h>

#include "graphs.h"

namespace
{

using Node = tbb::flow::continue_node<tbb::flow::continue_msg>;

struct Kept
{
  tbb::flow::graph graph;
  std::deque<Node> nodes;
  std::deque<Node *> sources;

  explicit Kept (Graph *of)
  {
    std::deque<bool> follows (of->n_tasks, false);
    for (gsize t = 0; t < of->n_tasks; t++)
      nodes.emplace_back (graph, [of, t] (const tbb::flow::continue_msg &) {
        graph_task (of, &of->tasks[t]);
      });
    for (gsize e = 0; e < of->n_edges; e++)
      {
        tbb::flow::make_edge (nodes[of->edges[2 * e]],
                              nodes[of->edges[2 * e + 1]]);
        follows[of->edges[2 * e + 1]] = true;
      }
    for (gsize t = 0; t < of->n_tasks; t++)
      if (!follows[t])
        sources.push_back (&nodes[t]);
  }

  void run ()
  {
    for (Node *source : sources)
      source->try_put (tbb::flow::continue_msg ());
    graph.wait_for_all ();
  }
};

void
run (Graph *graph)
{
  Kept (graph).run ();
}

gpointer
keep (Graph *graph)
{
  return new Kept (graph);
}

void
again (gpointer kept, guint times)
{
  for (guint i = 0; i < times; i++)
    static_cast<Kept *> (kept)->run ();
}

void
drop (gpointer kept)
{
  delete static_cast<Kept *> (kept);
}

} // namespace

// C++17 has no designated initialisers: name, begin, end, run, keep, again,
// drop.
extern "C"
{
  const GraphPeer graph_tbb
      = { "TBB flow graph", nullptr, nullptr, run, keep, again, drop };
}
