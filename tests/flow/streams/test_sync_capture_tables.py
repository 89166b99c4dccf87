"""The triggers of a synchronous capture follow the rules and the tables: DDL, partitions, names, rights, removal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import RuleError, SourceError
from airflow_ddlrepl.ports.work import InProcess
from tests.conftest import Databases
from tests.flow.streams.sync_capturing import Call, Capturing, rule
from tests.support.replica import BOTH, channel_file

OF_OURS = """
SELECT 'relation', relname::text FROM pg_class WHERE relnamespace = to_regnamespace('ddlrepl') AND relkind = 'r'
UNION ALL SELECT 'function', proname FROM pg_proc WHERE pronamespace = to_regnamespace('ddlrepl')
UNION ALL SELECT 'trigger', tgrelid::regclass || ' ' || tgname FROM pg_trigger WHERE NOT tgisinternal
UNION ALL SELECT 'schema', nspname FROM pg_namespace WHERE nspname = 'ddlrepl'
"""


@pytest.fixture
def captures(databases: Databases, tmp_path: Path) -> Capturing:
    found = Capturing(databases.source, tmp_path, [rule()])
    found.at_source("CREATE SCHEMA hr", "CREATE TABLE hr.t (k int PRIMARY KEY, v text)", "CREATE TABLE hr.u (k int)")
    return found


def captured(of: Capturing) -> list[tuple[str, Any]]:
    of.capture()
    return [(f"{one.owner}.{one.name}", one.new or one.old) for one in of.lcrs()]


@BOTH
def test_a_second_preparation_changes_nothing_and_removal_leaves_nothing(captures: Capturing) -> None:
    assert captures.capture().changes != ()
    versions = "SELECT xmin, oid FROM pg_proc UNION ALL SELECT xmin, oid FROM pg_trigger ORDER BY 2"
    before = captures.rows(versions)
    assert captures.capture().changes == ()
    assert captures.rows(versions) == before
    captures.at_source("INSERT INTO hr.t VALUES (1)")
    assert captures.remove()[2:] == ("1 captured changes that no run has read", "table ddlrepl.captured_lcrs")
    assert captures.rows(OF_OURS) == []
    assert captures.remove() == ()


def test_a_client_that_is_removed_and_comes_back_goes_on_behind_its_feed(captures: Capturing) -> None:
    captures.capture()
    captures.at_source("INSERT INTO hr.t VALUES (1)")
    captures.capture()
    captures.capture(
        {"add_table_rules": {"table_name": "hr.u", "streams_type": "sync_capture", "streams_name": "other"}}
    )
    assert captures.rows("SELECT client FROM ddlrepl.captured_windows") == [("other",)]
    captures.at_source("INSERT INTO hr.t VALUES (2)")
    captures.capture(rule())
    captures.at_source("INSERT INTO hr.t VALUES (3)")
    assert captured(captures) == [("hr.t", {"k": k, "v": None}) for k in "13"]


def test_deactivation_removes_synchronous_captures(captures: Capturing) -> None:
    captures.capture()
    with captures.clients() as clients:
        flow.deactivate(clients.run)
    assert captures.rows(OF_OURS) == []


def test_triggers_follow_the_rules(captures: Capturing) -> None:
    captures.capture(rule(), rule("hr.u", "u"))
    assert captures.capture(rule("hr.u", "u")).changes[1:] == ("table hr.t: no longer captured",)
    captures.at_source("INSERT INTO hr.t VALUES (1)", "INSERT INTO hr.u VALUES (2)")
    assert captured(captures) == [("hr.u", {"k": "2"})]


def test_a_table_that_comes_later_is_captured_from_the_next_run_on(captures: Capturing) -> None:
    assert captures.capture(rule("hr.later")).missing == ("hr.later",)
    captures.at_source("CREATE TABLE hr.later (k int)", "INSERT INTO hr.later VALUES (1)")
    assert captures.capture().changes[-1] == "table hr.later: captured"
    captures.at_source("INSERT INTO hr.later VALUES (2)")
    assert captured(captures) == [("hr.later", {"k": "2"})]


def test_ddl_ends_no_statement_and_hides_no_column(captures: Capturing) -> None:
    captures.capture(rule(and_condition=":lcr.get_value('NEW','\"v\"').AccessVarchar2() = 'x' OR 1 = 1"))
    captures.at_source(
        "INSERT INTO hr.t VALUES (1, 'a')",
        "ALTER TABLE hr.t ADD w int DEFAULT 7; INSERT INTO hr.t VALUES (2, 'b')",
        'ALTER TABLE hr.t DROP v; INSERT INTO hr.t VALUES (3); ALTER TABLE hr.t RENAME w TO "W \'w"',
        "INSERT INTO hr.t VALUES (4)",
        'ALTER TABLE hr.t ALTER "W \'w" TYPE text; ALTER TABLE hr.t DROP CONSTRAINT t_pkey',
        "INSERT INTO hr.t VALUES (5, 'five')",
        'ALTER TABLE hr.t DROP k, DROP "W \'w"; INSERT INTO hr.t DEFAULT VALUES',
    )
    assert captured(captures) == [
        ("hr.t", {"k": "1", "v": "a"}),
        ("hr.t", {"k": "2", "v": "b", "w": "7"}),
        ("hr.t", {"k": "3", "w": "7"}),
        ("hr.t", {"k": "4", "W 'w": "7"}),
        ("hr.t", {"k": "5", "W 'w": "five"}),
        ("hr.t", {}),
    ]
    files = list(captures.trail.segments(0)[0].files())
    types = [[(one.name, one.type_id, one.is_key) for one in file.columns] for file in files]
    assert types[0] == [("k", 23, True), ("v", 25, False)]
    assert types[4] == [("k", 23, False), ("W 'w", 25, False)]


def test_a_table_is_known_by_its_name_when_it_is_changed(captures: Capturing) -> None:
    captures.capture(rule(), rule("hr.u", "u"))
    captures.at_source(
        "ALTER TABLE hr.t RENAME TO other; INSERT INTO hr.other VALUES (1)",
        "ALTER TABLE hr.other RENAME TO t; INSERT INTO hr.t VALUES (2)",
        "DROP TABLE hr.u; ALTER TABLE hr.t RENAME TO u; INSERT INTO hr.u VALUES (3)",
    )
    with pytest.raises(SourceError, match=r"SRC-193.*hr\.u between .*another table has its name"):
        captures.capture()
    found = [(one.name, one.new) for one in captures.lcrs()]
    assert found == [("t", {"k": "2", "v": None}), ("u", {"k": "3", "v": None})]


@BOTH
def test_rows_of_partitions_are_rows_of_the_table_that_the_rule_names(captures: Capturing) -> None:
    captures.at_source(
        "CREATE TABLE hr.p (k int, day int, v text) PARTITION BY LIST (day)",
        "CREATE TABLE hr.p1 PARTITION OF hr.p FOR VALUES IN (1)",
        "CREATE TABLE hr.p2 (v text, gone int, day int, k int)",
        "ALTER TABLE hr.p2 DROP gone",
        "ALTER TABLE hr.p ATTACH PARTITION hr.p2 FOR VALUES IN (2)",
    )
    captures.capture(rule("hr.p"))
    captures.at_source(
        "CREATE TABLE hr.p3 PARTITION OF hr.p FOR VALUES IN (3)",
        "INSERT INTO hr.p VALUES (1, 1, 'a'), (2, 2, 'b'), (3, 3, 'c')",
        "INSERT INTO hr.p2 VALUES ('d', 2, 4)",
        "UPDATE hr.p SET day = 2 WHERE k = 1",
    )
    captures.capture()
    assert [(one.name, one.command.value, (one.new or one.old)["k"]) for one in captures.lcrs()] == [
        *(("p", "INSERT", k) for k in "1234"),
        ("p", "DELETE", "1"),
        ("p", "INSERT", "1"),
    ]
    captures.at_source("TRUNCATE hr.p2")
    assert captures.capture().truncated == ("hr.p",)


def test_rules_for_a_partition_of_a_ruled_table_are_refused(captures: Capturing) -> None:
    captures.at_source(
        "CREATE TABLE hr.p (k int) PARTITION BY LIST (k)", "CREATE TABLE hr.p1 PARTITION OF hr.p FOR VALUES IN (1)"
    )
    with pytest.raises(SourceError, match=r"hr\.p1 is a partition of hr\.p") as refused:
        captures.capture(rule("hr.p"), rule("hr.p1", "p1"))
    assert refused.value.code == "SRC-190"


def test_what_has_no_row_triggers_is_refused(captures: Capturing) -> None:
    captures.at_source("CREATE VIEW hr.v AS SELECT * FROM hr.t")
    with pytest.raises(SourceError) as refused:
        captures.capture(rule("hr.v"))
    assert refused.value.code == "SRC-190"


@pytest.mark.parametrize(
    ("calls", "code"),
    [
        (
            [
                {"create_rule_set": {"rule_set_name": "s"}},
                {"create_rule": {"rule_name": "all", "condition": ":dml.get_command_type() = 'INSERT'"}},
                {"add_rule": {"rule_name": "all", "rule_set_name": "s"}},
                {"create_sync_capture": {"capture_name": "sync", "rule_set_name": "s"}},
            ],
            "RUL-150",
        ),
        ([rule(and_condition=":lcr.get_scn() > 5")], "RUL-151"),
    ],
)
def test_rules_that_triggers_can_t_have_are_refused_by_name(captures: Capturing, calls: list[Call], code: str) -> None:
    with pytest.raises(RuleError, match=r"rule (all|r) ") as refused:
        captures.capture(*calls)
    assert refused.value.code == code
    assert captures.rows(OF_OURS) == []


def test_triggers_that_somebody_disabled_fire_again(captures: Capturing) -> None:
    captures.capture()
    captures.at_source("ALTER TABLE hr.t DISABLE TRIGGER ALL", "ALTER TABLE hr.t ENABLE TRIGGER ALL")
    with pytest.raises(SourceError, match=r"SRC-193.*hr\.t between"):
        captures.capture()
    captures.at_source("SET session_replication_role = replica; INSERT INTO hr.t VALUES (1)")
    with pytest.raises(SourceError, match=r"SRC-193.*hr\.t between"):
        captures.capture()
    assert [one.new["k"] for one in captures.lcrs()] == ["1"]


def test_a_locked_table_is_named_and_the_run_can_be_repeated(captures: Capturing) -> None:
    with psycopg.connect(captures.source) as writer:
        writer.execute("INSERT INTO hr.t VALUES (1)")
        with pytest.raises(SourceError) as refused:
            captures.capture()
    assert (refused.value.code, refused.value.table, refused.value.retryable) == ("SRC-191", "hr.t", True)
    assert captures.capture().changes == ("table hr.t: captured",)


def test_a_role_without_the_right_to_make_triggers_is_told_so(captures: Capturing) -> None:
    role = f"poor_{captures.source[-8:]}"
    captures.at_source(f"CREATE ROLE {role} LOGIN PASSWORD 'x'")
    rich = captures.source
    captures.source = rich.replace(rich.split("//")[1].split("@")[0], f"{role}:x")
    try:
        with pytest.raises(SourceError) as refused:
            captures.capture()
        assert refused.value.code == "SRC-105"
    finally:
        captures.source = rich
        captures.at_source(f"DROP ROLE {role}")


def test_an_owner_without_more_rights_captures_and_is_told_of_what_triggers_can_t_see(captures: Capturing) -> None:
    role, rich = f"owner_{captures.source[-8:]}", captures.source
    captures.at_source(
        f"CREATE ROLE {role} LOGIN PASSWORD 'x'",
        f"ALTER SCHEMA hr OWNER TO {role}; ALTER TABLE hr.t OWNER TO {role}",
        f"GRANT CREATE ON DATABASE {rich.rpartition('/')[2]} TO {role}",
    )
    captures.source = rich.replace(rich.split("//")[1].split("@")[0], f"{role}:x")
    try:
        (warning,) = captures.capture().warnings
        assert f'TO "{role}"' in warning
        captures.at_source("INSERT INTO hr.t VALUES (1)")
        captures.source = rich
        captures.at_source("INSERT INTO hr.t VALUES (2)", warning[warning.index("GRANT") : warning.index(" lets")])
        captures.source = rich.replace(rich.split("//")[1].split("@")[0], f"{role}:x")
        assert captures.capture().warnings == ()
        assert [one["k"] for _, one in captured(captures)] == ["1", "2"]
        captures.remove()
    finally:
        captures.source = rich
        captures.at_source(f"DROP OWNED BY {role} CASCADE", f"DROP ROLE {role}")


VALUES = (
    ("numeric", "1.500"),
    ("float8", "0.1"),
    ("float8", "1e+20"),
    ("bool", "f"),
    ("char(5)", "a    "),
    ("bytea", "\\x00ff"),
    ("timestamptz", "2024-01-31 23:00:00.5+00"),
    ("date", "2024-01-31"),
    ("interval", "1 mon 2 days 03:04:05"),
    ("int[]", "{1,NULL,3}"),
    ("text[]", '{"a b",NULL,"NULL"}'),
    ("jsonb", '{"a": 1.50}'),
    ("json", '{"a":1.50,  "a":2}'),
    ("hr.pair", '(1,"a ""b""")'),
    ("hr.pair", "(,)"),
    ("hr.mood", "so so"),
    ("hr.whole", "7"),
    ("text", ""),
    ("text", None),
    ("money", "$1.00"),
)


