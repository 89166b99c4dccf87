"""Which of the thorough tests a run takes: all of them, or one part, as continuous integration does.

`DDLREPL_THOROUGH_PART=2/3` is the second of three parts. Each thorough test is in exactly one part: the long ones are
dealt out in turn, so that every part takes about as long; the others go by a checksum of their names.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Mapping

VARIABLE = "DDLREPL_THOROUGH_PART"
LONG = (
    "tests/chaos/test_lake_crash.py::test_two_channels_whose_drivers_and_java_are_killed",
    "tests/conformance/test_killed.py::test_runs_killed_at_each_fail_point_in_turn_are_made_good[iceberg]",
    "tests/conformance/test_killed.py::test_random_work_whose_runs_are_killed_anywhere_ends_equal[iceberg",
    "tests/airflow/test_readme.py::test_the_readme_leads_into_airflow",
    "tests/airflow/test_standalone.py::test_a_triggered_run_replicates_an_approved_one_rewinds_a_backfill_replays",
    "tests/demo/test_rows.py::test_the_demo_in_this_process_ends_equal_and_refreshes_only_what_no_alter_can_carry",
    "tests/spark/test_cluster.py::test_operators_on_a_cluster",
    "tests/airflow/test_ui.py::test_every_form_is_submitted_with_its_defaults",
    "tests/spark/test_cluster.py::test_a_worker_dies",
    "tests/histories/test_histories.py::"
    "test_histories_with_conditions_or_functions_that_are_rewound[SampledTransformingRememberer]",
    "tests/histories/test_histories.py::"
    "test_histories_with_conditions_or_functions_that_are_rewound[SampledRestrictingRememberer]",
    "tests/demo/test_benchmarks.py::test_each_part_measures_and_clears_away_what_it_made",
    "tests/security/test_secrets.py::test_a_story_with_passwords",
    "tests/engines/lake/rest/test_rewind_and_repair.py::test_tables_go_back_and_on_again_and_rows_are_repaired",
    "tests/engines/lake/piecewise/test_windows.py::test_a_killed_run_is_rolled_forward[hive]",
    "tests/spark/test_runner.py::test_spark_connect",
    "tests/conformance/test_killed.py::test_runs_killed_at_each_fail_point_in_turn_are_made_good[postgres]",
    "tests/airflow/test_airflow_secrets.py::test_passwords_stay_out_of_airflow",
    "tests/airflow/test_standalone.py::test_goldengate_s_parameter_files_replicate_rows_and_ddl_under_other_names",
    "tests/conformance/test_killed.py::test_runs_killed_at_each_fail_point_in_turn_are_made_good[files]",
    "tests/airflow/test_airflow_connections.py::"
    "test_commands_read_connections_of_the_metadata_database_and_of_a_secrets_backend",
    "tests/airflow/test_local_app.py::test_what_spark_submit_gives_the_app_has_without_it[cluster]",
    "tests/airflow/test_local_app.py::test_killing_the_task_ends_the_app_and_its_spark",
    "tests/histories/test_histories.py::test_histories_that_are_rewound[61]",
    "tests/spark/test_connect_server.py::test_the_command_line_and_an_operator",
    "tests/histories/test_histories.py::test_histories_with_refused_rows[226]",
    "tests/chaos/test_crash.py::test_rewinds_killed_at_any_moment_are_made_good",
    "tests/airflow/test_assets.py::test_events_are_sent_when_there_is_news",
    "tests/security/test_secrets.py::test_runs_that_fail_with_passwords",
    "tests/histories/test_histories.py::test_histories_with_refused_rows[221]",
    "tests/histories/test_histories.py::test_histories_on_18[1]",
    "tests/airflow/test_new_target.py::test_it_waits_for_the_enroll_dag",
    "tests/spark/test_runner.py::test_a_machine_without_java_uses_the_wheel",
    "tests/spark/test_transform_worker.py::test_workers_import_the_function",
)
"""Tests that take half a minute and more, the longest first; a prefix stands for all its cases."""
_GROUP = re.compile(r"@[\w-]+$")


def name(nodeid: str) -> str:
    """The name of a test without the group that pytest-xdist has appended."""
    return _GROUP.sub("", nodeid)


def part_of(nodeid: str, parts: int) -> int:
    """Which part a thorough test is in, from 1 on. The long tests go there and back, as cards of falling value."""
    place = next((number for number, long in enumerate(LONG) if nodeid.startswith(long)), None)
    if place is None:
        return zlib.crc32(name(nodeid).encode()) % parts + 1
    turn, seat = divmod(place, parts)
    return parts - seat if turn % 2 else seat + 1


def chosen(environment: Mapping[str, str]) -> Callable[[str], bool]:
    """A function that says of a thorough test's name whether this run takes it. Raises ValueError: no part `k/n`."""
    text = environment.get(VARIABLE, "")
    if not text:
        return lambda _: True
    found = re.fullmatch(r"(\d+)/(\d+)", text)
    if found is None or not 1 <= int(found[1]) <= int(found[2]):
        raise ValueError(f"{VARIABLE} is {text!r}: it names a part of the thorough tests as 2/3 does")
    part, parts = int(found[1]), int(found[2])
    return lambda nodeid: part_of(nodeid, parts) == part
