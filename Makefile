# SPDX-License-Identifier: MIT
# hass: `make run`, `make check`, `make bench`, `make help`.
#
#   V=1            full command lines
#   SAN=address,undefined | SAN=thread   build and test with sanitizers
#   SYSROOT=DIR    headers and libraries of Debian packages unpacked in DIR
#   CUDA=no        as if there were no CUDA Toolkit
#   OPENBLAS=no    as if there were no OpenBLAS
#   CUDA_HOME=DIR  where it is, if nvcc is not on the PATH
#   NVCC_ARCH=...  -gencode options of the kernels
#   DESTDIR, PREFIX, LIBDIR for `make install`: see tools/install.mk

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
SHELL := /bin/bash

comma := ,
space := $() $()
SAN ?=
BUILD := build$(if $(SAN),/san-$(subst $(comma),-,$(SAN)))
CC ?= cc
CXX ?= c++
PKG_CONFIG ?= pkg-config
ifeq ($(origin CC),default)
CC := gcc
endif
ifeq ($(origin CXX),default)
CXX := g++
endif

ifdef SYSROOT
ROOT := $(abspath $(SYSROOT))
# As Debian names it, which clang does not.
TRIPLET := $(subst -pc-,-,$(shell $(CC) -dumpmachine))
L := $(ROOT)/usr/lib/$(TRIPLET)
# On the command line, because GNU make 4.3 exports nothing to $(shell).
override PKG_CONFIG := PKG_CONFIG_SYSROOT_DIR=$(ROOT) \
	PKG_CONFIG_LIBDIR=$(L)/pkgconfig:$(L)/openblas-pthread/pkgconfig \
	$(PKG_CONFIG)
export LD_LIBRARY_PATH := $(L):$(ROOT)/lib/$(TRIPLET):$(L)/openblas-pthread
SYS_CPPFLAGS := -isystem $(ROOT)/usr/include/$(TRIPLET)
SYS_LDFLAGS := -L$(L) -L$(ROOT)/lib/$(TRIPLET) \
	-Wl,-rpath-link,$(L):$(ROOT)/lib/$(TRIPLET)
endif

PACKAGES := glib-2.0 gio-2.0 json-glib-1.0 tbb hwloc
# Nothing is asked for where it is missing: `make run` installs it first.
have = $(shell $(PKG_CONFIG) --exists $(1) 2>/dev/null && echo yes)
ifeq ($(call have,$(PACKAGES)),yes)
PKG_CFLAGS := $(shell $(PKG_CONFIG) --cflags $(PACKAGES))
PKG_LIBS := $(shell $(PKG_CONFIG) --libs $(PACKAGES))
endif
ifeq ($(call have,cunit),yes)
CUNIT_CFLAGS := $(patsubst -I%,-isystem %,\
	$(shell $(PKG_CONFIG) --cflags cunit))
CUNIT_LIBS := $(shell $(PKG_CONFIG) --libs cunit)
endif

# The CUDA Toolkit, where there is one: its headers and its static runtime for
# the library, nvcc for the kernels of applications.
ifneq ($(CUDA),no)
NVCC ?= $(firstword $(wildcard $(CUDA_HOME:%=%/bin/nvcc)) \
	$(shell command -v nvcc 2>/dev/null) $(wildcard /usr/local/cuda/bin/nvcc))
endif
ifneq ($(and $(NVCC),$(wildcard $(NVCC))),)
CUDA_TOP := $(abspath $(dir $(realpath $(NVCC)))..)
CUDA_LIB := $(firstword $(wildcard $(CUDA_TOP)/lib64 $(CUDA_TOP)/lib))
WITH_CUDA := yes
CUDA_CFLAGS := -isystem $(CUDA_TOP)/include
CUDA_RUNTIME := -lcudart_static -ldl -lrt
CUDA_LIBS := -L$(CUDA_LIB) $(CUDA_RUNTIME)
NVCC_ARCH ?= -gencode arch=compute_80,code=sm_80 \
	-gencode arch=compute_90,code=sm_90 \
	-gencode arch=compute_75,code=compute_75
endif

