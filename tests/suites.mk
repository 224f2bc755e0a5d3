# SPDX-License-Identifier: MIT
# suites.mk: which suites `make check`, `make check-quick` and the sanitizers
# run. Suites that are not named here run everywhere.

# These take longest, by the table that ends a run. They start first, in this
# order, so that none runs alone at the end.
SLOWEST := align align_gpu_shared cuda_data gpu_faults y4m_pipeline person_query \
	model hzip_hostile package against_grep pipeline_contract \
	dataflow_strategies dataflow_devices pipe_near_bound \
	pipe_strategies mapped_file align_scores y4m_nlm sim_auto sim_bound gpu_search \
	storm failing_memory hzip_round_trip guide pipeline_storm hzip_files gpu_apps \
	contract hzip_memory sim_bound_engine own_device replay layers bakeoff

# `make check-quick` leaves out what takes seconds to prove something about one
# part, of which another suite runs the code as well:
#   against_grep, gpu_search, mapped_file   matcher, line_scan, examples
#   hzip_*         thousands of runs of a program
#   sim_auto, sim_bound, sim_random, sim_papers    sched_*, sim_run, sim_program
#   replay         record, replay_h200, replay_tasks
#   storm, failing_memory    contract, gpu_faults, live
#   pipeline_contract, pipeline_storm    pipeline, pipeline_*
#   pipe_strategies, pipe_near_bound    sched_pipe_auto, pipe_run, pipe_bound
#   cuda_data      cuda_copies, gpu_memory, data_stand_in
#   examples_cholesky, examples_matrix_multiply    potrf, matrix_multiply
#   align, align_scores    align_program
#   package, guide, layers, own_device, bakeoff, gpu_apps    builds and programs,
#                  seldom changed
#   model          spin searches models in tests/model, not the library
NOT_QUICK := against_grep gpu_search hzip_* mapped_file sim_auto sim_bound \
	sim_bound_engine sim_random sim_papers replay storm failing_memory \
	package guide layers own_device bakeoff gpu_apps model \
	pipeline_contract pipeline_storm pipe_strategies pipe_near_bound cuda_data \
	align align_scores examples_cholesky examples_matrix_multiply

# AddressSanitizer and UndefinedBehaviorSanitizer see nothing new in:
#   model            a program that spin writes
#   package, guide   what make builds and installs, without sanitizers
#   layers, can_build    scripts of tools/, which no code of the library runs
#   bakeoff          hass-bakeoff starts programs and waits for their time limits;
#                    output runs it, too
#   sim_papers, sim_bound, sim_auto, sim_random, pipe_near_bound,
#   sched_auto_machines    thousands of rounds of the code that sched_*, sim_run,
#                    sim_bound_engine, pipe_strategies and contract_virtual run once each
NOT_UNDER_ADDRESS := model package guide layers can_build bakeoff sim_papers sim_bound \
	sim_auto sim_random pipe_near_bound sched_auto_machines

# ThreadSanitizer sees nothing new in suites of one thread:
#   sched_*, sim_*, pipe_*, replay*, measure, gantt*, plot, device_model, platform,
#   virtual_*, contract_virtual, thesis, hostile, pipeline_accounts, profile_files
#                    virtual time, pictures and files
#   flow_bound       likewise
#   matcher, line_scan, grep_rules, y4m_nlm, y4m_blend    a search within one block,
#                    filters of one plane
#   align_scores, align_gpu_tile    the numbers of tiles; align and align_gpu_shared
#                    have several threads compute the tiles of a table
#   model, package, guide, layers, can_build    as above
# Programs cannot run under it: what GLib does, which is not instrumented, is
# excused in the test program only (tests/sanitizers.c):
#   against_grep, bakeoff*, examples*, gpu_apps, hass_info,
#   hzip_*, monte_carlo_program, own_device, output, y4m_program
# matrix_check has OpenBLAS compute with threads of its own, likewise.
# gpu_search* and mapped_file search large files with the farms of live.
NOT_UNDER_THREAD := align_program align_scores align_gpu_tile heat sched_* sim_* \
	flow_bound pipe_* replay* measure gantt* plot device_model platform virtual_* contract_virtual thesis \
	pipeline_accounts profile_files matcher line_scan grep_rules y4m_nlm y4m_blend \
	model package guide layers can_build against_grep bakeoff* examples* gpu_apps \
	hass_info hostile hzip_* monte_carlo_program own_device output gpu_search* \
	mapped_file matrix_check y4m_program

# The answers of these depend on the code that a compiler makes: atomics,
# vectors, floating point. `make check-clang` runs them.
CLANG_SUITES := unit_range round round_take round_crowd load_pool \
	load_pool_crowd result_pool event live contract copy_crew stream_copy \
	matcher line_scan matrix_multiply matrix_check monte_carlo \
	monte_carlo_numbers monte_carlo_program examples y4m_*
