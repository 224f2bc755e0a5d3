# SPDX-License-Identifier: MIT
# bench.mk: the programs of bench/ and the targets that run them. Included by the
# Makefile.

# Programs of bench/, each with the harness; two of them with the peers that
# this machine has. GLib and oneTBB are always there.
BENCH_BIN := $(addprefix $(BUILD)/bench/,overhead efficiency memory startup \
	virtual decision)
BENCH_WITH_PEERS := $(addprefix $(BUILD)/bench/,overhead efficiency startup)
BENCH_PEERS := peers peer_hass peer_threads peer_glib peer_tbb
# Pipelines have peers of their own.
PIPES_BIN := $(BUILD)/bench/pipeline/pipeline
PIPES := pipeline pipe_hass pipe_again pipe_large \
	pipe_beside pipe_tbb
# So have task graphs.
GRAPHS_BIN := $(BUILD)/bench/graph/graph
GRAPHS := graph graph_hass graph_tbb
ifneq ($(filter bench-main bench-base bench-programs bench-cholesky everything $(BENCH_BIN) $(PIPES_BIN) \
	$(GRAPHS_BIN) bench-graph,\
	$(MAKECMDGOALS)),)
ifeq ($(shell $(PKG_CONFIG) --exists starpu-1.3 2>/dev/null && echo yes),yes)
BENCH_PEERS += peer_starpu
PIPES += pipe_starpu
GRAPHS += graph_starpu
BENCH_DEFS += -DBENCH_STARPU
STARPU_CFLAGS := $(patsubst -I%,-isystem %,\
	$(shell $(PKG_CONFIG) --cflags starpu-1.3))
BENCH_LIBS += $(shell $(PKG_CONFIG) --libs starpu-1.3)
endif
ifeq ($(shell echo 'int main (void) { return 0; }' | $(CC) -fopenmp -xc - \
	-o /dev/null 2>/dev/null && echo yes),yes)
BENCH_PEERS += peer_openmp
PIPES += pipe_openmp
GRAPHS += graph_openmp
BENCH_DEFS += -DBENCH_OPENMP
BENCH_LIBS += -fopenmp
endif
endif
BENCH_PEER_OBJ := $(BENCH_PEERS:%=$(BUILD)/bench/%.o)
# Measuring side by side, for all benchmarks.
BENCH_COMMON := $(BUILD)/bench/bench.o $(BUILD)/bench/contest.o
PIPES_OBJ := $(PIPES:%=$(BUILD)/bench/pipeline/%.o)
GRAPHS_OBJ := $(GRAPHS:%=$(BUILD)/bench/graph/%.o)
BENCH_OBJ := $(BENCH_BIN:%=%.o) $(BENCH_PEER_OBJ) $(BENCH_COMMON) $(PIPES_OBJ) \
	$(GRAPHS_OBJ)

$(BENCH_OBJ): CPPFLAGS_ALL += -Ibench $(BENCH_DEFS)
$(BUILD)/bench/peer_starpu.o $(BUILD)/bench/pipeline/pipe_starpu.o \
	$(BUILD)/bench/graph/graph_starpu.o: \
	CPPFLAGS_ALL += $(STARPU_CFLAGS)
$(BUILD)/bench/peer_openmp.o $(BUILD)/bench/pipeline/pipe_openmp.o \
	$(BUILD)/bench/graph/graph_openmp.o: \
	CFLAGS_ALL += -fopenmp

$(BENCH_WITH_PEERS): $(BENCH_PEER_OBJ)
$(BENCH_BIN): $(BUILD)/bench/%: $(BUILD)/bench/%.o $(BENCH_COMMON) $(LIB)
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS_ALL) $(filter %.o,$^) $(LIB) $(LIBS) \
	  $(if $(filter $@,$(BENCH_WITH_PEERS)),$(BENCH_LIBS)) -o $@
# One line has the tests' device that sleeps.
$(PIPES_BIN): $(PIPES_OBJ) $(BUILD)/tests/engine/stand_in.o $(BENCH_COMMON) $(LIB)
$(GRAPHS_BIN): $(GRAPHS_OBJ) $(BENCH_COMMON) $(LIB)
$(PIPES_BIN) $(GRAPHS_BIN):
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS_ALL) $^ $(LIBS) $(BENCH_LIBS) -o $@