# For la/, examples/cholesky and examples/matrix_multiply: OpenBLAS, without
# which they are left out; cuBLAS and cuSOLVER, without which they do not use
# GPUs.
ifeq ($(if $(filter no,$(OPENBLAS)),no,$(call have,openblas)),yes)
OPENBLAS_CFLAGS := $(shell $(PKG_CONFIG) --cflags openblas)
OPENBLAS_LIBS := $(shell $(PKG_CONFIG) --libs openblas)
LIBS_matrix_multiply := $(OPENBLAS_LIBS)
LIBS_cholesky := $(OPENBLAS_LIBS)
WITH_LA := yes
else
LEFT_OUT := matrix_multiply cholesky
WHY_matrix_multiply := openblas
WHY_cholesky := openblas
endif
ifneq ($(and $(WITH_CUDA),$(wildcard $(CUDA_LIB)/libcublas.so)),)
LIBS_matrix_multiply += -L$(CUDA_LIB) -Wl,-rpath,$(CUDA_LIB) -lcublas
else
NO_KERNELS := examples/matrix_multiply/cublas.cu
endif
ifneq ($(and $(WITH_CUDA),$(WITH_LA),$(wildcard $(CUDA_LIB)/libcublas.so),\
	$(wildcard $(CUDA_LIB)/libcusolver.so)),)
LA_CUDA_LIBS := -L$(CUDA_LIB) -Wl,-rpath,$(CUDA_LIB) -lcusolver -lcublas
LIBS_cholesky += $(LA_CUDA_LIBS)
else
NO_KERNELS += examples/cholesky/cusolver.cu
endif

# For examples/hzip alone, which is left out without them.
ifeq ($(call have,libdeflate zlib),yes)
HZIP_CFLAGS := $(shell $(PKG_CONFIG) --cflags libdeflate zlib)
LIBS_hzip := $(shell $(PKG_CONFIG) --libs libdeflate zlib)
else
LEFT_OUT += hzip
WHY_hzip := libdeflate and zlib
endif

# For the bounds of pipelines in hass-sim: GLPK, without which there are none.
ifneq ($(shell $(CC) $(SYS_CPPFLAGS) -include glpk.h -fsyntax-only -xc \
	/dev/null 2>/dev/null && echo yes),)
GLPK_CPPFLAGS := -DSIM_WITH_GLPK
LIBS_hass-sim := -lglpk
endif

OPT ?= -O2 -g
SAN_FLAGS := $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer)
# The second line is gcc's alone.
WARN_GCC := -Wshadow=local -Wvla-larger-than=65536
WARN := -Wall -Wextra $(if $(shell $(CC) -Werror $(WARN_GCC) -fsyntax-only \
	-xc /dev/null 2>&1),,$(WARN_GCC))
CPPFLAGS_ALL := -I$(BUILD)/include -I. -Ipool -Isched -D_GNU_SOURCE \
	-DG_LOG_DOMAIN='"hass"' $(PKG_CFLAGS) $(SYS_CPPFLAGS) $(CPPFLAGS)
CFLAGS_ALL := -std=gnu11 $(OPT) $(WARN) -Wstrict-prototypes \
	-Wmissing-prototypes -fPIC -pthread $(SAN_FLAGS) $(CFLAGS)
CXXFLAGS_ALL := -std=c++17 $(OPT) $(WARN) -fPIC -pthread $(SAN_FLAGS) \
	$(CXXFLAGS)
LDFLAGS_ALL := -pthread $(SAN_FLAGS) $(SYS_LDFLAGS) $(LDFLAGS)
LIBS := $(PKG_LIBS) $(CUDA_LIBS) -lstdc++ -lm
NVCCFLAGS_ALL := -std=c++17 -O3 -lineinfo -diag-suppress 1217 $(NVCC_ARCH) -ccbin $(lastword $(CXX)) \
	-Xcompiler '-fPIC,-pthread,-Wall$(if $(SAN_FLAGS),$(comma)$(subst \
	$(comma),\$(comma),$(firstword $(SAN_FLAGS))))' $(NVCCFLAGS)

Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-6s %s\n' $(1) $(2))

# -- What there is ----------------------------------------------------------

ROOMS := skeletons engine sched pool device
PUBLIC := pool/error.h pool/load.h pool/round.h pool/types.h pool/version.h \
	sched/strategy.h sched/stream.h device/device.h device/device_data.h device/device_kind.h \
	device/memory.h device/cuda/cuda.h \
	device/cuda/cuda_device.cuh engine/core/callbacks.h engine/profile/profile.h \
	engine/core/report.h engine/stream/stage.h engine/graph/codelet.h \
	skeletons/data_farm.h skeletons/function_farm.h skeletons/pipeline.h \
	skeletons/dataflow.h skeletons/hass.h
