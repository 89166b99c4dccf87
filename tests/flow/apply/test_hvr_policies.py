"""HVR's policies, one by one: what each value does to a target, and on which side it acts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.config.file.warnings import warnings
from airflow_ddlrepl.errors import Exit, TargetError
from airflow_ddlrepl.ports.work import InProcess
from tests.support.refusing import in_shell, refused
from tests.support.replayable import past_at, read
from tests.support.replica import Replica, channel_file, may_differ

NEW = {"add_table_pattern": "*"}
OTHER_VALUES = "ALTER TABLE t ALTER v TYPE int USING v::int + 1"
WITH_DEFAULT = "ALTER TABLE t ADD c int NOT NULL DEFAULT 7"
Begin = Callable[..., Replica]


@pytest.fixture
def begin(databases: Any, tmp_path: Path) -> Begin:
    """An active channel with HVR's defaults and these actions at the source and at the targets."""

    def make(
        *statements: str,
        target: Any = None,
        source: Any = None,
        defaults: str = "hvr",
        second: str = "",
        at_second: Any = None,
    ) -> Replica:
        places = [{"name": "warehouse", "location": databases.target, "adapt_ddl": [target or {"table": "*"}]}]
        actions = {"adapt_ddl": [at_second]} if at_second else {}
        places += [{"name": "second", "location": second, **actions}] if second else []
        at_source = {"location": databases.source, "tables": ["*.*"], "adapt_ddl": [{**NEW, **(source or {})}]}
        file = channel_file(
            tmp_path,
            databases.source,
            databases.target,
            source=at_source,
            targets=places,
            adapt_ddl=[],
            defaults=defaults,
        )
        made = Replica(databases.source, databases.target, file)
        made.at_source(
            *(statements or ("CREATE TABLE t (id int PRIMARY KEY, v text)", "INSERT INTO t VALUES (1, '1'), (2, '2')"))
        )
        made.activate()
        return made

    return make


@pytest.mark.req("HVR-P-39", "HVR-P-41")
def test_a_warning_instead_of_a_refresh_but_for_a_new_table(begin: Begin) -> None:
    replica = begin(target={"on_enroll_break": "WARNING"})
    replica.at_source(OTHER_VALUES, "INSERT INTO t VALUES (3, 3)", "CREATE TABLE born AS SELECT * FROM t")
    told = replica.replicate()
    assert told.refresh.tables == {"public.born": 3}
    assert [w for w in told.adapt.warnings if "rows at the target may differ" in w and w.startswith("public.t: ")]
    assert replica.rows("SELECT id, v FROM t ORDER BY 1") == [(1, 1), (2, 2), (3, 3)]
    assert replica.compare().differences == 2


@pytest.mark.req("HVR-D-100")
def test_a_warning_instead_of_every_refresh_of_an_existing_table(begin: Begin) -> None:
    """Each of these changes is a refresh with HVR's defaults; with WARNING the target's layout alone follows."""
    replica = begin(
        "CREATE TABLE t (id int PRIMARY KEY, v varchar(12), o int, w text)",
        "CREATE TABLE k (id int, gone int)",
        "CREATE TABLE again (id int PRIMARY KEY)",
        "INSERT INTO t VALUES (1, 'one', 1, 'x')",
        "INSERT INTO k VALUES (1, 1)",
        target={"on_enroll_break": "WARNING"},
    )
    changes = ("ALTER v TYPE varchar(5)", "ALTER o TYPE text", "RENAME w TO renamed")
    replica.at_source(
        *(f"ALTER TABLE t {change}" for change in changes),
        "ALTER TABLE k ADD n int",
        "ALTER TABLE k DROP gone",
        "DROP TABLE again",
        "CREATE TABLE again (id int PRIMARY KEY, v int)",
        "INSERT INTO again VALUES (1, 1)",
    )
    assert replica.replicate().refresh.tables == {}
    assert replica.rows("SELECT to_jsonb(t) FROM t") == [({"id": 1, "v": "one", "o": "1", "renamed": "x"},)]
    assert replica.rows("SELECT to_jsonb(k) FROM k") == [({"id": 1, "n": None},)]
    assert replica.rows("SELECT to_jsonb(again) FROM again") == [({"id": 1, "v": 1},)]