# Alignment beside parasail, where that is installed.
ALIGN_BIN := $(BUILD)/bench/align
ifneq ($(filter bench-align $(ALIGN_BIN),$(MAKECMDGOALS)),)
ifneq ($(shell $(CC) $(SYS_CPPFLAGS) -include parasail.h -fsyntax-only -xc \
	/dev/null 2>/dev/null && echo yes),)
$(ALIGN_BIN).o: CPPFLAGS_ALL += -DBENCH_PARASAIL
ALIGN_LIBS := -lparasail
endif
endif
$(ALIGN_BIN).o: CPPFLAGS_ALL += -Ibench
$(ALIGN_BIN): $(ALIGN_BIN).o $(BENCH_COMMON) \
		$(filter-out %/main.o,$(call objects_of,examples/align)) $(LIB)
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS_ALL) $^ $(LIBS) $(ALIGN_LIBS) -o $@
# Its GPU worker beside its kernels for cores.
ALIGN_GPU_BIN := $(BUILD)/bench/align_gpu
$(ALIGN_GPU_BIN).o: CPPFLAGS_ALL += -Ibench
$(ALIGN_GPU_BIN): $(ALIGN_GPU_BIN).o $(BENCH_COMMON) \
		$(filter-out %/main.o,$(call objects_of,examples/align)) $(LIB)
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS_ALL) $^ $(LIBS) -o $@
# Cholesky beside OpenBLAS's threads, OpenMP, StarPU and its cholesky_implicit.
CHOLESKY_BIN := $(BUILD)/bench/cholesky/cholesky
CHOLESKY_PEERS := $(if $(filter -DBENCH_OPENMP,$(BENCH_DEFS)),factoring_openmp) \
	$(if $(filter -DBENCH_STARPU,$(BENCH_DEFS)),factoring_starpu)
CHOLESKY_OBJ := $(patsubst %,$(BUILD)/bench/cholesky/%.o,cholesky $(CHOLESKY_PEERS))
$(CHOLESKY_OBJ): CPPFLAGS_ALL += -Ibench $(BENCH_DEFS) $(OPENBLAS_CFLAGS)
$(BUILD)/bench/cholesky/factoring_starpu.o: CPPFLAGS_ALL += $(STARPU_CFLAGS)
$(BUILD)/bench/cholesky/factoring_openmp.o: CFLAGS_ALL += -fopenmp
$(CHOLESKY_BIN): $(CHOLESKY_OBJ) $(BENCH_COMMON) $(LA) $(LIB)
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS_ALL) $^ $(LIBS_cholesky) $(LIBS) $(BENCH_LIBS) -o $@
.PHONY: bench-cholesky
bench-cholesky: $(CHOLESKY_BIN) $(BUILD)/bin/cholesky
	$(Q)OMP_MAX_TASK_PRIORITY=10000 $< $(BUILD)/bin/cholesky

# Beside plain CUDA, where there is nvcc: gpu-bench.
ifeq ($(WITH_CUDA),yes)
GPU_BENCH := $(BUILD)/bench/gpu-bench
endif
GPU_BENCH_OBJ := $(patsubst %,$(BUILD)/%.o,\
	$(basename $(wildcard bench/gpu/*.c)) $(wildcard bench/gpu/*.cu))
$(GPU_BENCH_OBJ): CPPFLAGS_ALL += -Ibench -Ibench/gpu
$(patsubst %,$(KERNELS)/%.ii,$(wildcard bench/*/*.cu)): \
	private KERNEL_CPPFLAGS += -Ibench -Ibench/gpu
$(BUILD)/bench/gpu-bench: $(GPU_BENCH_OBJ) $(BENCH_COMMON) $(DRAW) $(LIB)
	$(call say,LD,$@)
	$(Q)$(CXX) $(LDFLAGS_ALL) $^ $(LIBS) -o $@

# The figures of the thesis on real devices; without nvcc on the CPU alone or
# on a modelled machine.
FIGURES_OBJ := $(call objects_of,bench/figures)
$(FIGURES_OBJ): CPPFLAGS_ALL += -Ibench -Ibench/gpu
$(BUILD)/bench/gpu-figures: $(FIGURES_OBJ) $(BUILD)/bench/gpu/crew.o \
		$(BENCH_COMMON) $(DRAW) $(LIB)
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS_ALL) $^ $(LIBS) -o $@

