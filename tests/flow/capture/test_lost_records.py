"""A schema change whose record is lost: the event trigger failed. What it did comes to light piece by piece."""

from __future__ import annotations

import psycopg

from tests.support.replica import BOTH, Make, Replica


def in_silence(replica: Replica, statement: str) -> None:
    """The trigger can't look at d, which has an expression and is locked: all it records is that it failed."""
    with psycopg.connect(replica.source) as session:
        session.execute("LOCK TABLE d")
        with psycopg.connect(replica.source, autocommit=True) as other:
            other.execute("SET lock_timeout = '50ms'")
            other.execute(statement)


@BOTH
def test_a_type_has_moved_and_the_tables_that_use_it_tell_one_after_the_other(make: Make) -> None:
    """The record of one shows it; the rows of the other, before and after, are of the same type."""
    replica = make(
        "CREATE SCHEMA s",
        "CREATE TYPE kind AS RANGE (subtype = text)",
        "CREATE TABLE d (id int PRIMARY KEY, v kind, g int GENERATED ALWAYS AS (id + 1) STORED)",
        "CREATE TABLE u (id int PRIMARY KEY, v kind)",
    )
    replica.settle()
    replica.at_source("INSERT INTO u VALUES (1, 'empty')")
    in_silence(replica, "ALTER TYPE kind SET SCHEMA s")
    replica.at_source("INSERT INTO u VALUES (2, '[a,b]')", "ALTER TABLE d ADD w int", "INSERT INTO u VALUES (3, NULL)")
    replica.at_source("TRUNCATE d", "UPDATE u SET v = '[c,d]' WHERE id = 1")
    found = replica.settle()
    assert found.refresh.tables == {}
    assert replica.rows("SELECT id, v::text, pg_typeof(v)::text FROM u ORDER BY id") == [
        (1, "[c,d]", "s.kind"),
        (2, "[a,b]", "s.kind"),
        (3, None, "s.kind"),
    ]


@BOTH
def test_a_label_is_renamed_and_rows_captured_before_it_are_merged_before_it(make: Make) -> None:
    replica = make(
        "CREATE TYPE mood AS ENUM ('calm', 'glad')",
        "CREATE TABLE d (id int PRIMARY KEY, m mood, g int GENERATED ALWAYS AS (id + 1) STORED)",
        "CREATE TABLE u (id int PRIMARY KEY, m mood)",
    )
    replica.settle()
    replica.at_source("INSERT INTO u VALUES (1, 'calm')")
    replica.capture()
    in_silence(replica, "ALTER TYPE mood RENAME VALUE 'calm' TO 'quiet'")
    replica.at_source("ALTER TABLE d ADD w int", "INSERT INTO d VALUES (1, 'quiet')")
    replica.settle()
    assert replica.rows("SELECT m::text FROM u UNION ALL SELECT m::text FROM d") == [("quiet",), ("quiet",)]
    in_silence(replica, "ALTER TYPE mood RENAME VALUE 'glad' TO 'merry'")
    replica.at_source("INSERT INTO u VALUES (2, 'merry')", "ALTER TABLE d DROP w", "INSERT INTO u VALUES (3, 'merry')")
    assert set(replica.settle().refresh.tables) >= {"public.u"}  # the log does not tell which rows came before


@BOTH
def test_a_new_table_uses_a_type_whose_label_was_renamed(make: Make) -> None:
    """The table that had it before is gone before it could tell."""
    replica = make(
        "CREATE TYPE mood AS ENUM ('calm', 'glad')",
        "CREATE TABLE d (id int PRIMARY KEY, m mood, g int GENERATED ALWAYS AS (id + 1) STORED)",
    )
    replica.settle()
    in_silence(replica, "ALTER TYPE mood RENAME VALUE 'calm' TO 'quiet'")
    replica.at_source(
        "CREATE TABLE u (id int PRIMARY KEY, m mood)",
        "INSERT INTO u VALUES (1, 'quiet')",
        "DROP TABLE d",
        "ALTER TYPE mood ADD VALUE 'angry'",
        "INSERT INTO u VALUES (2, 'angry')",
    )
    replica.settle()
    assert replica.rows("SELECT m::text FROM u ORDER BY id") == [("quiet",), ("angry",)]


