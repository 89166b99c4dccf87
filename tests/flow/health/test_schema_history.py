"""Every schema change of the source stands in the history of its table once, with what became of it at each target."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.errors import ControlStop
from airflow_ddlrepl.flow.health.history import table_history
from airflow_ddlrepl.flow.health.newest_changes import newest_changes
from airflow_ddlrepl.repository.repository import Repository
from tests.support.replica import Make, Replica


def histories(replica: Replica) -> dict[str, list[tuple[str, list[str]]]]:
    """By table: each statement, with how it arrived at the targets; the list of the newest changes says the same."""
    with Repository.open(load_channel(replica.file).repository) as repository:
        ids = {one.table_id for one in repository.revisions("shop")}
        found: dict[str, Any] = {}
        for table_id in ids:
            told = table_history(repository, "shop", table_id)
            entries = [one for one in told["revisions"] if one["statement"]]
            found[str(told["table"])] = [(one["statement"], became(one)) for one in entries]
        newest = [(one["statement"], became(one)) for one in newest_changes(repository, "shop")]
    assert sorted(newest) == sorted(entry for table in found.values() for entry in table)
    return found


def became(change: dict[str, Any]) -> list[str]:
    assert all(bool(one["sql"]) == (one["how"] == "sql") for one in change["targets"])
    return [f"{one['how']}: {one['what']}" for one in change["targets"]]


def test_renames_drops_loads_and_what_is_left_stand_in_the_history(make: Make) -> None:
    replica = make(
        "CREATE TABLE t (id int PRIMARY KEY, a int, b text)",
        "INSERT INTO t VALUES (1, 2, 'x')",
        "CREATE TABLE gone (id int PRIMARY KEY)",
        "CREATE TABLE u (id int PRIMARY KEY)",
    )
    replica.settle()
    replica.at_source(
        "ALTER TABLE t RENAME COLUMN a TO c",
        "ALTER TABLE t DROP COLUMN b",
        "DROP TABLE gone",
        "ALTER TABLE u RENAME TO v",
        "CREATE TABLE n (id int PRIMARY KEY)",
    )
    replica.replicate()
    replica.at_source("ALTER TABLE t ALTER COLUMN c TYPE text USING c || 'y'", "ALTER TABLE t ADD COLUMN d int")
    replica.replicate()
    found = histories(replica)
    loaded = "load: column c: the source computed new values with a USING clause, which are not in the log"
    assert found["public.t"] == [
        ("ALTER TABLE t RENAME COLUMN a TO c", ["sql: rename_column a -> c"]),
        ("ALTER TABLE t DROP COLUMN b", ["sql: drop_column b"]),
        ("ALTER TABLE t ALTER COLUMN c TYPE text USING c || 'y'", [loaded]),
        ("ALTER TABLE t ADD COLUMN d int", [loaded]),
    ]
    assert found["public.gone"] == [("DROP TABLE gone", ["unchanged: public.gone stays at the target with its rows"])]
    assert found["public.v"] == [("ALTER TABLE u RENAME TO v", ["sql: rename_table public.u -> public.v"])]
    assert found["public.n"] == [("CREATE TABLE n (id int PRIMARY KEY)", ["sql: create_table public.n"])]


def test_a_table_that_goes_from_the_target_too_says_so(make: Make) -> None:
    drops = [{"add_table_pattern": "*", "on_drop_table": "DROP_FROM_CHANNEL_AND_TARGET"}]
    replica = make("CREATE TABLE gone (id int PRIMARY KEY)", adapt_ddl=drops)
    replica.settle()
    replica.at_source("DROP TABLE gone")
    replica.replicate()
    assert histories(replica)["public.gone"] == [("DROP TABLE gone", ["sql: drop_table public.gone"])]


def test_a_step_is_told_with_its_sql(make: Make) -> None:
    """As it ran at the target, under the table's name there; a password in it is not shown."""
    replica = make(
        "CREATE TABLE t (id int PRIMARY KEY, a int)", table_properties=[{"tables": "t", "name": "at_target"}]
    )
    replica.settle()
    replica.at_source(
        "ALTER TABLE t RENAME COLUMN a TO c",
        "ALTER TABLE t ADD COLUMN p text DEFAULT 'postgresql://app:geheim@db/shop'",
    )
    replica.replicate()
    with Repository.open(load_channel(replica.file).repository) as repository:
        ((table_id, _),) = {one.table_id: one for one in repository.revisions("shop")}.items()
        told = table_history(repository, "shop", table_id)
    ran = [one["sql"] for entry in told["revisions"][1:] for one in entry["targets"]]
    assert ran[0] == 'ALTER TABLE "public"."at_target" RENAME COLUMN "a" TO "c"'
    assert ran[1].startswith('ALTER TABLE "public"."at_target" ADD COLUMN "p" text DEFAULT') and "geheim" not in str(
        ran
    )


def test_a_change_that_a_policy_leaves_out_says_why(make: Make) -> None:
    leaves = [{"add_table_pattern": "*", "on_enroll_break": "WARNING"}]
    replica = make("CREATE TABLE t (id int PRIMARY KEY, v text)", "INSERT INTO t VALUES (1, '1')", adapt_ddl=leaves)
    replica.settle()
    replica.at_source("ALTER TABLE t ALTER v TYPE int USING v::int + 0")
    replica.replicate()
    ((_, became),) = histories(replica)["public.t"]
    assert any("may differ" in one for one in became)


@pytest.mark.parametrize(
    ("policy", "said"),
    [("DROP_FROM_CHANNEL_ONLY", "stays with its rows"), ("DROP_FROM_CHANNEL_AND_TARGET", "is dropped with its rows")],
)
def test_who_is_asked_about_a_dropped_table_reads_what_becomes_of_the_target_s(
    make: Make, policy: str, said: str
) -> None:
    actions = [{"add_table_pattern": "*", "on_drop_table": policy}]
    replica = make("CREATE TABLE gone (id int PRIMARY KEY)", adapt_ddl=actions, ask_before=["drop_table"])
    replica.settle()
    replica.at_source("DROP TABLE gone")
    with pytest.raises(ControlStop, match=f"the target's table {said}"):
        replica.replicate()
    (held,) = flow.held_controls(load_channel(replica.file))
    assert f"the target's table {said}" in held.control.reason