# Of the library hass-la, which stands on hass and OpenBLAS.
LA_PUBLIC := la/la.h
STAGED := $(addprefix $(BUILD)/include/hass/,$(notdir $(PUBLIC) $(LA_PUBLIC)))

LIB_C := $(wildcard $(ROOMS:%=%/*.c) $(ROOMS:%=%/*/*.c))
LIB_CXX := $(wildcard $(ROOMS:%=%/*/*.cpp))
LIB_OBJ := $(LIB_C:%.c=$(BUILD)/%.o) $(LIB_CXX:%.cpp=$(BUILD)/%.o)
LIB := $(BUILD)/lib/libhass.a
# The shared library, for applications; what is built here links the static
# one. pool/version.h is the one place of the version number.
VERSION_NUMBERS := $(shell sed -n 's/^.define HASS_VERSION_M[A-Z]* //p' \
	pool/version.h)
VERSION := $(subst $(space),.,$(VERSION_NUMBERS))
SONAME := libhass.so.$(firstword $(VERSION_NUMBERS))
SHARED := $(BUILD)/lib/libhass.so.$(VERSION)
ifeq ($(WITH_LA),yes)
LA_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(wildcard la/*.c)) \
	$(if $(LA_CUDA_LIBS),$(BUILD)/la/cublas.cu.o)
LA := $(BUILD)/lib/libhass-la.a
LA_SONAME := $(SONAME:libhass.%=libhass-la.%)
LA_SHARED := $(SHARED:%/libhass.so.$(VERSION)=%/libhass-la.so.$(VERSION))
NEEDS_cholesky := $(LA)
endif
# Pictures, for tools and benchmarks; not installed.
DRAW_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(wildcard draw/*.c))
DRAW := $(BUILD)/lib/libdraw.a

# An example is one file, or a folder whose name the program gets.
EX_FILES := $(patsubst examples/%.c,%,$(wildcard examples/*.c))
EX_DIRS := $(filter-out $(LEFT_OUT),\
	$(patsubst examples/%/,%,$(wildcard examples/*/)))
# So is a tool, which is installed.
TOOLS := $(patsubst tools/%/,%,$(wildcard tools/*/))
TOOL_BIN := $(TOOLS:%=$(BUILD)/bin/%)
BIN := $(addprefix $(BUILD)/bin/,$(EX_FILES) $(EX_DIRS)) $(TOOL_BIN)
EX_OBJ := $(patsubst %.c,$(BUILD)/%.o,\
	$(wildcard examples/*.c $(foreach d,examples tools,$(d)/*/*.c $(d)/*/*/*.c)))
# What a folder's program is made of; kernels only where there is nvcc.
objects_of = $(patsubst %.c,$(BUILD)/%.o,$(wildcard $(1)/*.c $(1)/*/*.c)) \
	$(if $(WITH_CUDA),$(patsubst %.cu,$(BUILD)/%.cu.o,\
	$(filter-out $(NO_KERNELS),$(wildcard $(1)/*.cu))))

TEST_C := $(filter-out tests/consumer/project/%,\
	$(wildcard tests/*.c tests/*/*.c tests/*/*/*.c))
TEST_CXX := $(wildcard tests/*/*.cpp)
TEST_OBJ := $(TEST_C:%.c=$(BUILD)/%.o) $(TEST_CXX:%.cpp=$(BUILD)/%.o)
TEST_CU := $(if $(WITH_CUDA),$(patsubst %.cu,$(BUILD)/%.cu.o,\
	$(wildcard tests/*/*.cu)))
# What these are made of, without their main functions, is tested too.
EX_PARTS := $(filter-out %/main.o,$(foreach d,$(EX_DIRS:%=examples/%) \
	$(TOOLS:%=tools/%) bench/papers,$(call objects_of,$(d))))
TESTS := $(BUILD)/tests/hass-tests
# What tests/device/failing_memory.c makes fail.
TEST_WRAP := -Wl,--wrap=posix_memalign,--wrap=g_try_malloc_n


# -- Building ---------------------------------------------------------------

.PHONY: all lib tests say-left-out
all: lib $(BIN) $(if $(LEFT_OUT),say-left-out)
say-left-out:
	$(Q)$(foreach p,$(LEFT_OUT),echo 'make: $(p) is left out:' \
	  'pkg-config does not find $(WHY_$(p))';)