def test_values_are_the_servers_own_texts_whatever_the_session_says(captures: Capturing) -> None:
    columns = ", ".join(f"c{number} {kind}" for number, (kind, _) in enumerate(VALUES))
    captures.at_source(
        "CREATE TYPE hr.pair AS (a int, b text)",
        "CREATE TYPE hr.mood AS ENUM ('so so')",
        "CREATE DOMAIN hr.whole AS int CHECK (VALUE > 0)",
        f"CREATE TABLE hr.all ({columns}, twice int GENERATED ALWAYS AS (c16 * 2) STORED)",
    )
    captures.capture(rule("hr.all"))
    with psycopg.connect(captures.source) as connection:
        connection.execute("SET DateStyle = 'German, DMY'; SET TimeZone = 'Asia/Tokyo'; SET bytea_output = escape")
        connection.execute("SET extra_float_digits = -5; SET IntervalStyle = iso_8601")
        places = ", ".join(f"%s::text::{kind}" for kind, _ in VALUES)
        texts = [text for _, text in VALUES]
        texts[7] = "31.01.2024"
        texts[6] = "2024-02-01 08:00:00.5+09"
        connection.execute(f"INSERT INTO hr.all VALUES ({places})".encode(), texts)
    captures.capture()
    (lcr,) = captures.lcrs()
    assert list(lcr.new.values()) == [text for _, text in VALUES]


def test_the_log_of_the_same_database_is_captured_beside_it(captures: Capturing, tmp_path: Path) -> None:
    """Triggers and their functions are nobody's DDL, and the channel of the log can be deactivated first."""
    folder = tmp_path / "log"
    folder.mkdir()
    file = channel_file(folder, captures.source, captures.source, source={"tables": ["hr.t"]}, targets=[
        {"name": "warehouse", "location": captures.source, "schemas": {"hr": "copy"}}
    ])  # fmt: skip
    file.write_text(file.read_text().replace("channel: shop", "channel: logged"))
    with flow.open_channel(file, InProcess()) as context:
        flow.activate(context)
    captures.capture()
    captures.at_source("INSERT INTO hr.t VALUES (1)")
    with flow.open_channel(file, InProcess()) as context:
        found = flow.capture(context)
        assert (found.rows, found.ddl) == (1, {})
        flow.deactivate(context)
    captures.at_source("INSERT INTO hr.t VALUES (2)")
    assert [one["k"] for _, one in captured(captures)] == ["1", "2"]