# The papers' figures in virtual time, with the parts of hass-sim; tested too.
SIM_PARTS := $(filter-out %/main.o,$(call objects_of,tools/hass-sim))
PAPERS_OBJ := $(call objects_of,bench/papers)
$(BUILD)/bench/papers/papers: $(PAPERS_OBJ) $(SIM_PARTS) $(DRAW) $(LIB)
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS_ALL) $^ $(LIBS_hass-sim) $(LIBS) -o $@

# OUT=DIR gets papers.md and papers/*.svg; doc/results has them as committed.
.PHONY: papers
papers: $(BUILD)/bench/papers/papers
	$(Q)$< $(or $(OUT),$(BUILD)/papers)

# The examples' own farms under every strategy.
APPS := $(filter string_search matrix_multiply monte_carlo person_query,\
	$(EX_DIRS))
APPS_OBJ := $(filter-out $(LEFT_OUT:%=$(BUILD)/bench/apps/%.o),\
	$(call objects_of,bench/apps))
APPS_PARTS := $(filter-out %/main.o,\
	$(foreach d,$(APPS),$(call objects_of,examples/$(d))))
$(APPS_OBJ): CPPFLAGS_ALL += -Ibench -Ibench/gpu \
	$(patsubst %,-DWITHOUT_%,$(LEFT_OUT))
$(BUILD)/bench/apps/monte_carlo.o: CFLAGS_ALL += $(EXACT)
$(BUILD)/bench/gpu-apps: $(APPS_OBJ) $(APPS_PARTS) \
		$(addprefix $(BUILD)/bench/gpu/,crew.o targets.o text.o) $(BENCH_COMMON) $(LIB)
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS_ALL) $^ $(foreach d,$(APPS),$(LIBS_$(d))) $(LIBS) \
	  -o $@

.PHONY: bench-apps
bench-apps: $(BUILD)/bench/gpu-apps

.PHONY: bench-figures
bench-figures: $(BUILD)/bench/gpu-figures

.PHONY: gpu-bench
gpu-bench: $(GPU_BENCH)
	$(if $(GPU_BENCH),,@echo 'gpu-bench: SKIPPED, no nvcc')

# All of gpu-bench in a few minutes; OUT=DIR keeps tables and plot there.
GPU_BENCH_FLAGS ?= --repeat=7
.PHONY: bench-gpu
bench-gpu: gpu-bench
	$(if $(GPU_BENCH),$(Q)$(GPU_BENCH) all $(GPU_BENCH_FLAGS) \
	  $(if $(OUT),--out=$(OUT)))

# hzip beside gzip, pigz and bgzip, where they are.
.PHONY: bench-hzip
bench-hzip: $(BUILD)/bin/hzip
	$(Q)bench/hzip.sh $<

.PHONY: bench bench-base bench-main bench-programs
bench: setup-bench
	$(Q)$(MAKE) --no-print-directory $(if $(BASE),bench-base,bench-main)
# BASE=REV: beside another revision; LINES=overhead:a,pipeline: these alone.
bench-base: bench-programs
	$(Q)bench/base.sh '$(BASE)' \
	  '$(if $(filter command,$(origin LINES)),$(LINES))' \
	  $(BENCH_BIN) $(PIPES_BIN) $(GRAPHS_BIN)
bench-programs: $(BENCH_BIN) $(PIPES_BIN) $(GRAPHS_BIN)
bench-main: bench-programs $(BUILD)/bin/string_search
	$(Q)for b in $(BENCH_BIN) $(PIPES_BIN) $(GRAPHS_BIN); do $$b || exit 1; done
	$(Q)bench/search.sh $(BUILD)/bin/string_search

# Task graphs alone.
.PHONY: bench-graph
bench-graph: $(GRAPHS_BIN)
	$(Q)$<

# Beside parasail; beside ffmpeg's nlmeans; on a machine with a GPU, beside
# cores alone, and beside fixed mappings.
.PHONY: bench-align bench-align-gpu bench-y4m bench-y4m-gpu
bench-align: $(ALIGN_BIN)
	$(Q)$<
bench-align-gpu: $(ALIGN_GPU_BIN)
	$(Q)$< $(RESIDUES)
bench-y4m: $(BUILD)/bin/y4m_denoise
	$(Q)bench/y4m.sh $<
bench-y4m-gpu: $(BUILD)/bin/y4m_denoise
	$(Q)bench/y4m-gpu.sh $<
