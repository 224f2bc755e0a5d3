# SPDX-License-Identifier: MIT
# tests.mk: the test program, fuzzing, and the targets that run them. Included by
# the Makefile; suites.mk says which suites run where.

TEST_C := $(filter-out tests/consumer/project/% tests/stress/%,\
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
TEST_WRAP := -Wl,--wrap=posix_memalign,--wrap=g_try_malloc_n,--wrap=g_try_realloc_n

$(TEST_OBJ): EXTRA_CPPFLAGS := -Itests -Iexamples \
	$(CUNIT_CFLAGS) $(patsubst %,-DWITHOUT_%,$(LEFT_OUT))
# Only of files that ask where the sources are: what ccache keeps of the others
# serves every checkout.
$(patsubst %.c,$(BUILD)/%.o,$(shell grep -l HASS_TOP $(TEST_C))): \
	EXTRA_CPPFLAGS += -DHASS_TOP='"$(CURDIR)"'
$(BUILD)/tests/tools/test_gpu_apps.o: EXTRA_CPPFLAGS += -DKERNELS='"$(if \
	$(WITH_CUDA),$(filter-out $(NO_KERNELS),$(wildcard examples/*/*.cu))) "'
# As programs in C++ are, without a warning in any of our headers.
$(TEST_CXX:%.cpp=$(BUILD)/%.o): CXXFLAGS_ALL += -std=c++11 -Werror
$(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/examples/test_monte_carlo*.c)) \
$(BUILD)/tests/examples/monte_carlo_device.o: CFLAGS_ALL += $(EXACT)

.PHONY: tests
tests: $(TESTS)
$(TESTS): $(TEST_OBJ) $(TEST_CU) $(EX_PARTS) $(DRAW) $(LA) $(LIB)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS_ALL) $(TEST_WRAP) $^ \
	  $(foreach d,$(EX_DIRS) hass-sim,$(LIBS_$(d))) $(CUNIT_LIBS) $(LIBS) -o $@

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
# a time, each in a process of its own. tests/suites.mk says what runs where.
include tests/suites.mk
JOBS ?= $(shell nproc)
list = $(subst $(space),$(comma),$(strip $(1)))
NOT_UNDER_SAN := $(if $(findstring thread,$(SAN)),$(NOT_UNDER_THREAD)) \
	$(if $(findstring address,$(SAN)),$(NOT_UNDER_ADDRESS))
run_tests = TEST_BUILD=$(abspath $(BUILD)) $(TEST_ENV) \
	TSAN_OPTIONS="$(TSAN_OPTIONS) halt_on_error=1" $(TESTS) \
	--jobs=$(JOBS) --first='$(call list,$(SLOWEST))' $(TEST_FLAGS) \
	$(if $(strip $(1)),--skip='$(call list,$(1))')
# GLib's slices pass from thread to thread where ThreadSanitizer sees no lock,
# and keep memory that was never freed from LeakSanitizer.
TEST_ENV := $(if $(SAN),G_SLICE=always-malloc)
# Programs do not run under ThreadSanitizer.
TEST_PARTS := tests $(if $(findstring thread,$(SAN)),,all bench-apps)
check-main: $(TEST_PARTS)
	$(Q)$(call run_tests,$(if $(SUITE),,$(NOT_UNDER_SAN))) \
	  $(if $(SUITE),--suite='$(SUITE)')

# What to run before each commit.
.PHONY: check-quick
check-quick: $(TEST_PARTS)
	$(Q)$(call run_tests,$(NOT_QUICK) $(NOT_UNDER_SAN))

# Farms on GPUs that fail in any way, many of them: tests/engine/live/test_storm.c.
# SEED=n: the first plan's, and a plan that went wrong is run again by FARMS=1.
# SUITE=pipeline_contract: random pipelines instead; pipeline_storm: pipelines
# on GPUs that fail in any way; dataflow_devices: dataflows on devices that do.
FARMS ?= 1000000
SEED ?= 1
.PHONY: soak
soak: tests
	$(Q)$(TEST_ENV) TEST_FARMS=$(FARMS) TEST_SEED=$(SEED) $(TESTS) \
	  --suite $(or $(SUITE),storm)

# Each suite on one CPU beside a load, where a test that depends on time fails:
# tests/stress/stress.sh. TIMES=n: so often, in random order; SECONDS=n: no
# longer. JITTER=1: threads pause at locks, too; not under a sanitizer, which has
# its own functions there.
TIMES ?= 10
JITTER_SO := $(abspath $(BUILD))/tests/stress/jitter.so
.PHONY: stress
stress: $(TEST_PARTS) $(if $(JITTER),$(JITTER_SO))
	$(if $(and $(JITTER),$(SAN)),$(error stress: JITTER=1 does not go with SAN=$(SAN)))
	$(Q)$(if $(JITTER),PRELOAD=$(JITTER_SO)) TEST_BUILD=$(abspath $(BUILD)) $(TEST_ENV) \
	  TSAN_OPTIONS="$(TSAN_OPTIONS) halt_on_error=1" tests/stress/stress.sh $(TESTS) \
	  $(if $(filter file,$(origin SECONDS)),86400,$(SECONDS)) $(TIMES) \
	  $(if $(SUITE),--suite='$(SUITE)',--skip='$(call list,$(NOT_QUICK) $(NOT_UNDER_SAN))')

$(JITTER_SO): tests/stress/jitter.c $(SETTINGS)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -D_GNU_SOURCE $(CFLAGS_ALL) -Wno-missing-prototypes -shared $< -o $@ -ldl

# Everything is built with clang, too, where a warning is an error.
CLANG ?= clang
.PHONY: check-clang check-clang-main everything
everything: all tests bench-programs bench-apps bench-figures gpu-bench \
	$(ALIGN_GPU_BIN) $(BUILD)/bench/papers/papers
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
# faults are errors to a sanitizer, so they run plain, as does gpu_data, whose
# random trial copies what was never written.
GPU_SUITES := gpu gpu_outputs gpu_chain gpu_survival gpu_monte_carlo \
	gpu_person_query gpu_string_search gpu_y4m gpu_codelets gpu_align \
	gpu_dataflow
.PHONY: check-gpu
check-gpu: all tests
	$(Q)$(TESTS) $(foreach s,$(GPU_SUITES) gpu_data,--suite $(s))
	$(Q)tools/check-gpu.sh $(TESTS) $(GPU_SUITES)

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