@pytest.mark.req("HVR-P-40")
@pytest.mark.parametrize(
    ("policy", "change"), [("on_enroll_break", OTHER_VALUES), ("on_add_column_with_default", WITH_DEFAULT)]
)
def test_what_a_warning_has_left_is_marked_until_a_refresh(begin: Begin, policy: str, change: str) -> None:
    replica = begin(target={policy: "WARNING"})
    replica.at_source("INSERT INTO t VALUES (3, '3')", change)
    assert any("rows at the target may differ from the source" in told for told in replica.replicate().adapt.warnings)
    assert replica.compare().differences == 3
    (told,) = may_differ(replica)
    assert f": {policy}=WARNING: " in told and told.startswith("since ")
    replica.at_source("DELETE FROM t WHERE id = 3")
    replica.replicate()
    assert may_differ(replica) == [told]
    replica.refresh("public.t")
    assert may_differ(replica) == [] and replica.compare().differences == 0


@pytest.mark.req("HVR-P-42", "HVR-P-50")
@pytest.mark.parametrize(
    ("said", "change"),
    [
        ({"on_enroll_break": "WARNING"}, OTHER_VALUES),
        ({"on_enroll_break": "FAIL_INTEG_JOB"}, OTHER_VALUES),
        ({"on_add_column_with_default": "FAIL_INTEG_JOB"}, "ALTER TABLE t ADD c int NOT NULL DEFAULT 0"),
    ],
)
def test_at_the_source_a_targets_policy_is_a_warning(begin: Begin, said: dict[str, str], change: str) -> None:
    replica = begin(source=said)
    (key,) = said
    assert any(f"{key} does nothing at the source" in told for told in warnings(load_channel(replica.file)))
    replica.at_source(change)
    told = replica.settle()
    assert told.refresh.tables == ({"public.t": 2} if key == "on_enroll_break" else {})


@pytest.mark.req("HVR-P-43")
def test_a_default_is_refreshed_where_only_that_is_asked_for(begin: Begin) -> None:
    replica = begin(target={"on_enroll_break": "WARNING", "on_add_column_with_default": "REFRESH"})
    replica.at_source(WITH_DEFAULT)
    assert replica.settle().refresh.tables == {"public.t": 2}
    assert replica.rows("SELECT c FROM t") == [(7,), (7,)]


@pytest.mark.req("HVR-P-45", "HVR-P-47", "HVR-P-49", "HVR-D-27", "HVR-D-28", "HVR-D-29")
@pytest.mark.parametrize("policy", [None, "ADD_COLUMN_WITH_EMPTY_DEFAULT", "REFRESH", "FAIL_INTEG_JOB", "WARNING"])
def test_a_column_with_a_default(begin: Begin, policy: str | None) -> None:
    replica = begin(target={"on_add_column_with_default": policy} if policy else None)
    replica.at_source("INSERT INTO t VALUES (3, '3')", WITH_DEFAULT, "INSERT INTO t VALUES (4, '4')")
    if policy == "FAIL_INTEG_JOB":
        refused(replica, "replicate", "CTL-101", Exit.CONTROL)
        assert replica.rows("SELECT id FROM t ORDER BY 1") == [(1,), (2,), (3,)]
        return
    told = replica.replicate()
    new = [w for w in told.adapt.warnings if "the existing rows got a value" in w]
    assert len(new) == (1 if policy == "WARNING" else 0)
    assert told.refresh.tables == ({"public.t": 4} if policy == "REFRESH" else {})
    old = 7 if policy == "REFRESH" else 0
    assert replica.rows("SELECT c FROM t ORDER BY id") == [(old,), (old,), (old,), (7,)]
    if policy != "REFRESH":
        default = "SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 't'::regclass"
        assert replica.rows(default) == [("0",)]


@pytest.mark.req("HVR-P-46")
def test_the_rows_that_stand_get_the_empty_value_of_their_type(begin: Begin) -> None:
    replica = begin()
    columns = "ADD n int NOT NULL DEFAULT 7, ADD w text NOT NULL DEFAULT 'seven', ADD o int DEFAULT 7"
    replica.at_source(f"ALTER TABLE t {columns}", "INSERT INTO t VALUES (3, '3')")
    assert replica.replicate().refresh.tables == {}
    rows = replica.rows("SELECT n, w, o FROM t ORDER BY id")
    assert rows == [(0, "", None), (0, "", None), (7, "seven", 7)]