lib: $(LIB) $(SHARED) $(LA) $(LA_SHARED)
tests: $(TESTS)

$(STAGED):
	$(Q)mkdir -p $(@D) && ln -sf $(abspath $<) $@
define stage
$(BUILD)/include/hass/$(notdir $(1)): $(1)
endef
$(foreach h,$(PUBLIC) $(LA_PUBLIC),$(eval $(call stage,$(h))))

# What all is built with. When it changes, as by CUDA=no or a toolkit that was
# installed since, everything is built anew: objects of both kinds do not link.
# Lines of this file that name flags belong to it, other lines do not.
SETTINGS := $(BUILD)/settings
SETTINGS_TEXT := $(CC) $(CXX) $(NVCC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) \
	$(CXXFLAGS_ALL) $(NVCCFLAGS_ALL) $(LDFLAGS_ALL) $(LIBS) \
	$(OPENBLAS_CFLAGS) $(LIBS_matrix_multiply) $(LA) $(LA_CUDA_LIBS) $(HZIP_CFLAGS) $(LIBS_hzip) \
	$(GLPK_CPPFLAGS) $(CUNIT_CFLAGS) $(CUNIT_LIBS) $(LEFT_OUT) \
	$(shell grep 'FLAGS' Makefile | cksum)
.PHONY: always
$(SETTINGS): always | $(STAGED)
	$(file >$@.new,$(SETTINGS_TEXT))
	$(Q)if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

$(BUILD)/%.o: %.c $(SETTINGS) | $(STAGED)
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS_ALL) $(EXTRA_CPPFLAGS) $(CFLAGS_ALL) -MMD -MP -c $< -o $@

$(BUILD)/%.o: %.cpp $(SETTINGS) | $(STAGED)
	$(call say,CXX,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(CPPFLAGS_ALL) $(EXTRA_CPPFLAGS) $(CXXFLAGS_ALL) -MMD -MP \
	  -c $< -o $@

$(BUILD)/%.cu.o: %.cu $(SETTINGS) | $(STAGED)
	$(call say,NVCC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(NVCC) $(filter -I% -D%,$(CPPFLAGS_ALL)) $(NVCCFLAGS_ALL) \
	  -MMD -MP -MF $(@:.o=.d) -c $< -o $@

$(LIB_OBJ) $(LA_OBJ): CFLAGS_ALL += -fvisibility=hidden
$(LIB_OBJ): CXXFLAGS_ALL += -fvisibility=hidden -fvisibility-inlines-hidden
$(BUILD)/device/cuda/cudart.o: CPPFLAGS_ALL += $(if $(WITH_CUDA),-DHASS_WITH_CUDA \
	$(CUDA_CFLAGS))

$(TEST_OBJ): EXTRA_CPPFLAGS := -Itests -Iexamples \
	-DHASS_TOP='"$(CURDIR)"' $(CUNIT_CFLAGS) $(patsubst %,-DWITHOUT_%,$(LEFT_OUT))
# As programs in C++ are, without a warning in any of our headers.
$(TEST_CXX:%.cpp=$(BUILD)/%.o): CXXFLAGS_ALL += -std=c++11 -Werror
$(BUILD)/la/gpu.o: CPPFLAGS_ALL += $(if $(LA_CUDA_LIBS),-DHASS_LA_WITH_CUBLAS)
$(BUILD)/examples/cholesky/main.o: CPPFLAGS_ALL += \
	$(if $(LA_CUDA_LIBS),-DCHOLESKY_WITH_CUSOLVER)
$(LA_OBJ) $(BUILD)/examples/matrix_multiply/multiply.o \
$(BUILD)/examples/cholesky/openblas.o: EXTRA_CPPFLAGS := $(OPENBLAS_CFLAGS)
$(BUILD)/examples/hzip/%.o: EXTRA_CPPFLAGS := $(HZIP_CFLAGS)
$(BUILD)/tools/hass-sim/pipe/bound.o: EXTRA_CPPFLAGS := $(GLPK_CPPFLAGS)

# The same bits on every device: nothing is fused. The rest makes vector code.
EXACT := -O3 -ffp-contract=off -fno-math-errno -fno-trapping-math
$(BUILD)/examples/monte_carlo/%.o: CFLAGS_ALL += $(EXACT)
$(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/examples/test_monte_carlo*.c)) \
$(BUILD)/tests/examples/monte_carlo_device.o: CFLAGS_ALL += $(EXACT)
$(BUILD)/examples/heat/%.o: CFLAGS_ALL += $(EXACT)
# Loops that become vector code.
$(BUILD)/examples/y4m_denoise/%.o $(BUILD)/examples/align/%.o \
$(BUILD)/examples/graph.o: CFLAGS_ALL += -O3

$(LIB): $(LIB_OBJ)
$(LA): $(LA_OBJ)
$(DRAW): $(DRAW_OBJ)
$(LIB) $(LA) $(DRAW):
	$(call say,AR,$@)
	$(Q)mkdir -p $(@D) && rm -f $@ && ar rcs $@ $^

# Nothing may be undefined, but what the program brings of a sanitizer.
$(SHARED): tools/hass.map $(LIB_OBJ)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -shared -Wl,-soname,$(SONAME) -Wl,--version-script=$< \
	  $(if $(SAN),,-Wl$(comma)-z$(comma)defs) -Wl,-Bsymbolic-functions \
	  -Wl,--as-needed $(LDFLAGS_ALL) $(LIB_OBJ) $(LIBS) -o $@

$(LA_SHARED): tools/hass.map $(LA_OBJ) $(SHARED)
	$(call say,LD,$@)
	$(Q)$(CC) -shared -Wl,-soname,$(LA_SONAME) -Wl,--version-script=$< \
	  -Wl,--as-needed $(LDFLAGS_ALL) $(LA_OBJ) $(SHARED) $(OPENBLAS_LIBS) \
	  $(LA_CUDA_LIBS) $(CUDA_LIBS) $(PKG_LIBS) -lm -o $@

$(addprefix $(BUILD)/bin/,$(EX_FILES)): $(BUILD)/bin/%: \
		$(BUILD)/examples/%.o $(LIB)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS_ALL) $^ $(LIBS) -o $@

