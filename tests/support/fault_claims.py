"""List defects found by hand, their current behaviour, and the tests that cover them: the second fault table.

A test is named by its file below ``tests/`` and its function, with its parameters where not all of them count.
``rows`` are rows of the table of faults that are injected (:mod:`fault_table`), which try the same with real daemons.
"""

from __future__ import annotations

from dataclasses import dataclass

OUTPUT = "interfaces/cli/test_cli_output.py::"
LIMITS = "interfaces/web/server/test_web_limits.py::"
WATCHING = "execution/campaign/attempts/test_campaign_watching.py::"
READINESS = "execution/engines/hadoop/deployment/test_engines_readiness.py::"
HOSTILE = "store/exchange/test_repository_hostile.py::"
LOOP = "execution/campaign/test_campaign_loop.py::"
CANCELLATION = "execution/campaign/test_campaign_cancellation.py::"
TIMING = "execution/engines/test_engines_timing.py::"
EXECUTE = "execution/campaign/test_campaign_execute.py::"
DISK = "faults/test_disk_errors.py::"
DOCUMENTS = "specs/test_spec_documents.py::"
UNFIT = f"{LOOP}test_an_unusable_host_ends_the_call_at_the_first_attempt_and_the_remaining_runs_stay_planned"
FOLDERS = f"{READINESS}test_full_read_only_and_forbidden_folders_are_distinguished_with_a_remedy"
CLASSES = f"{WATCHING}test_links_and_devices_decide_the_class_before_what_came_of_them"
DAEMON = f"{WATCHING}test_work_is_ended_soon_after_a_daemon_that_it_needs_is_gone"
TABLE = f"{HOSTILE}test_a_table_that_is_none_is_refused_though_its_checksum_is_right"


@dataclass(frozen=True)
class Claim:
    """A fault, what becomes of it in words, and what holds that."""

    fault: str
    becomes: str
    tests: tuple[str, ...]
    rows: tuple[str, ...] = ()


FILES = (
    Claim(
        "`-o` names a device such as `/dev/null`, or a link to one",
        "it is written into and stays what it is",
        (f"{OUTPUT}test_a_device_is_written_to_and_stays_a_device",),
    ),
    Claim(
        "`-o /dev/stdout`: a pipe, a file, a file that is appended to",
        "gets the table where it stands; the link stays",
        (f"{OUTPUT}test_standard_output_by_its_name_gets_the_table",),
    ),
    Claim("`-o` names a FIFO", "its reader gets all of it", (f"{OUTPUT}test_a_fifo_passes_everything_on_and_stays",)),
    Claim(
        "`-o` names a link to a file, or to nothing yet",
        "the link stays, the file is replaced whole and keeps its mode",
        (
            f"{OUTPUT}test_a_link_stays_and_the_file_that_it_leads_to_is_replaced_with_its_mode",
            f"{OUTPUT}test_a_link_to_nothing_yet_makes_what_it_names",
        ),
    ),
    Claim(
        "`-o` names a block device, a full device, a folder that is not there",
        "refused in words; nothing is lost",
        (
            f"{OUTPUT}test_a_block_device_is_refused",
            f"{OUTPUT}test_a_full_device_is_reported",
            f"{OUTPUT}test_a_missing_folder_is_an_error",
            f"{OUTPUT}test_a_failure_half_way_changes_nothing",
        ),
    ),
    Claim(
        "the same of reports, their packages and charts, and of every other command that writes a file",
        "the same, as all write by one module",
        (
            f"{OUTPUT}test_reports_and_packages_follow_links_to_devices",
            f"{OUTPUT}test_charts_keep_a_device_that_has_a_chart_s_name",
            f"{OUTPUT}test_every_command_writes_named_files_the_same_way",
        ),
    ),
)