@pytest.mark.req("HVR-P-48")
def test_a_column_with_a_default_waits_for_a_person(begin: Begin, capsys: pytest.CaptureFixture[str]) -> None:
    """Run after run, until the control is removed."""
    replica = begin(target={"on_add_column_with_default": "FAIL_INTEG_JOB"})
    replica.at_source("INSERT INTO t VALUES (3, '3')", WITH_DEFAULT, "INSERT INTO t VALUES (4, '4')")
    for _ in range(2):
        refused(replica, "replicate", "CTL-101", Exit.CONTROL)
        assert replica.rows("SELECT id FROM t ORDER BY 1") == [(1,), (2,), (3,)]
    assert in_shell(capsys, "controls", "remove", str(replica.file), "1")[0] == Exit.DONE
    replica.replicate()
    assert replica.rows("SELECT id, c FROM t WHERE id > 2 ORDER BY 1") == [(3, 0), (4, 7)]


@pytest.mark.req("HVR-P-44")
def test_policies_may_differ_per_target(begin: Begin, databases: Any) -> None:
    second = databases._create("second")
    warns = {"on_enroll_break": "WARNING"}
    replica = begin(target={"on_enroll_break": "REFRESH"}, second=second, at_second=warns)
    replica.at_source(OTHER_VALUES)
    told = replica.replicate()
    assert told.refresh.tables == {"public.t": 2}
    assert replica.rows("SELECT id, v FROM t ORDER BY 1") == [(1, 2), (2, 3)]
    other = Replica(replica.source, second, replica.file)
    assert other.rows("SELECT id, v FROM t ORDER BY 1") == [(1, 1), (2, 2)]


@pytest.mark.req("HVR-O-11")
def test_a_table_without_a_key_is_refreshed_for_a_column_that_comes_or_goes(begin: Begin) -> None:
    replica = begin("CREATE TABLE t (id int, gone int)", "INSERT INTO t VALUES (1, 1)")
    replica.at_source("ALTER TABLE t ADD n int", "INSERT INTO t VALUES (2, 2, 2)")
    assert replica.settle().refresh.tables == {"public.t": 2}
    replica.at_source("ALTER TABLE t DROP gone", "INSERT INTO t VALUES (3, 3)")
    assert replica.settle().refresh.tables == {"public.t": 3}


@pytest.mark.req("HVR-P-93")
def test_a_table_is_dropped_where_the_target_follows(begin: Begin, databases: Any) -> None:
    second = databases._create("second")
    replica = begin(source={**NEW, "on_drop_table": "DROP_FROM_CHANNEL_AND_TARGET"}, second=second)
    replica.at_source("DROP TABLE t", "CREATE TABLE other (id int PRIMARY KEY)")
    replica.replicate()
    assert replica.rows("SELECT to_regclass('t')") == [(None,)]
    stays = Replica(replica.source, second, replica.file)
    assert stays.rows("SELECT id FROM t ORDER BY 1") == [(1,), (2,)]


@pytest.mark.req("HVR-D-56")
def test_a_renamed_column_is_refreshed(begin: Begin) -> None:
    replica = begin()
    replica.at_source("ALTER TABLE t RENAME v TO w", "INSERT INTO t VALUES (3, '3')")
    assert replica.settle().refresh.tables == {"public.t": 3}
    assert replica.rows("SELECT w FROM t ORDER BY id") == [("1",), ("2",), ("3",)]


@pytest.mark.req("HVR-D-43", "HVR-D-34")
@pytest.mark.parametrize("keeps", [False, True])
def test_a_column_made_smaller_is_refreshed(begin: Begin, keeps: bool) -> None:
    target = {"keep_existing_structure": True} if keeps else None
    replica = begin("CREATE TABLE t (id int PRIMARY KEY, v varchar(12), gone int)", target=target)
    replica.at_source("INSERT INTO t VALUES (1, 'one', 1)", "ALTER TABLE t ALTER v TYPE varchar(5)")
    assert replica.replicate().refresh.tables == {"public.t": 1}
    width = "SELECT atttypmod - 4 FROM pg_attribute WHERE attrelid = 't'::regclass AND attname = 'v'"
    assert replica.rows(width) == [(12 if keeps else 5,)]
    replica.at_source("ALTER TABLE t DROP gone", "INSERT INTO t VALUES (2, 'two')")
    assert replica.replicate().refresh.tables == {}
    names = replica.rows("SELECT jsonb_object_keys(to_jsonb(t)) FROM t WHERE id = 2 ORDER BY 1")
    assert names == ([("gone",), ("id",), ("v",)] if keeps else [("id",), ("v",)])


