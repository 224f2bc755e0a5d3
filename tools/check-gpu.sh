#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# check-gpu.sh: the GPU tests under compute-sanitizer, on smaller data.
# Usage: check-gpu.sh PROGRAM SUITE... Faults that tests provoke in child processes
# and launches that cannot be are no findings.
set -u
program=$1
shift
suites=()
for s in "$@"; do suites+=(--suite "$s"); done
sanitizer=$(command -v compute-sanitizer || echo "${CUDA_HOME:-/usr/local/cuda}/bin/compute-sanitizer")
if "$program" --suite gpu_fault_child | grep -qE 'SKIPPED: (no GPU|built)'; then
  echo "check-gpu: SKIPPED, no GPU or no nvcc"
  exit 0
fi
if [ ! -x "$sanitizer" ]; then
  echo "check-gpu: SKIPPED, no compute-sanitizer"
  exit 0
fi
bad=0
for tool in memcheck racecheck initcheck; do
  echo "compute-sanitizer --tool $tool"
  TEST_GPU_SMALL=1 "$sanitizer" --tool $tool --report-api-errors no \
    --error-exitcode 9 "$program" "${suites[@]}" \
    | grep -E '=====|FAILED|asserts'
  status=${PIPESTATUS[0]}
  if [ "$status" -ne 0 ]; then
    echo "check-gpu: $tool: exit status $status"
    bad=1
  fi
done
exit $bad