@BOTH
def test_a_label_is_renamed_while_a_transaction_that_used_it_is_open(make: Make) -> None:
    """Its rows come after the renaming, and the log shows them with the former label."""
    replica = make("CREATE TYPE mood AS ENUM ('calm', 'glad')", "CREATE TABLE t (id int PRIMARY KEY, m mood)")
    with psycopg.connect(replica.source) as late:
        late.execute("INSERT INTO t VALUES (1, 'calm')")
        replica.at_source("ALTER TYPE mood RENAME VALUE 'calm' TO 'quiet'", "INSERT INTO t VALUES (2, 'quiet')")
        replica.settle()
    assert replica.settle().refresh.tables == {"public.t": 2}
    replica.at_source("INSERT INTO t VALUES (3, 'quiet')")
    assert replica.settle().refresh.tables == {}


@BOTH
def test_a_label_is_renamed_of_a_table_that_gets_its_name_or_is_made_in_the_same_window(make: Make) -> None:
    replica = make("CREATE TYPE mood AS ENUM ('calm', 'glad')", "CREATE TABLE t (id int PRIMARY KEY, m mood)")
    replica.settle()
    replica.at_source("CREATE TABLE made (id int PRIMARY KEY, m mood)", "ALTER TABLE t RENAME TO called")
    with psycopg.connect(replica.source) as late:
        for name in ("made", "called"):
            late.execute(f"INSERT INTO {name} VALUES (1, 'calm')")
        replica.at_source("ALTER TYPE mood RENAME VALUE 'calm' TO 'quiet'")
    replica.at_source("ALTER TABLE made ADD n int", "ALTER TABLE called ADD n int")
    assert replica.settle().refresh.tables == {"public.made": 1, "public.called": 1}
    replica.at_source("INSERT INTO made VALUES (3, 'quiet', 1)", "UPDATE called SET n = 2")
    assert replica.settle().refresh.tables == {}


@BOTH
def test_names_are_exchanged_by_a_transaction_that_is_older_than_one_of_the_tables(make: Make) -> None:
    """What it does to that table it can't record; it comes to light at the end of the window."""
    replica = make("CREATE TABLE t (id int PRIMARY KEY)", "CREATE TABLE u (id int PRIMARY KEY, of text)")
    replica.at_source("INSERT INTO u VALUES (1, 'u')")
    with psycopg.connect(replica.source) as old:
        old.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        old.execute("SELECT now()")  # a snapshot, and no lock
        replica.at_source("DROP TABLE t", "CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (7)")
        replica.settle()
        for one, other in (("t", "between"), ("u", "t"), ("between", "u")):
            old.execute(f"ALTER TABLE {one} RENAME TO {other}")
        old.execute("INSERT INTO t VALUES (2, 't')")
    replica.at_source("INSERT INTO u VALUES (8)")
    replica.settle()
    assert replica.rows("SELECT id, of FROM t ORDER BY 1") == [(1, "u"), (2, "t")]
    assert replica.rows("SELECT id FROM u ORDER BY 1") == [(7,), (8,)]


@BOTH
def test_a_name_is_taken_by_a_transaction_that_is_older_than_the_table_that_had_it(make: Make) -> None:
    replica = make("CREATE TABLE t (id int PRIMARY KEY)")
    with psycopg.connect(replica.source) as old:
        old.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        old.execute("SELECT now()")  # a snapshot, and no lock
        replica.at_source("DROP TABLE t", "CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (7)")
        replica.settle()
        old.execute("ALTER TABLE t RENAME TO before")
        old.execute("CREATE TABLE t (id int PRIMARY KEY, a text)")
        old.execute("INSERT INTO t VALUES (1, 'new')")
    replica.at_source("INSERT INTO before VALUES (8)")
    replica.settle()
    assert replica.rows("SELECT id, a FROM t") == [(1, "new")]
    assert replica.rows("SELECT id FROM before ORDER BY 1") == [(7,), (8,)]
