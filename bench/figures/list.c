/* SPDX-License-Identifier: MIT */
/* list.c: what each figure of the thesis shows, and how it is run here.
   Thread safety: immutable. */
#include "figures.h"

#define STRATEGIES(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define PAIRS(...) ((const FiguresPair[]){ __VA_ARGS__, { NULL, NULL, NULL } })

const FiguresFigure figures_all[] = {
  { .id = "29",
    .title = "Figure 29: loads of equal size",
    .what = "Thesis: a combination farm, the same equal loads in each round. "
            "HASS_ce learns and is the fastest, then HASS_cd; Min-min and "
            "naive greedy are alike and the slowest.",
    .farm = { HASS_FARM_COMBINE, HASS_COST_EQUAL, FALSE, FALSE },
    .strategies = STRATEGIES ("naive-greedy", "min-min", "modified-greedy",
                              "hass-cd", "hass-ce", "auto"),
    .pairs
    = PAIRS ({ "hass-ce", "hass-cd", "less" }, { "hass-cd", "min-min", "less" },
             { "hass-ce", "min-min", "less" },
             { "min-min", "naive-greedy", "about the same" },
             { "hass-ce", "static", "not compared" }) },
  { .id = "30",
    .title = "Figure 30: loads of distinct sizes",
    .what = "Thesis: a combination farm, loads of distinct sizes, here spread "
            "evenly from 1 to 10. HASS_cd is the fastest, then modified "
            "greedy; Min-min and naive greedy are alike and the slowest.",
    .farm = { HASS_FARM_COMBINE, HASS_COST_SIZED, TRUE, FALSE },
    .strategies = STRATEGIES ("naive-greedy", "min-min", "modified-greedy",
                              "hass-cd", "hass-ce", "auto"),
    .pairs = PAIRS ({ "hass-cd", "modified-greedy", "less" },
                    { "modified-greedy", "min-min", "less" },
                    { "modified-greedy", "naive-greedy", "less" },
                    { "min-min", "naive-greedy", "about the same" },
                    { "hass-cd", "static", "not compared" }) },
  { .id = "31",
    .title = "Figure 31: HASS_p and a trained division",
    .what = "Thesis: a partition farm, one large load a round, one CPU and one "
            "GPU. Qilin trains for seven rounds; from round 8 on it and HASS_p "
            "are alike. Qilin's place is taken by what it comes to: the best "
            "static division, without its training.",
    .farm = { HASS_FARM_PARTITION, HASS_COST_EQUAL, FALSE, FALSE },
    .strategies = STRATEGIES ("naive-greedy", "min-min", "modified-greedy",
                              "hass-cd", "hass-ce", "hass-p", "auto"),
    .pairs = PAIRS ({ "hass-p", "static", "the same from round 8 on" },
                    { "hass-p", "hass-ce", "not compared" }) },
  { .id = "32",
    .title = "Figure 32: parts of the devices under HASS_ce",
    .what = "Thesis: the farm of figure 29 on one CPU and two GPUs. From round "
            "to round the parts of the devices change and the time falls.",
    .farm = { HASS_FARM_COMBINE, HASS_COST_EQUAL, FALSE, FALSE },
    .strategies = STRATEGIES ("hass-ce"),
    .pairs = PAIRS ({ "hass-ce", "static", "not compared" }),
    .parts_of = "hass-ce" },
  { .id = "33",
    .title = "Figure 33: loads of unknown cost",
    .what = "Thesis: a combination farm whose tasks stop where they find their "
            "target, so that nothing is known of their cost. Modified greedy "
            "is significantly faster than naive greedy.",
    .farm = { HASS_FARM_COMBINE, HASS_COST_UNKNOWN, FALSE, TRUE },
    .strategies = STRATEGIES ("naive-greedy", "modified-greedy", "auto"),
    .pairs = PAIRS ({ "modified-greedy", "naive-greedy", "clearly less" },
                    { "modified-greedy", "static", "not compared" }) },
  { .id = "indivisible",
    .title = "Indivisible loads of distinct sizes",
    .what = "No figure of the thesis, but its section 3.5: on a GPU a load is "
            "one thread block. HASS_i gives GPUs as many of the largest loads "
            "as they have multiprocessors, cores the shortest.",
    .farm = { HASS_FARM_INDIVISIBLE, HASS_COST_SIZED, TRUE, FALSE },
    .strategies = STRATEGIES ("naive-greedy", "min-min", "modified-greedy",
                              "hass-i", "auto"),
    .pairs = PAIRS ({ "hass-i", "naive-greedy", "not measured" },
                    { "hass-i", "static", "not measured" }) },
};

const guint figures_n_all = G_N_ELEMENTS (figures_all);
