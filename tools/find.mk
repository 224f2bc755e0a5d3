# SPDX-License-Identifier: MIT
# find.mk: what this machine has: packages, the CUDA Toolkit, OpenBLAS, libdeflate,
# GLPK. Included by the Makefile.

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
WITH_CUBLAS := $(and $(WITH_CUDA),$(filter-out no,$(or $(CUBLAS),yes)),\
	$(wildcard $(CUDA_LIB)/libcublas.so))
ifneq ($(WITH_CUBLAS),)
LIBS_matrix_multiply += -L$(CUDA_LIB) -Wl,-rpath,$(CUDA_LIB) -lcublas
else
NO_KERNELS := examples/matrix_multiply/cublas.cu
endif
ifneq ($(and $(WITH_CUBLAS),$(WITH_LA),$(wildcard $(CUDA_LIB)/libcusolver.so)),)
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