USERS = (
    Claim(
        "a second user's TeraSort on the same host",
        "valid, as the first one's; nothing stays in `/tmp`",
        (
            "execution/engines/hadoop/test_engines_two_users.py::test_a_second_users_sort_is_valid_too_and_nothing_stays_in_tmp",
            "execution/engines/hadoop/settings/test_engines_configuration.py::"
            "test_caches_of_daemons_and_clients_are_below_the_clusters_home",
        ),
    ),
    Claim(
        "a check program that can't run",
        "`engine` (`infrastructure` where the disk was full or the host lost), with its words; never `validation`",
        (
            "execution/engines/hadoop/deployment/test_engines_restart.py::test_unchecked_output_is_not_called_wrong",
            "workloads/test_workloads_failed_checker.py::"
            "test_a_check_that_could_not_run_states_its_error_and_has_no_result",
        ),
    ),
)

SERVER = (
    Claim(
        "600 half-open connections to a server with 300 descriptors",
        "others are answered; its log stays below 20 kB",
        (f"{LIMITS}test_half_open_connections_block_no_client_and_fill_no_log",),
    ),
    Claim(
        "headers that arrive late or byte by byte",
        "the connection is ended at its limit",
        (f"{LIMITS}test_a_late_header_ends_the_connection", f"{LIMITS}test_a_late_second_header_ends_the_connection"),
    ),
    Claim(
        "bodies that arrive very slowly, answers that the client does not read",
        "the connection is ended; a slow body that keeps coming is taken",
        (
            f"{LIMITS}test_a_body_below_the_minimum_rate_ends_the_connection",
            f"{LIMITS}test_an_answer_that_the_client_does_not_read_ends_the_connection",
            f"{LIMITS}test_a_slow_body_above_the_minimum_rate_is_read",
        ),
    ),
    Claim(
        "more connections than a client, or all, may have",
        "503 for the next one; descriptors are left for files",
        (
            f"{LIMITS}test_a_new_connection_gets_503_while_all_others_are_being_answered",
            f"{LIMITS}test_limits_leave_descriptors_for_files",
        ),
    ),
    Claim(
        "the same line in the log 10,000 times",
        "a few lines and their number, each bounded",
        (
            f"{LIMITS}test_lines_of_one_kind_are_limited",
            f"{LIMITS}test_the_number_of_dropped_lines_is_written_by_a_timer",
        ),
    ),
    Claim(
        "wrong logins and tokens",
        "401, slower each time, then 429; a client with a correct token is not delayed",
        (
            f"{LIMITS}test_wrong_tokens_are_refused_after_a_few",
            f"{LIMITS}test_wrong_tokens_slow_down_requests_of_their_address",
        ),
    ),
)

