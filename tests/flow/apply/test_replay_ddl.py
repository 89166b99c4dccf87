"""`replay_ddl`: the text of the source's statements runs at the target, and what it made there is compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl.errors import CannotAdapt, Unsupported
from tests.conftest import Databases
from tests.support.replayable import HORIZON, captured, read
from tests.support.replica import Replica, channel_file, run

ENTRY = {"tables": ["public.*"]}
BESIDE = [{"add_table_pattern": "*", "capture_schema": "sales"}, {"table": "sales.*", "keep_existing_structure": True}]
T = (
    "CREATE TABLE t (id int PRIMARY KEY, a int, b text)",
    "INSERT INTO t SELECT n, n, 'b' || n FROM generate_series(1, 20) n",
)


def begin(databases: Databases, folder: Path, *statements: str, **more: Any) -> Replica:
    """A channel that replays everything in public, activated after these statements."""
    settings = {"replay_ddl": [ENTRY], "adapt_ddl": [], **more}
    replica = Replica(
        databases.source, databases.target, channel_file(folder, databases.source, databases.target, "stop", **settings)
    )
    replica.at_source(*statements)
    replica.activate()
    return replica


@pytest.fixture
def replica(databases: Databases, tmp_path: Path) -> Iterator[Replica]:
    """A table t with 20 rows."""
    yield begin(databases, tmp_path, *T)


def adapt(replica: Replica, *names: str, actions: Sequence[Any] = ()) -> None:
    """From now on these tables are adapted."""
    entry = {**ENTRY, "exclude": list(names)} if names else ENTRY
    channel_file(
        replica.file.parent, replica.source, replica.target, "stop", replay_ddl=[entry], adapt_ddl=list(actions)
    )


def refused(replica: Replica, code: str) -> str:
    """The next cycle ends so; why."""
    with pytest.raises(CannotAdapt) as caught:
        replica.replicate()
    assert caught.value.code == code, caught.value
    assert "exclude" in caught.value.hint
    return str(caught.value)


def test_plain_changes(replica: Replica) -> None:
    """Rows before and after each, in one cycle; nothing is loaded anew."""
    replica.at_source(
        "INSERT INTO t VALUES (21, 21, 'x')",
        "ALTER TABLE t ADD COLUMN c int DEFAULT 7, ADD CHECK (a < 1000)",
        "INSERT INTO t VALUES (22, 22, 'y')",
        "ALTER TABLE t RENAME COLUMN b TO bb",
        "UPDATE t SET bb = 'z', c = 8 WHERE id = 3",
        "ALTER TABLE t RENAME TO u",
        "INSERT INTO u VALUES (23, 23, 'w', 9)",
        "ALTER TABLE u DROP COLUMN c",
        "CREATE INDEX by_a ON u (a)",
        "DELETE FROM u WHERE id = 1",
    )
    told = replica.settle()
    assert told.refresh.tables == {}
    indexes = replica.rows("SELECT indexrelid::regclass::text FROM pg_index WHERE indrelid = 'u'::regclass ORDER BY 1")
    assert indexes == [("by_a",), ("t_pkey",)]
    assert replica.rows("SELECT count(*) FROM pg_constraint WHERE conrelid = 'u'::regclass AND contype = 'c'") == [(1,)]


def test_values_that_the_target_computes(replica: Replica) -> None:
    """Arithmetic comes out the same; a moment does not, and is put as the source has it."""
    replica.at_source(
        "ALTER TABLE t ALTER a TYPE bigint USING a * 2 + id",
        "ALTER TABLE t ADD made timestamptz DEFAULT now()",
        "INSERT INTO t VALUES (21, 3000000000, 'x')",
    )
    assert replica.settle().refresh.tables == {}
    assert replica.rows("SELECT a FROM t WHERE id = 20") == [(60,)]


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE t ADD c uuid DEFAULT gen_random_uuid()",
        "ALTER TABLE t ALTER a TYPE text USING md5(a::text || random()::text)",
    ],
)
def test_values_that_can_not_be_equal_come_by_a_refresh(replica: Replica, statement: str) -> None:
    replica.at_source("ALTER TABLE t ADD CHECK (id > 0)", statement, "ALTER TABLE t RENAME b TO bb")
    replica.at_source("INSERT INTO t (id, bb) VALUES (21, 'x')")
    told = replica.settle()
    assert list(told.refresh.tables) == ["public.t"]
    assert replica.rows("SELECT count(*) FROM pg_constraint WHERE conrelid = 't'::regclass AND contype = 'c'") == [(1,)]
    replica.at_source("ALTER TABLE t ADD d int", "UPDATE t SET d = 4 WHERE id = 7")
    assert replica.settle().refresh.tables == {}


HISTORIES = {
    "a default that is not what filled the rows": (
        "ALTER TABLE t ADD c timestamptz DEFAULT now(), ALTER c SET DEFAULT '2020-01-01'",
        "ALTER TABLE t ADD d numeric(5, 2) DEFAULT 7",
    ),
    "in functions": (
        "CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS"
        " $$ BEGIN EXECUTE 'ALTER TABLE t ADD c int DEFAULT 3'; ALTER TABLE t ADD d int; END $$",
        "SELECT f()",
        "DO $$ BEGIN ALTER TABLE t RENAME b TO bb; END $$",
    ),
    "names exchanged": (
        "CREATE TABLE u (id int PRIMARY KEY)",
        "ALTER TABLE t RENAME TO between",
        "ALTER TABLE u RENAME TO t",
        "INSERT INTO t VALUES (5)",
        "ALTER TABLE between RENAME TO u",
        "INSERT INTO u VALUES (21, 1, 'x')",
    ),
    "the same name again": (
        "DROP TABLE t",
        "CREATE TABLE t (id int PRIMARY KEY, z text)",
        "INSERT INTO t VALUES (1, 'z')",
        "DROP TABLE t",
        "CREATE TABLE t (id bigint)",
        "INSERT INTO t VALUES (7), (7)",
    ),
    "of the session": (
        "SET timezone = 'Asia/Tokyo'",
        "ALTER TABLE t ADD c timestamp DEFAULT '2020-01-01 00:00'",
        "ALTER TABLE t ALTER c TYPE timestamptz",
        'CREATE SCHEMA "Some s"',
        'CREATE TABLE "Some s"."T x" (id int PRIMARY KEY, "a ""b" int)',
        'SET search_path = "Some s", public',
        'ALTER TABLE "T x" RENAME "a ""b" TO c',
        'ALTER TABLE "T x" SET SCHEMA public',
        'INSERT INTO "T x" VALUES (1, 1)',
    ),
    "types": (
        "CREATE TYPE mood AS ENUM ('a', 'b')",
        "ALTER TABLE t ADD c mood DEFAULT 'a'",
        "UPDATE t SET c = 'b' WHERE id = 4",
        "ALTER TYPE mood RENAME VALUE 'a' TO 'aa'",
        "ALTER TYPE mood RENAME TO moods",
        "CREATE DOMAIN small AS int CHECK (VALUE < 100)",
        "ALTER TABLE t ADD d small",
        "ALTER DOMAIN small DROP CONSTRAINT small_check",
        "UPDATE t SET d = 1000 WHERE id = 1",
    ),
    "keys": (
        "CREATE TABLE k (id int NOT NULL, v int)",
        "INSERT INTO k VALUES (1, 1)",
        "CREATE UNIQUE INDEX ki ON k (id)",
        "ALTER TABLE k ADD PRIMARY KEY USING INDEX ki",
        "UPDATE k SET v = 3 WHERE id = 1",
        "ALTER TABLE k DROP CONSTRAINT ki",
        "INSERT INTO k VALUES (1, 3)",
        "ALTER TABLE t DROP CONSTRAINT t_pkey, ALTER b SET NOT NULL, ALTER a SET DEFAULT 4",
    ),
}


@pytest.mark.parametrize("history", HISTORIES)
def test_histories(databases: Databases, tmp_path: Path, history: str) -> None:
    """Their statements in one session; nothing is loaded anew."""
    replica = begin(databases, tmp_path, *T, replay_ddl=[{"tables": ["*.*"]}])
    run(replica.source, *HISTORIES[history])
    assert replica.settle().refresh.tables == {}


def test_rows_that_wait_for_a_refresh_are_no_obstacle(replica: Replica) -> None:
    replica.at_source(
        "UPDATE t SET b = NULL WHERE id = 3",
        "ALTER TABLE t ADD c uuid DEFAULT gen_random_uuid()",
        "UPDATE t SET b = 'x' WHERE id = 3",
        "ALTER TABLE t ALTER b SET NOT NULL",
    )
    assert list(replica.settle().refresh.tables) == ["public.t"]


def test_tables_come_and_go(replica: Replica) -> None:
    replica.at_source(
        "CREATE TYPE mood AS ENUM ('sad', 'happy')",
        "CREATE TABLE n (id serial PRIMARY KEY, no int GENERATED ALWAYS AS IDENTITY, m mood, twice int"
        " GENERATED ALWAYS AS (id * 2) STORED)",
        "INSERT INTO n (m) VALUES ('sad'), ('happy')",
        "ALTER TYPE mood ADD VALUE 'tired'",
        "INSERT INTO n (m) VALUES ('tired')",
        "UPDATE n SET m = 'sad' WHERE id = 2",
        "CREATE TABLE gone (x int)",
        "INSERT INTO gone VALUES (1)",
        "DROP TABLE gone, t",
        "CREATE SCHEMA more CREATE TABLE of_it (id int)",
        "ALTER TABLE n SET SCHEMA more",
        "INSERT INTO more.n (m) VALUES ('tired')",
    )
    replica.settle()
    assert (
        replica.rows("SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'") == []
    )
    replica.at_source("CREATE TABLE made AS SELECT n AS id FROM generate_series(1, 5) n", "INSERT INTO made VALUES (6)")
    assert list(replica.settle().refresh.tables) == ["public.made"]


def test_partitions(databases: Databases, tmp_path: Path) -> None:
    replica = begin(
        databases,
        tmp_path,
        "CREATE TABLE p (id int, day int, PRIMARY KEY (id, day)) PARTITION BY RANGE (day)",
        "CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10)",
        "INSERT INTO p SELECT n, n FROM generate_series(0, 9) n",
    )
    replica.at_source(
        "CREATE TABLE p2 (LIKE p INCLUDING ALL)",
        "INSERT INTO p2 VALUES (10, 10)",
        "ALTER TABLE p ATTACH PARTITION p2 FOR VALUES FROM (10) TO (20)",
        "INSERT INTO p VALUES (11, 11), (1, 2)",
        "CREATE TABLE p3 PARTITION OF p FOR VALUES FROM (20) TO (30)",
        "INSERT INTO p VALUES (20, 20)",
        "ALTER TABLE p ADD c int DEFAULT 4",
        "ALTER TABLE p ADD made timestamptz DEFAULT clock_timestamp() - now() + '2026-01-01 00:00:00+00'::timestamptz",
        "CREATE INDEX by_c ON p (c)",
        "INSERT INTO p VALUES (21, 21, 5)",
    )
    replica.settle()
    replica.at_source("ALTER TABLE p DETACH PARTITION p1", "INSERT INTO p1 VALUES (100, 100)", "DROP TABLE p")
    replica.settle()
    assert replica.rows("SELECT count(*) FROM p1") == [(12,)]


def test_a_text_that_is_not_known_is_refused_then_adapted(replica: Replica) -> None:
    replica.at_source("INSERT INTO t VALUES (21, 21, 'x')")
    replica.at_source(
        "ALTER TABLE t ADD c int DEFAULT 7; COMMIT; ALTER TABLE t RENAME b TO bb",
        "INSERT INTO t VALUES (22, 1, 'y', 2)",
    )
    assert "not known" in refused(replica, "ADP-150")
    assert replica.rows("SELECT count(*) FROM t") == [(21,)]
    assert "ADP-150" in replica.plan().text()
    adapt(replica, "public.t")
    assert replica.settle().refresh.tables == {}
    adapt(replica)
    replica.at_source("ALTER TABLE t ADD d int", "INSERT INTO t VALUES (23, 1, 'z', 2, 3)")
    assert "ALTER TABLE t ADD d int" in replica.plan().text()
    replica.settle()


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("ALTER TABLE t DROP b CASCADE", "CASCADE"),
        ("ALTER TABLE t ADD c text, OWNER TO CURRENT_USER", "the source alone"),
        ("CREATE UNIQUE INDEX CONCURRENTLY i ON k (x)", "CONCURRENTLY"),
        ("CREATE TABLE child () INHERITS (t)", "inherit"),
    ],
)
def test_what_reaches_too_far_is_refused(replica: Replica, statement: str, why: str) -> None:
    replica.at_source("CREATE TABLE k (x int NOT NULL)", "INSERT INTO k VALUES (1)")
    replica.settle()
    replica.at_source(statement)
    assert why in refused(replica, "ADP-151")
    adapt(replica, "public.*")
    replica.settle()


@pytest.mark.parametrize(
    "statement",
    ["CREATE INDEX CONCURRENTLY i ON t (a)", "ALTER TABLE t OWNER TO CURRENT_USER", "ALTER INDEX t_pkey RENAME TO tt"],
)
def test_what_is_the_source_s_own_affair_is_told_and_left_out(replica: Replica, statement: str) -> None:
    replica.at_source(statement, "INSERT INTO t VALUES (21, 1, 'x')")
    told = replica.settle()
    assert [w for w in told.adapt.warnings if statement in w], told.adapt.warnings


def test_a_table_that_is_not_as_the_source_s(replica: Replica) -> None:
    """What the target refuses, and what leads to another shape there, undoes the whole transaction."""
    replica.at_target("ALTER TABLE t ADD c text")
    replica.at_source("INSERT INTO t VALUES (21, 1, 'x')", "ALTER TABLE t ADD IF NOT EXISTS c int")
    assert "c" in refused(replica, "ADP-153")
    assert replica.rows("SELECT count(*) FROM t") == [(21,)]
    replica.at_target("ALTER TABLE t DROP c", "CREATE VIEW v AS SELECT a FROM t")
    replica.settle()
    replica.at_source("ALTER TABLE t DROP a")
    assert "other objects depend" in refused(replica, "ADP-153")
    replica.at_target("DROP VIEW v")
    replica.settle()


def test_names_mean_the_same_tables(databases: Databases, tmp_path: Path) -> None:
    """A schema of the target's that comes first in the search_path is not taken for the source's."""
    replica = begin(databases, tmp_path, *T, "CREATE SCHEMA first")
    replica.at_target("CREATE SCHEMA first", "CREATE TABLE first.t (id int)")
    run(f"{replica.source}?options=-csearch_path%3Dfirst,public", "CREATE INDEX i ON t (a)")
    assert "does not refer to public.t" in refused(replica, "ADP-153")
    assert replica.rows("SELECT count(*) FROM pg_index WHERE indrelid = 'first.t'::regclass") == [(0,)]


def test_a_partition_of_another_table_of_that_name(databases: Databases, tmp_path: Path) -> None:
    replica = begin(databases, tmp_path, "CREATE SCHEMA first", "CREATE TABLE p (id int) PARTITION BY LIST (id)")
    replica.at_target("CREATE SCHEMA first", "CREATE TABLE first.p (id int) PARTITION BY LIST (id)")
    with_path = f"{replica.source}?options=-csearch_path%3Dfirst,public"
    run(with_path, "CREATE TABLE public.p1 PARTITION OF p FOR VALUES IN (1)")
    assert "partition of first.p" in refused(replica, "ADP-153")


def test_a_literal_that_reads_otherwise_at_the_target(replica: Replica) -> None:
    run(replica.source, "SET datestyle = 'SQL, DMY'", "ALTER TABLE t ADD c date DEFAULT '01/02/03'")
    assert "'2003-02-01'::date" in refused(replica, "ADP-153")
    adapt(replica, "public.t")
    replica.settle()


@pytest.mark.req("XR-01")
def test_both_modes_side_by_side(databases: Databases, tmp_path: Path) -> None:
    """No table is of both: a statement about tables of either kind is refused, and so is a partition apart."""
    replica = begin(
        databases,
        tmp_path,
        *T,
        "CREATE SCHEMA sales",
        "CREATE TYPE public.mood AS ENUM ('sad')",
        "CREATE TABLE sales.o (id int PRIMARY KEY, m public.mood)",
        "INSERT INTO sales.o VALUES (1, 'sad')",
        adapt_ddl=BESIDE,
    )
    replica.at_source(
        "ALTER TABLE t DROP b",
        "ALTER TABLE sales.o ADD c int; ALTER TABLE sales.o DROP c",
        "ALTER TABLE t ADD c int CHECK (c > 0)",
        "ALTER TABLE sales.o ADD c int CHECK (c > 0)",
        "CREATE TABLE sales.more (id int)",
        "CREATE TABLE n (id int)",
    )
    replica.settle()
    checks = "SELECT count(*) FROM pg_constraint WHERE contype = 'c' AND conrelid = '{}'::regclass"
    assert replica.rows(checks.format("t")) == [(1,)]
    assert replica.rows(checks.format("sales.o")) == [(0,)]
    replica.at_source("ALTER TABLE t ADD m mood", "ALTER TYPE mood ADD VALUE 'happy'", "UPDATE t SET m = 'happy'")
    assert "sales.o" in refused(replica, "ADP-152")
    adapt(replica, "public.t", actions=BESIDE)
    replica.settle()


def test_a_partition_of_the_other_kind(databases: Databases, tmp_path: Path) -> None:
    file = channel_file(
        tmp_path, databases.source, databases.target, replay_ddl=[{"tables": ["public.p"]}], adapt_ddl=[]
    )
    replica = Replica(databases.source, databases.target, file)
    replica.at_source("CREATE TABLE p (id int PRIMARY KEY) PARTITION BY RANGE (id)")
    replica.at_source("CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10)")
    with pytest.raises(Unsupported, match="only one is in replay_ddl"):
        replica.activate()


def test_rules_come_first(databases: Databases, tmp_path: Path) -> None:
    rules = {"negative": [{"tables": ["public.t"], "dml": False}]}
    targets = [{"name": "warehouse", "location": databases.target, "rules": rules}]
    replica = begin(databases, tmp_path, *T, targets=targets)
    replica.at_source("CREATE INDEX i ON t (a)", "ALTER TABLE t DROP b")
    told = replica.replicate()
    assert told.discarded["public.t: rules.negative[0] discards its DDL"] >= 1
    assert replica.rows("SELECT count(*) FROM pg_index WHERE indrelid = 't'::regclass") == [(1,)]


def test_rows_of_another_table_come_first(replica: Replica) -> None:
    """The target looks at rows that another table got before the statement."""
    replica.at_source("CREATE TABLE u (id int PRIMARY KEY)", "INSERT INTO u SELECT id FROM t")
    replica.at_source("ALTER TABLE t ADD FOREIGN KEY (id) REFERENCES u", "INSERT INTO u VALUES (21)")
    replica.at_source("INSERT INTO t VALUES (21)")
    replica.settle()
    assert replica.rows("SELECT count(*) FROM pg_constraint WHERE contype = 'f'") == [(1,)]


def test_going_back_across_it(databases: Databases, past: str, tmp_path: Path) -> None:
    replays = [{"name": "past", "location": past}]
    replica = begin(databases, tmp_path, *T, rewind_horizon=HORIZON, replays=replays)
    replica.at_source("ALTER TABLE t ADD c int DEFAULT 7", "UPDATE t SET c = 8 WHERE id = 2", "CREATE INDEX i ON t (c)")
    before = captured(replica)
    replica.at_source("ALTER TABLE t DROP a", "DELETE FROM t WHERE id > 5")
    captured(replica)
    replica.rewind(before)
    assert read(past, "SELECT count(*), sum(a), sum(c) FROM t") == [(20, 210, 141)]
    assert read(past, "SELECT count(*) FROM pg_class WHERE relname = 'i'") == [(1,)]
