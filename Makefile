# SPDX-License-Identifier: MIT
# hass: `make run`, `make check`, `make bench`, `make help`.
#
#   V=1            full command lines
#   SAN=address,undefined | SAN=thread   build and test with sanitizers
#   SYSROOT=DIR    headers and libraries of Debian packages unpacked in DIR
#   CUDA=no        as if there were no CUDA Toolkit
#   OPENBLAS=no    as if there were no OpenBLAS
#   CUBLAS=no      as if there were no cuBLAS
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
# Code of GPUs, which no sanitizer instruments, is compiled once for all builds.
KERNELS := $(patsubst build/san-%,build,$(BUILD))
ifneq ($(words $(CURDIR) $(BUILD)),2)
$(error nothing can be built in a path with a space: '$(CURDIR)', BUILD='$(BUILD)')
endif
CC ?= cc
CXX ?= c++
PKG_CONFIG ?= pkg-config
ifeq ($(origin CC),default)
CC := gcc
endif
ifeq ($(origin CXX),default)
CXX := g++
endif

include tools/find.mk

OPT ?= -O2 -g
SAN_FLAGS := $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer)
# The second line is gcc's alone.
WARN_GCC := -Wshadow=local -Wvla-larger-than=65536
WARN := -Wall -Wextra $(if $(shell $(CC) -Werror $(WARN_GCC) -fsyntax-only \
	-xc /dev/null 2>&1),,$(WARN_GCC))
CPPFLAGS_ALL := -I$(BUILD)/include -I. -Ipool -Isched -D_GNU_SOURCE \
	-DG_LOG_DOMAIN='"hass"' $(PKG_CFLAGS) $(SYS_CPPFLAGS) $(CPPFLAGS)
# A function that is not declared is an error, as with gcc 14.
CFLAGS_ALL := -std=gnu11 $(OPT) $(WARN) -Wstrict-prototypes \
	-Wmissing-prototypes -Werror=implicit-function-declaration -fPIC -pthread \
	$(SAN_FLAGS) $(CFLAGS)
CXXFLAGS_ALL := -std=c++17 $(OPT) $(WARN) -fPIC -pthread $(SAN_FLAGS) \
	$(CXXFLAGS)
LDFLAGS_ALL := -pthread $(SAN_FLAGS) $(SYS_LDFLAGS) $(LDFLAGS)
LIBS := $(PKG_LIBS) $(CUDA_LIBS) -lstdc++ -lm
NVCCFLAGS_ALL := -std=c++17 -O3 -lineinfo -diag-suppress 1217 $(NVCC_ARCH) \
	-ccbin $(lastword $(CXX)) $(NVCCFLAGS)
# What nvcc leaves of a file to the host's compiler.
CU_CXXFLAGS := -std=c++17 -O3 -fPIC -pthread -Wall $(firstword $(SAN_FLAGS))

Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-6s %s\n' $(1) $(2))

# -- What there is ----------------------------------------------------------

ROOMS := skeletons engine sched pool device
PUBLIC := pool/error.h pool/load.h pool/round.h pool/types.h pool/version.h \
	sched/strategy.h sched/flow.h sched/stream.h device/device.h device/device_data.h device/device_kind.h \
	device/memory.h device/cuda/cuda.h \
	device/cuda/cuda_device.cuh engine/core/callbacks.h engine/profile/profile.h \
	engine/core/report.h engine/stream/stage.h engine/graph/codelet.h \
	skeletons/data_farm.h skeletons/function_farm.h skeletons/pipeline.h \
	skeletons/dataflow.h skeletons/hass.h