@pytest.mark.req("HVR-D-39")
@pytest.mark.parametrize("policy", ["fail", "truncate", "null"])
def test_a_long_value_where_the_target_does_not_become_wider(
    databases: Any, tmp_path: Path, past: str, policy: str
) -> None:
    """Without AdaptDDL at the target: it is refused, cut or NULL, by the log, a refresh and a rewind alike."""
    file = channel_file(
        tmp_path,
        databases.source,
        databases.target,
        defaults="hvr",
        adapt_ddl=[],
        target_tables=[{"tables": "t", "coerce_error_policy": policy}],
        **past_at(past),
    )
    replica = Replica(databases.source, databases.target, file)
    table = "(id int PRIMARY KEY, v varchar(5) DEFAULT 'none', w varchar(5))"
    replica.at_source(f"CREATE TABLE t {table}", "INSERT INTO t VALUES (1, 'one')")
    replica.activate()
    replica.at_source("ALTER TABLE t ALTER v TYPE varchar(12)", "INSERT INTO t VALUES (2, 'ten letter')")
    found = "SELECT id, v FROM t ORDER BY id"
    if policy == "fail":
        with pytest.raises(TargetError, match="INT-105: the target refuses rows: value too long"):
            replica.replicate()
        assert replica.rows(found) == [(1, "one")]
        return
    replica.replicate()
    is_cut = policy == "truncate"
    assert replica.rows(found) == [(1, "one"), (2, "ten l" if is_cut else None)]
    replica.at_source("UPDATE t SET v = 'eleven char'")
    replica.replicate()
    with flow.open_channel(replica.file, InProcess()) as run:
        before = str(run.captured())
    replica.rewind(before)
    cut = [(1, "eleve"), (2, "eleve")] if is_cut else [(1, None), (2, None)]
    assert replica.rows(found) == read(past, found) == cut
    replica.refresh("public.t")
    assert replica.rows(found) == cut
    (report,) = replica.compare().tables
    assert (report.different, report.structure) == (
        0, ("column v has type character varying(5), at the source character varying(12)",)
    )  # fmt: skip


@pytest.mark.req("HVR-D-32", "HVR-D-65")
@pytest.mark.parametrize(
    "statements",
    [
        ("ALTER TABLE t DROP a", "INSERT INTO t VALUES (2, 2)"),
        ("ALTER TABLE t DROP id, ADD PRIMARY KEY (a)", "INSERT INTO t VALUES (2, 2)"),
        ("ALTER TABLE t DROP CONSTRAINT t_pkey, ADD PRIMARY KEY (id, a)", "INSERT INTO t VALUES (1, 2, 2)"),
    ],
    ids=["dropped", "dropped key", "key"],
)
def test_a_target_that_does_not_follow_refuses_what_no_longer_fits(
    databases: Any, tmp_path: Path, statements: tuple[str, ...]
) -> None:
    """Of a mandatory column, or of a key that has become wider; nothing is written then."""
    file = channel_file(tmp_path, databases.source, databases.target, defaults="hvr", adapt_ddl=[])
    replica = Replica(databases.source, databases.target, file)
    replica.at_source("CREATE TABLE t (id int PRIMARY KEY, a int NOT NULL, n int)", "INSERT INTO t VALUES (1, 1, 1)")
    replica.activate()
    replica.at_source(*statements)
    with pytest.raises(TargetError) as caught:
        replica.replicate()
    assert caught.value.code.startswith("INT-") and caught.value.table == "public.t", caught.value
    assert replica.rows("SELECT id, a, n FROM t") == [(1, 1, 1)]


@pytest.mark.req("HVR-D-66", "HVR-D-67")
def test_one_replication_key_at_the_target(begin: Begin) -> None:
    """The primary key before unique indexes, of these one whose columns can't be NULL; the others don't come along."""
    indexes = "SELECT indexdef FROM pg_indexes WHERE tablename = 't' ORDER BY 1"
    replica = begin(
        "CREATE TABLE t (id int PRIMARY KEY, u int NOT NULL UNIQUE, n int UNIQUE)",
        "INSERT INTO t VALUES (1, 1, 1)",
        defaults="own",
    )
    (found,) = replica.rows(indexes)
    assert found[0].endswith("USING btree (id)")
    replica.at_source("CREATE INDEX ON t (n, u)", "UPDATE t SET n = 2")
    told = replica.settle()
    assert (told.adapt.changes, told.refresh.tables, replica.rows(indexes)) == ({}, {}, [found])
    replica.at_source("ALTER TABLE t DROP CONSTRAINT t_pkey", "UPDATE t SET n = 3")
    assert replica.settle().refresh.tables == {}
    (found,) = replica.rows(indexes)
    assert found[0].endswith("USING btree (u)") and "UNIQUE" in found[0]
    replica.at_source("ALTER TABLE t DROP CONSTRAINT t_u_key", "UPDATE t SET n = 4")
    replica.settle()
    assert replica.rows(indexes) == []