DURING = (
    Claim(
        "work that ends, or is cancelled, in any tick of the watcher while the event loop is busy",
        "the attempt ends in that tick; what loses a cancellation is cancelled again, up to three times, then named",
        (
            f"{CANCELLATION}test_guarded_work_ends_in_whichever_tick_of_the_watcher_it_ends",
            f"{CANCELLATION}test_a_wait_that_is_cancelled_is_cancelled_in_every_tick",
            f"{CANCELLATION}test_a_watcher_that_loses_two_cancellations_is_cancelled_again",
            f"{CANCELLATION}test_a_hanging_program_is_named_and_no_longer_waited_for",
        ),
    ),
    Claim(
        "assay is stopped (SIGSTOP) in mid-job until after the job's end, or its time limit",
        "the time is the master's; `infrastructure` with both times as the cause, tried again",
        (
            f"{TIMING}test_a_pause_of_assay_beyond_the_jobs_end_changes_no_time_and_the_run_is_not_valid",
            f"{TIMING}test_a_time_limit_that_passed_during_a_pause_is_not_the_jobs_fault",
        ),
    ),
    Claim(
        "a ResourceManager, NameNode or history server that died during a job",
        "the attempt is ended within 15 s, class `engine`, cause `HOST: DAEMON died`",
        (DAEMON,),
        tuple(f"{name} killed, job, hadoop" for name in ("ResourceManager", "NameNode", "JobHistoryServer")),
    ),
    Claim(
        "one of them stopped (SIGSTOP)",
        "the same; cause `HOST: DAEMON is stopped (SIGSTOP)`",
        (DAEMON,),
        tuple(f"{name} stopped, job, hadoop" for name in ("ResourceManager", "NameNode", "JobHistoryServer")),
    ),
    Claim(
        "an attached cluster's master that stops answering",
        "class `engine` at the second question without an answer",
        (f"{WATCHING}test_two_failed_checks_in_a_row_end_a_run_on_an_engine_without_daemons",),
    ),
    Claim(
        "the daemon behind a lab's disks died",
        "`infrastructure`, named; a lab of the campaign's own is made anew, one put up by hand is called broken",
        (
            "execution/lab/test_lab_modelled.py::test_a_lab_whose_daemon_was_killed_is_broken_and_is_removed_whole",
            f"{EXECUTE}test_the_lab_of_a_campaign_is_rebuilt_when_its_disks_are_gone",
            f"{EXECUTE}test_a_lab_of_lab_up_that_lost_its_disks_is_reported_as_broken",
        ),
        ("assay-diskd killed, job, hadoop", "assay-diskd stopped, job, hadoop"),
    ),
    Claim(
        "a host that says nothing, or is gone",
        "`infrastructure`: `HOST does not answer`, or that the node is gone",
        (
            f"{WATCHING}test_a_silent_host_is_probed_and_then_counts_as_lost",
            f"{WATCHING}test_a_removed_node_is_reported_as_removed_and_not_as_a_lost_connection",
        ),
        ("worker1 gone, job, hadoop",),
    ),
    Claim(
        "a link that was down in mid-run",
        "`infrastructure`, the link as the cause, tried again; a run that came through is not valid",
        (CLASSES, f"{WATCHING}test_a_link_that_was_down_for_a_moment_is_seen_and_spoils_the_run"),
        ("link down 20 s, job, hadoop", "link down for good, job, hadoop"),
    ),
    Claim(
        "a data disk that fills up in mid-run",
        "`infrastructure`, the disk as the cause, tried again",
        (CLASSES, f"{WATCHING}test_a_device_that_fills_up_is_seen_even_when_it_is_empty_again"),
        ("worker's disk full, job, hadoop", "shuffle disk full, shuffle, spark"),
    ),
    Claim(
        "errors of a device in the kernel's log",
        "`infrastructure`; other devices' errors do not count",
        (CLASSES, f"{WATCHING}test_the_kernels_words_of_other_devices_are_not_the_runs"),
    ),
    Claim(
        "processes that the kernel ended for lack of memory",
        "named with program and host before the cause; the class stays",
        (f"{WATCHING}test_lack_of_memory_is_named_by_the_kernels_words_and_counted_once",),
        ("memory used up, job, hadoop",),
    ),
)

BEFORE = (
    Claim(
        "a worker's disk that is full before the start",
        "the call ends at the first attempt, with the folder and `free space on that device`",
        (FOLDERS, UNFIT),
    ),
    Claim(
        "directories that can't be written, or belong to another",
        "the call ends at the first attempt, with the user and `chown it`",
        (FOLDERS, UNFIT),
    ),
    Claim(
        "other `directories` below the same `home`, or those of another HDFS",
        "told with both places and what to remove",
        (
            f"{READINESS}test_hdfs_formatted_in_other_directories_is_reported_with_both_and_a_remedy",
            f"{READINESS}test_a_directory_of_another_hdfs_is_reported",
        ),
    ),
    Claim(
        "clocks that differ; containers larger than the host's memory",
        "told with the difference, and with the parameter to lower",
        (f"{READINESS}test_clocks_that_differ_and_containers_that_do_not_fit_are_reported",),
    ),
    Claim(
        "daemons that do not come up",
        "how many of how many are live, in words",
        (f"{READINESS}test_the_health_seen_by_masters_is_described",),
    ),
    Claim(
        "`memory_floor: 900TB`",
        "refused before anything is made, with this machine's memory",
        (
            "execution/lab/test_lab_parts.py::test_a_node_with_more_memory_than_the_machine_is_refused_before_anything_is_made",
        ),
    ),
)

