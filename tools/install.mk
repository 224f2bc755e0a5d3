# SPDX-License-Identifier: MIT
# install.mk: what an installation consists of; `make install`, `uninstall`,
# `dist` and `deb`. Included by the Makefile.
#
#   DESTDIR=DIR         is put before every path
#   PREFIX=/usr/local   where it will lie
#   LIBDIR=lib          below PREFIX; lib/x86_64-linux-gnu on Debian

PREFIX ?= /usr/local
LIBDIR ?= lib
DOCS := share/doc/hass

# Examples that are programs for everyday use; hzip needs libdeflate and zlib,
# cholesky OpenBLAS.
EVERYDAY := $(filter-out $(LEFT_OUT),align cholesky hzip y4m_denoise)
EVERYDAY_BIN := $(EVERYDAY:%=$(BUILD)/bin/%)

# Each file as HOW:FOLDER:FILE, the folder below PREFIX. HOW is a word that
# tools/install.sh knows. Uninstalling goes through the same list.
into = $(foreach f,$(3),$(1):$(strip $(2)):$(f))
example_folders := $(patsubst %/,%,$(wildcard examples/*/ examples/*/*/))
INSTALLED := \
	$(call into,program,bin,$(TOOL_BIN) $(EVERYDAY_BIN)) \
	$(call into,file,include/hass,$(PUBLIC)) \
	$(call into,file,$(LIBDIR),$(LIB) $(SHARED)) \
	$(call into,link,$(LIBDIR),$(SONAME)=$(notdir $(SHARED)) \
	  libhass.so=$(SONAME)) \
	$(call into,fill,$(LIBDIR)/pkgconfig,tools/hass.pc.in) \
	$(if $(LA),$(call into,file,include/hass,$(LA_PUBLIC)) \
	  $(call into,file,$(LIBDIR),$(LA) $(LA_SHARED)) \
	  $(call into,link,$(LIBDIR),$(LA_SONAME)=$(notdir $(LA_SHARED)) \
	    libhass-la.so=$(LA_SONAME)) \
	  $(call into,fill,$(LIBDIR)/pkgconfig,tools/hass-la.pc.in)) \
	$(call into,fill,$(LIBDIR)/cmake/hass,$(wildcard tools/hass*.cmake.in)) \
	$(call into,file,share/man/man1,$(patsubst %,doc/man/%.1,$(TOOLS) $(EVERYDAY))) \
	$(call into,file,share/man/man7,doc/man/hass.7) \
	$(call into,file,share/hass/platforms,$(wildcard doc/platforms/*)) \
	$(call into,file,share/hass/workloads,$(wildcard doc/workloads/*)) \
	$(call into,file,share/hass/pipelines,$(wildcard doc/pipelines/*)) \
	$(call into,guide,$(DOCS),$(wildcard doc/*.md)) \
	$(call into,guide,$(DOCS)/results,$(wildcard doc/results/*.md)) \
	$(call into,file,$(DOCS)/pictures,$(wildcard doc/pictures/*)) \
	$(foreach d,h100 h200 overhead papers records,$(call into,file,$(DOCS)/results/$(d),\
	  $(wildcard doc/results/$(d)/*))) \
	$(foreach d,examples $(example_folders),$(call into,file,\
	  $(DOCS)/$(d),$(wildcard $(addprefix $(d)/,*.c *.h *.cu *.txt Makefile))))

# Where a static link finds the CUDA runtime, unless the linker looks there
# anyway. A package, which DESTDIR stands for, names no folder of this machine.
CUDA_AT := $(if $(DESTDIR),,$(patsubst %,-L%,$(filter-out \
	/usr/lib /usr/lib64 /usr/lib/%-linux-gnu,$(CUDA_LIB))))

# What @NAME@ in a template becomes.
FILLED = VERSION='$(VERSION)' PREFIX='$(PREFIX)' LIBDIR='$(LIBDIR)' \
	WITH_CUDA='$(or $(WITH_CUDA),no)' SHARED='$(notdir $(SHARED))' \
	SONAME='$(SONAME)' CUDA_LIBS='$(if $(WITH_CUDA),$(strip $(CUDA_AT) $(CUDA_RUNTIME)))' \
	LA_CUDA_LIBS='$(if $(LA_CUDA_LIBS),$(strip $(CUDA_AT) \
	$(filter -l%,$(LA_CUDA_LIBS))))'

# install-files installs what has been built already, and builds nothing.
.PHONY: install install-files uninstall
install: lib $(TOOL_BIN) $(EVERYDAY_BIN)
	$(Q)$(MAKE) --no-print-directory install-files
install-files uninstall:
	$(Q)printf '%s\n' $(INSTALLED) | $(FILLED) tools/install.sh \
	  $(patsubst %-files,%,$@) $(DESTDIR)$(PREFIX)

# A tarball that builds without git; SOURCE_DATE_EPOCH dates its files.
NAME := hass-$(VERSION)
.PHONY: dist
dist:
	$(Q)mkdir -p $(BUILD)
	$(Q)tools/list-files.sh | tar -cz -f $(BUILD)/$(NAME).tar.gz -T - \
	  --sort=name --owner=0 --group=0 --numeric-owner \
	  $(SOURCE_DATE_EPOCH:%=--mtime=@%) --transform='s,^,$(NAME)/,'
	@echo $(BUILD)/$(NAME).tar.gz

# Debian packages, of that tarball alone; without CUDA, as in Debian itself.
.PHONY: deb
deb: dist
	$(if $(SYSROOT),,$(Q)tools/setup.sh deb)
	$(Q)rm -rf $(BUILD)/deb && mkdir -p $(BUILD)/deb
	$(Q)cp $(BUILD)/$(NAME).tar.gz $(BUILD)/deb/hass_$(VERSION).orig.tar.gz
	$(Q)tar -xf $(BUILD)/$(NAME).tar.gz -C $(BUILD)/deb
	$(Q)cd $(BUILD)/deb/$(NAME) && dpkg-buildpackage -us -uc
	$(Q)cd $(BUILD)/deb && lintian --fail-on error *.changes
	@ls $(BUILD)/deb/*.deb