@pytest.mark.req("HVR-D-13")
@pytest.mark.parametrize("follows", [False, True])
def test_a_table_that_is_made_and_dropped_at_once(databases: Any, tmp_path: Path, follows: bool) -> None:
    drops = {**NEW, "on_drop_table": "DROP_FROM_CHANNEL_AND_TARGET"}
    actions = [drops] if follows else []
    file = channel_file(tmp_path, databases.source, databases.target, defaults="hvr", adapt_ddl=actions)
    replica = Replica(databases.source, databases.target, file)
    replica.at_source("CREATE TABLE t (id int PRIMARY KEY)")
    replica.activate()
    replica.at_source("CREATE TABLE short (id int PRIMARY KEY)", "INSERT INTO short VALUES (1)", "DROP TABLE short")
    told = replica.settle()
    expected = {"create_table": 1, "drop_table": 1} if follows else {}
    assert {k: told.adapt.changes.get(k, 0) for k in expected} == expected
    assert replica.rows("SELECT to_regclass('short')") == [(None,)]


@pytest.mark.req("HVR-D-05")
def test_a_table_that_stands_at_the_target_already_is_made_to_fit(begin: Begin) -> None:
    replica = begin()
    replica.at_target("CREATE TABLE late (other text, id bigint)")
    replica.at_source("CREATE TABLE late (id int PRIMARY KEY, v text)", "INSERT INTO late VALUES (1, 'one')")
    replica.settle()
    assert replica.rows("SELECT to_jsonb(late) FROM late") == [({"id": 1, "v": "one"},)]


def row(replica: Replica) -> list[Any]:
    return [found for (found,) in replica.rows("SELECT to_jsonb(t) FROM t ORDER BY id")]


@pytest.mark.req("HVR-P-101", "HVR-P-102", "HVR-P-103")
@pytest.mark.parametrize("keeps", [(), ("keep_old_rows",), ("keep_old_rows", "keep_existing_structure")])
@pytest.mark.parametrize("again", [False, True], ids=["altered", "made again"])
def test_rows_that_the_source_does_not_have(begin: Begin, keeps: tuple[str, ...], again: bool) -> None:
    """They stay where that is wanted, in the new layout; so do the columns that the source has no more."""
    replica = begin(
        "CREATE TABLE t (id int PRIMARY KEY, v text, gone int)",
        "INSERT INTO t VALUES (1, '1', 1), (2, '2', 2)",
        target=dict.fromkeys(keeps, True),
    )
    replica.at_target("INSERT INTO t VALUES (7, '7', 7)")
    if again:
        replica.at_source("DROP TABLE t", "CREATE TABLE t (id int PRIMARY KEY, v int)", "INSERT INTO t VALUES (1, 10)")
    else:
        replica.at_source("ALTER TABLE t DROP gone", "ALTER TABLE t ALTER v TYPE int USING v::int * 10")
    told = replica.replicate()
    old = {"gone": 7} if len(keeps) == 2 else {}
    stay = [{"id": 7, "v": 7, **old}] if keeps else []
    if again and keeps:
        stay = [{"id": 2, "v": 2, **({"gone": 2} if old else {})}, *stay]
    found = row(replica)
    assert [one for one in found if one["id"] > 1 and (again or one["id"] > 2)] == stay
    assert found[0]["v"] == 10 and (again or found[1]["v"] == 20)
    assert set(told.refresh.tables) == (set() if again and not keeps else {"public.t"})
    assert bool(may_differ(replica)) is bool(keeps)
    replica.at_source("INSERT INTO t VALUES (3, 30)", "UPDATE t SET v = 11 WHERE id = 1")
    replica.replicate()
    assert [one["v"] for one in row(replica) if one["id"] in (1, 3)] == [11, 30]