COMING_IN = (
    Claim(
        "a package whose tar header claims 4 GiB, pulled",
        "refused in words, below 20 MiB of memory, nothing left",
        (
            f"{HOSTILE}test_a_header_that_claims_much_is_not_read",
            f"{HOSTILE}test_pull_refuses_an_invalid_package_with_the_reason",
        ),
    ),
    Claim(
        "the same as an upload",
        "422, below 20 MB of memory, nothing left",
        ("interfaces/web/api/test_web_api.py::test_an_upload_whose_header_claims_4_gib_is_refused_unread",),
    ),
    Claim(
        "an endless line in a table that is imported",
        "left with its line's number at 1 MiB, below 3 MB of memory",
        ("store/formats/tables/test_tables_mapped.py::test_an_endless_line_is_refused_before_it_is_read",),
    ),
    Claim(
        "10 MB of anything, to any parser or the reader of packages",
        "below 200 MB of memory and 5 s of a CPU",
        ("faults/test_bounds.py::test_inputs_of_any_kind_are_parsed_in_bounded_memory_and_time",),
    ),
    Claim(
        "junk instead of a Parquet table, with right checksums",
        "`verify` names it, copies leave it out; pages tell no folder of this machine",
        (TABLE, "interfaces/web/api/test_web_api.py::test_a_damaged_table_is_reported_without_folders_of_this_machine"),
    ),
    Claim(
        "1 MB of YAML without aliases; a file that is larger",
        "refused after 6 s of a CPU at most; unread",
        (
            f"{DOCUMENTS}test_a_file_with_too_many_nodes_is_refused_long_before_its_end",
            f"{DOCUMENTS}test_a_huge_file_is_refused_unread",
        ),
    ),
    Claim(
        "`cluster:` names a FIFO",
        "refused while it is silent; read once a program writes",
        (
            f"{DOCUMENTS}test_a_fifo_without_data_ends_with_an_error",
            f"{DOCUMENTS}test_a_fifo_that_is_written_to_is_read",
        ),
    ),
    Claim(
        "a capacity of 1e24 PB",
        "refused: implausibly large",
        (f"{DOCUMENTS}test_a_size_that_no_machine_has_is_refused",),
    ),
    Claim(
        "`=cmd|…` in an exported CSV",
        "no cell is a formula, and every text comes back",
        (
            "store/exchange/test_repository_exchange.py::test_no_cell_of_a_csv_is_a_formula_and_an_import_restores_every_text",
            "store/exchange/test_repository_exchange.py::test_cells_are_reversible_and_harmless",
        ),
    ),
)

STORING = (
    Claim(
        "a publish that fails",
        "the call and the concurrent run end at once; results are kept, and the same command stores them later",
        (f"{LOOP}test_a_bundle_that_cannot_be_stored_ends_the_call_and_the_next_call_stores_it",),
        ("repository full at publish, job, hadoop", "repository with EIO at publish, job, hadoop"),
    ),
    Claim(
        "no room for a bundle",
        "no run starts; space is reserved during a run",
        (f"{LOOP}test_no_run_is_started_without_room_for_its_bundle",),
    ),
    Claim(
        "a repository that is read-only, in `assay run`",
        "exit code 6, the system's words and what to do; nothing lost when it is mended",
        (f"{DISK}test_a_disk_error_ends_the_call_with_a_message_and_loses_nothing[a repository that is read-only]",),
    ),
    Claim(
        "a file system without locks (`ENOLCK`)",
        "`has no locks`, exit code 3; never `running already`",
        ("foundation/test_process.py::test_a_file_system_without_locks_is_not_taken_for_a_lock_that_another_holds",),
    ),
    Claim(
        "the clock went back a day, then `--again` was interrupted",
        "the same command resumes that campaign",
        (f"{DISK}test_a_campaign_continues_and_restarts_after_the_clock_has_jumped",),
    ),
)

CLAIMS: tuple[Claim, ...] = (*FILES, *USERS, *SERVER, *DURING, *BEFORE, *COMING_IN, *STORING)