define folder_program
$(BUILD)/bin/$(1): $(call objects_of,$(2)/$(1)) $(3) $(LIB)
	$$(call say,LD,$$@)
	$(Q)mkdir -p $$(@D)
	$(Q)$(CC) $(LDFLAGS_ALL) $$^ $(LIBS_$(1)) $(LIBS) -o $$@
endef
$(foreach d,$(EX_DIRS),$(eval \
	$(call folder_program,$(d),examples,$(NEEDS_$(d)))))
$(foreach d,$(TOOLS),$(eval $(call folder_program,$(d),tools,$(DRAW))))

$(TESTS): $(TEST_OBJ) $(TEST_CU) $(EX_PARTS) $(DRAW) $(LA) $(LIB)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS_ALL) $(TEST_WRAP) $^ \
	  $(foreach d,$(EX_DIRS) hass-sim,$(LIBS_$(d))) $(CUNIT_LIBS) $(LIBS) -o $@

# -- Fuzzing ----------------------------------------------------------------

# Each file of tests/fuzz with a FUZZ_TARGET as a program of its own, by clang
# with libFuzzer, AddressSanitizer and UndefinedBehaviorSanitizer. New inputs
# go to build/fuzz/corpus/NAME; what was found, to build/fuzz/NAME-*.
FUZZ_ALL := $(filter-out $(if $(WITH_LA),,market),$(patsubst tests/fuzz/%.c,%,\
	$(shell grep -ls '^FUZZ_TARGET' tests/fuzz/*.c)))
TARGETS ?= $(FUZZ_ALL)
SECONDS ?= 60
FUZZ_WANTED := $(subst $(comma), ,$(TARGETS))
FUZZ_BIN := $(FUZZ_ALL:%=$(BUILD)/%)
FUZZ_PARTS := $(filter-out %/main.o,$(call objects_of,tools/hass-sim) \
	$(call objects_of,examples/string_search) \
	$(call objects_of,examples/y4m_denoise)) \
	$(if $(WITH_LA),$(addprefix $(BUILD)/examples/cholesky/,fill.o market.o))

.PHONY: fuzz fuzz-programs
fuzz:
	$(Q)command -v clang++ >/dev/null || { echo 'make fuzz: clang is missing;' \
	  'tools/setup.sh clang installs it' >&2; exit 1; }
	$(Q)$(MAKE) --no-print-directory BUILD=build/fuzz CC=clang CXX=clang++ \
	  CUDA=no WARN=-w CPPFLAGS='$(CPPFLAGS) -DHASS_FUZZ' \
	  CFLAGS='$(CFLAGS) -fno-sanitize-recover=all' \
	  SAN=fuzzer-no-link,address,undefined,float-cast-overflow \
	  $(FUZZ_WANTED:%=build/fuzz/%)
	$(Q)for t in $(FUZZ_WANTED); do mkdir -p build/fuzz/corpus/$$t; \
	  echo "fuzz $$t: $(SECONDS) s"; \
	  build/fuzz/$$t -max_total_time=$(if $(filter 0,$(SECONDS)),1,$(SECONDS)) -timeout=20 \
	    -print_final_stats=1 -verbosity=0 -artifact_prefix=build/fuzz/$$t- \
	    build/fuzz/corpus/$$t tests/fuzz/corpus/$$t || exit 1; done

$(FUZZ_BIN): $(BUILD)/%: $(BUILD)/tests/fuzz/%.o $(BUILD)/tests/fuzz/fuzz.o \
		$(FUZZ_PARTS) $(DRAW) $(LIB)
	$(call say,LD,$@)
	$(Q)$(CXX) $(LDFLAGS_ALL) -fsanitize=fuzzer $^ $(LIBS_hass-sim) $(LIBS) -o $@

# How a file is compiled and a program linked; scripts of tests/ ask.
.PHONY: print-compile print-link print-test-objects print-cuda-lib
print-compile:
	@echo $(CC) $(filter-out -DG_LOG_DOMAIN%,$(CPPFLAGS_ALL)) $(CFLAGS_ALL)
print-link:
	@echo $(CC) $(LDFLAGS_ALL) @OBJECTS@ $(DRAW) $(LA) $(LIB) \
	  $(foreach d,$(EX_DIRS) hass-sim,$(LIBS_$(d))) $(CUNIT_LIBS) $(LIBS)
print-cuda-lib:
	@echo $(CUDA_LIB)
print-test-objects:
	@echo $(TEST_WRAP) $(TEST_OBJ) $(TEST_CU) $(EX_PARTS)

# -- Benchmarks -------------------------------------------------------------

# Programs of bench/, each with the harness; two of them with the peers that
# this machine has. GLib and oneTBB are always there.
BENCH_BIN := $(addprefix $(BUILD)/bench/,overhead efficiency memory startup \
	virtual decision)
BENCH_WITH_PEERS := $(addprefix $(BUILD)/bench/,overhead efficiency startup)
BENCH_PEERS := peers peer_hass peer_threads peer_glib peer_tbb
# Pipelines have peers of their own.
PIPES_BIN := $(BUILD)/bench/pipeline/pipeline
PIPES := pipeline pipe_hass pipe_tbb
# So have task graphs.
GRAPHS_BIN := $(BUILD)/bench/graph/graph
GRAPHS := graph graph_hass graph_tbb
ifneq ($(filter bench-main bench-programs bench-cholesky everything $(BENCH_BIN) $(PIPES_BIN) \
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
$(PIPES_BIN): $(PIPES_OBJ) $(BENCH_COMMON) $(LIB)
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

.PHONY: bench bench-main bench-programs
bench: setup-bench
	$(Q)$(MAKE) --no-print-directory bench-main
bench-programs: $(BENCH_BIN) $(PIPES_BIN) $(GRAPHS_BIN)
bench-main: bench-programs $(BUILD)/bin/string_search
	$(Q)for b in $(BENCH_BIN) $(PIPES_BIN) $(GRAPHS_BIN); do $$b || exit 1; done
	$(Q)bench/search.sh $(BUILD)/bin/string_search

# Task graphs alone.
.PHONY: bench-graph
bench-graph: $(GRAPHS_BIN)
	$(Q)$<

# Beside parasail; beside ffmpeg's nlmeans; on a machine with a GPU, beside
# fixed mappings.
.PHONY: bench-align bench-y4m bench-y4m-gpu
bench-align: $(ALIGN_BIN)
	$(Q)$<
bench-y4m: $(BUILD)/bin/y4m_denoise
	$(Q)bench/y4m.sh $<
bench-y4m-gpu: $(BUILD)/bin/y4m_denoise
	$(Q)bench/y4m-gpu.sh $<

-include $(LIB_OBJ:.o=.d) $(LA_OBJ:.o=.d) $(DRAW_OBJ:.o=.d) $(EX_OBJ:.o=.d) \
	$(TEST_OBJ:.o=.d) $(BENCH_OBJ:.o=.d) $(ALIGN_BIN).d $(CHOLESKY_OBJ:.o=.d) \
	$(GPU_BENCH_OBJ:.o=.d) $(FIGURES_OBJ:.o=.d) \
	$(APPS_OBJ:.o=.d) $(PAPERS_OBJ:.o=.d)

# -- The two commands -------------------------------------------------------

# What is missing is installed first; make then starts anew, to find it.
.PHONY: setup-build setup-check setup-bench setup-clang setup-arm
setup-build setup-check setup-bench setup-clang setup-arm: setup-%:
	$(if $(SYSROOT),,$(Q)tools/setup.sh $*)

.PHONY: run run-main
run: setup-build
	$(Q)$(MAKE) --no-print-directory run-main
DEMO := $(addprefix $(BUILD)/bin/,string_search $(filter-out $(LEFT_OUT),hzip))
run-main: $(DEMO)
	$(Q)tools/run-demo.sh $(DEMO)

.PHONY: check check-format check-layers check-main
check: setup-check
	$(Q)$(MAKE) --no-print-directory $(if $(SUITE)$(SAN),,check-format check-layers) check-main
check-format: $(STAGED)
	$(Q)STAGED_HEADERS=$(BUILD)/include/hass WITH_CUDA=$(WITH_CUDA) \
	  CC='$(CC)' CXX='$(CXX)' tools/check-format.sh -pedantic -Wall -Wextra \
	  -Werror -I$(BUILD)/include $(PKG_CFLAGS:-I%=-isystem %) $(CUDA_CFLAGS)
# Arrows, circles and sizes, by tools/layers.txt.
check-layers: all $(PAPERS_OBJ)
	$(Q)tools/check-layers.sh $(BUILD)/include/hass $(BUILD) $(LIB_OBJ) \
	  $(LA_OBJ) $(DRAW_OBJ) $(filter-out $(LEFT_OUT:%=$(BUILD)/examples/%/%.o),$(EX_OBJ)) \
	  $(PAPERS_OBJ)

# SUITE=NAME,...: these suites alone, with * and ?. JOBS=N: suites that run at
# a time, each in a process of its own; JOBS=1: all in one. tests/suites.mk says
# what runs where.
include tests/suites.mk
JOBS ?= $(shell nproc)
list = $(subst $(space),$(comma),$(strip $(1)))
NOT_UNDER_SAN := $(if $(findstring thread,$(SAN)),$(NOT_UNDER_THREAD)) \
	$(if $(findstring address,$(SAN)),$(NOT_UNDER_ADDRESS))
run_tests = TEST_BUILD=$(abspath $(BUILD)) $(TEST_ENV) \
	TSAN_OPTIONS="$(TSAN_OPTIONS) halt_on_error=1" $(TESTS) \
	--jobs=$(JOBS) --first='$(call list,$(SLOWEST))' $(TEST_FLAGS) \
	$(if $(strip $(1)),--skip='$(call list,$(1))')
# GLib's slices pass from thread to thread where ThreadSanitizer sees no lock.
TEST_ENV := $(if $(findstring thread,$(SAN)),G_SLICE=always-malloc)
# Programs do not run under ThreadSanitizer.
TEST_PARTS := tests $(if $(findstring thread,$(SAN)),,all bench-apps)
check-main: $(TEST_PARTS)
	$(Q)$(call run_tests,$(if $(SUITE),,$(NOT_UNDER_SAN))) \
	  $(if $(SUITE),--suite='$(SUITE)')

# What to run before each commit: a minute on two cores.
.PHONY: check-quick
check-quick: $(TEST_PARTS)
	$(Q)$(call run_tests,$(NOT_QUICK) $(NOT_UNDER_SAN))

# Farms on GPUs that fail in any way, many of them: tests/engine/live/test_storm.c.
# SEED=n: the first plan's, and a plan that went wrong is run again by FARMS=1.
# SUITE=pipeline_contract: random pipelines instead; pipeline_storm: pipelines
# on GPUs that fail in any way.
FARMS ?= 1000000
SEED ?= 1
.PHONY: soak
soak: tests
	$(Q)$(TEST_ENV) TEST_FARMS=$(FARMS) TEST_SEED=$(SEED) $(TESTS) \
	  --suite $(or $(SUITE),storm)

# Each suite on one CPU beside a load, where a test that depends on time fails:
# tests/stress.sh. TIMES=n: so often, in random order; SECONDS=n: no longer.
TIMES ?= 10
.PHONY: stress
stress: $(TEST_PARTS)
	$(Q)TEST_BUILD=$(abspath $(BUILD)) $(TEST_ENV) \
	  TSAN_OPTIONS="$(TSAN_OPTIONS) halt_on_error=1" tests/stress.sh $(TESTS) \
	  $(if $(filter file,$(origin SECONDS)),86400,$(SECONDS)) $(TIMES) \
	  $(if $(SUITE),--suite='$(SUITE)',--skip='$(call list,$(NOT_QUICK) $(NOT_UNDER_SAN))')

# Everything is built with clang, too, where a warning is an error.
CLANG ?= clang
.PHONY: check-clang check-clang-main everything
everything: all tests bench-programs bench-apps bench-figures gpu-bench \
	$(BUILD)/bench/papers/papers
check-clang: setup-clang
	$(Q)$(MAKE) --no-print-directory BUILD=$(BUILD)/clang CC='$(CLANG)' \
	  CXX='$(CLANG)++' CFLAGS='$(CFLAGS) -Werror' \
	  CXXFLAGS='$(CXXFLAGS) -Werror' everything check-clang-main
check-clang-main: everything
	$(Q)$(run_tests) --suite='$(call list,$(CLANG_SUITES))'

# For aarch64, cross-built, under qemu-user.
.PHONY: check-arm
check-arm: setup-arm
	$(Q)tools/check-arm.sh $(BUILD)/arm64

# On a machine with GPUs: their tests, plain and under compute-sanitizer. The
# faults are errors to a sanitizer, so they run plain.
GPU_SUITES := gpu gpu_outputs gpu_chain gpu_survival gpu_monte_carlo \
	gpu_person_query gpu_string_search gpu_y4m
.PHONY: check-gpu
check-gpu: all tests
	$(Q)$(TESTS) $(foreach s,$(GPU_SUITES),--suite $(s))
	$(Q)tools/check-gpu.sh $(TESTS) $(GPU_SUITES)

.PHONY: help
help:
	@echo 'make run     searches real text with the devices there are, compresses it'
	@echo 'make check   passes every test (SAN=address,undefined | SAN=thread)'
	@echo 'make check SUITE=round,live  passes these suites; JOBS=N at a time'
	@echo 'make check-quick  passes what proves most in a minute'
	@echo 'make check-clang  builds all with clang and passes some tests'
	@echo 'make check-arm  builds for aarch64 and passes most tests under qemu'
	@echo 'make check-gpu  the GPU tests, also under compute-sanitizer'
	@echo 'make fuzz SECONDS=60 TARGETS=platform,trace  fuzzes what reads files'
	@echo 'make stress SUITE=live TIMES=10 SECONDS=600  runs suites beside a load'
	@echo 'make soak    runs FARMS=1000000 farms on GPUs that fail (SEED=n)'
	@echo 'make bench   measures side by side with peers'
	@echo 'make bench-graph  measures task graphs beside those of others'
	@echo 'make bench-hzip  measures hzip beside gzip, pigz and bgzip'
	@echo 'make bench-gpu  measures GPUs beside hand-written CUDA (OUT=DIR)'
	@echo 'make bench-cholesky  measures hass_la_potrf beside OpenBLAS, OpenMP and StarPU'
	@echo 'make bench-y4m  measures y4m_denoise beside ffmpeg'
	@echo 'make bench-align  measures align beside parasail'
	@echo 'make bench-y4m-gpu  measures it on cores and a GPU beside fixed mappings'
	@echo 'make bench-figures bench-apps  build gpu-figures and gpu-apps'
	@echo 'make papers  runs the figures of the papers again (OUT=DIR)'
	@echo 'make         builds the library and the examples into build/'
	@echo 'make install uninstall  DESTDIR= PREFIX=/usr/local LIBDIR=lib'
	@echo 'make dist deb   a tarball of the sources; Debian packages of it'
	@echo 'make format  lays the code out; make clean'

include tools/install.mk

.PHONY: format
format:
	$(Q)clang-format -i $$(tools/list-files.sh '*.c' '*.h' '*.cpp' '*.cu' '*.cuh')

.PHONY: clean
clean:
	$(Q)rm -rf build