# Of the library hass-la, which stands on hass and OpenBLAS.
LA_PUBLIC := la/la.h
STAGED := $(foreach d,$(sort $(BUILD) $(KERNELS)),\
	$(addprefix $(d)/include/hass/,$(notdir $(PUBLIC) $(LA_PUBLIC))))

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
	$(if $(LA_CUDA_LIBS),$(patsubst %,$(BUILD)/%.o,$(wildcard la/*.cu)))
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

# -- Building ---------------------------------------------------------------

.PHONY: all lib say-left-out
all: lib $(BIN) $(if $(LEFT_OUT),say-left-out)
say-left-out:
	$(Q)$(foreach p,$(LEFT_OUT),echo 'make: $(p) is left out:' \
	  'pkg-config does not find $(WHY_$(p))';)
lib: $(LIB) $(SHARED) $(LA) $(LA_SHARED)

# Says what is missing in a sentence, before anything is built.
.PHONY: can-build
can-build:
	$(Q)CC='$(CC)' CXX='$(CXX)' PKG_CONFIG='$(PKG_CONFIG)' \
	  PACKAGES='$(PACKAGES)' tools/can-build.sh $(BUILD)
$(STAGED): | can-build
	$(Q)mkdir -p $(@D) && ln -sf $(abspath $<) $@
define stage
$(BUILD)/include/hass/$(notdir $(1)) $(KERNELS)/include/hass/$(notdir $(1)): $(1)
endef
$(foreach h,$(PUBLIC) $(LA_PUBLIC),$(eval $(call stage,$(h))))

# What all is built with. When it changes, as by CUDA=no or a toolkit that was
# installed since, everything is built anew: objects of both kinds do not link.
# Lines of the makefiles that name flags belong to it, other lines do not.
SETTINGS := $(BUILD)/settings
KERNEL_SETTINGS := $(KERNELS)/kernel-settings
SETTINGS_TEXT := $(CC) $(CXX) $(NVCC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) \
	$(CXXFLAGS_ALL) $(CU_CXXFLAGS) $(LDFLAGS_ALL) $(LIBS) \
	$(OPENBLAS_CFLAGS) $(LIBS_matrix_multiply) $(LA) $(LA_CUDA_LIBS) $(HZIP_CFLAGS) $(LIBS_hzip) \
	$(GLPK_CPPFLAGS) $(CUNIT_CFLAGS) $(CUNIT_LIBS) $(LEFT_OUT) \
	$(shell grep -h FLAGS Makefile */*.mk | cksum)
KERNEL_CPPFLAGS := -I$(KERNELS)/include $(filter-out -I$(BUILD)/include,\
	$(filter -I% -D%,$(CPPFLAGS_ALL)))
KERNEL_SETTINGS_TEXT := $(NVCC) $(KERNEL_CPPFLAGS) $(NVCCFLAGS_ALL)
.PHONY: always
$(SETTINGS): TEXT = $(SETTINGS_TEXT)
$(KERNEL_SETTINGS): TEXT = $(KERNEL_SETTINGS_TEXT)
$(SETTINGS) $(KERNEL_SETTINGS): always | $(STAGED)
	$(file >$@.new,$(TEXT))
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

.PRECIOUS: $(KERNELS)/%.cu.ii
$(KERNELS)/%.cu.ii: %.cu $(KERNEL_SETTINGS) | $(STAGED)
	$(call say,NVCC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(NVCC) -cuda $(KERNEL_CPPFLAGS) $(NVCCFLAGS_ALL) \
	  -MMD -MP -MF $(@:.ii=.d) $< -o $@

$(BUILD)/%.cu.o: $(KERNELS)/%.cu.ii $(SETTINGS)
	$(call say,CXX,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(CU_CXXFLAGS) -c $< -o $@

$(LIB_OBJ) $(LA_OBJ): CFLAGS_ALL += -fvisibility=hidden
$(LIB_OBJ): CXXFLAGS_ALL += -fvisibility=hidden -fvisibility-inlines-hidden
$(BUILD)/device/cpu/tbb_wrapper.o: CXXFLAGS_ALL += -fno-sanitize=thread
$(BUILD)/device/cuda/cudart.o: CPPFLAGS_ALL += $(if $(WITH_CUDA),-DHASS_WITH_CUDA \
	$(CUDA_CFLAGS))

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

# Nothing may be undefined, but what the program brings of a sanitizer. It stays
# loaded after dlclose(), as threads of oneTBB's pool and its own run its code.
$(SHARED): tools/hass.map $(LIB_OBJ)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -shared -Wl,-soname,$(SONAME) -Wl,--version-script=$< \
	  $(if $(SAN),,-Wl$(comma)-z$(comma)defs) -Wl,-Bsymbolic-functions \
	  -Wl,-z,nodelete -Wl,--as-needed $(LDFLAGS_ALL) $(LIB_OBJ) $(LIBS) -o $@

# libhass is found beside it, also by a program that links only hass-la.
$(LA_SHARED): tools/hass.map $(LA_OBJ) $(SHARED)
	$(call say,LD,$@)
	$(Q)$(CC) -shared -Wl,-soname,$(LA_SONAME) -Wl,--version-script=$< \
	  -Wl,-rpath,'$$ORIGIN' \
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

.PHONY: help
help:
	@cat tools/help.txt

include bench/bench.mk tests/tests.mk tools/install.mk

.PHONY: format
format:
	$(Q)clang-format -i $$(tools/list-files.sh '*.c' '*.h' '*.cpp' '*.cu' '*.cuh')

.PHONY: clean
clean:
	$(Q)rm -rf build

-include $(wildcard $(patsubst %.cu,$(KERNELS)/%.cu.d,$(wildcard */*.cu */*/*.cu)))
-include $(LIB_OBJ:.o=.d) $(LA_OBJ:.o=.d) $(DRAW_OBJ:.o=.d) $(EX_OBJ:.o=.d) \
	$(TEST_OBJ:.o=.d) $(BENCH_OBJ:.o=.d) $(ALIGN_BIN).d $(ALIGN_GPU_BIN).d $(CHOLESKY_OBJ:.o=.d) \
	$(GPU_BENCH_OBJ:.o=.d) $(FIGURES_OBJ:.o=.d) \
	$(APPS_OBJ:.o=.d) $(PAPERS_OBJ:.o=.d)
