"""A target's server lacks a type or a collation of the source's: its columns are text, or in the default collation."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_ddlrepl.demo.servers import PrivateServer
from tests.support.replica import Make, Replica, channel_file

START = (
    "CREATE TABLE t (id int PRIMARY KEY, v text)",
    'CREATE TABLE x (id int PRIMARY KEY, doc xml, docs xml[], de text COLLATE "de-x-icu", ci text)',
    "INSERT INTO t VALUES (1, 'a')",
    "INSERT INTO x VALUES (1, '<a>1</a>', ARRAY['<b/>'::xml], 'ä', 'x')",
)


@pytest.fixture
def replica(pg15: PrivateServer, pg18: PrivateServer, tmp_path: Path) -> Iterator[Replica]:
    """The source has XML and ICU, the target, which was built without them, has not."""
    source, target = pg15.create_database("lacking_source"), pg18.create_database("lacking_target")
    yield Replica(source, target, channel_file(tmp_path, source, target, source={"slot": "lacking"}))
    pg15.drop_database("lacking_source")
    pg18.drop_database("lacking_target")


def test_they_are_loaded_and_follow(replica: Replica, caplog: pytest.LogCaptureFixture) -> None:
    replica.at_source(*START)
    with caplog.at_level(logging.WARNING, "ddlrepl"):
        replica.activate()
    assert "the target's server was built without its type xml" in caplog.text
    assert 'the target lacks the collation pg_catalog."de-x-icu"' in caplog.text
    replica.check_equal()
    replica.at_source(
        "UPDATE x SET doc = '<c/>', de = 'ö', docs = '{}'", "INSERT INTO x VALUES (2, NULL, NULL, 'a', 'b')"
    )
    replica.settle()
    assert replica.rows("SELECT pg_typeof(doc)::text, doc FROM x WHERE id = 1") == [("text", "<c/>")]


def test_changes_of_a_table_arrive_before_and_after_the_one_that_the_server_lacks(replica: Replica) -> None:
    replica.at_source(*START[::2])
    replica.activate()
    replica.at_source(
        "ALTER TABLE t ADD n int",
        "INSERT INTO t VALUES (2, 'b', 5)",
        "ALTER TABLE t ADD doc xml DEFAULT '<d/>'",
        "INSERT INTO t VALUES (3, 'c', 6, '<e/>')",
        'ALTER TABLE t ALTER v TYPE text COLLATE "de-x-icu"',
        "CREATE COLLATION mine (provider = icu, locale = 'und', deterministic = false)",
        "ALTER TABLE t ADD m text COLLATE mine",
        "UPDATE t SET m = 'M'",
    )
    replica.settle()
    replica.at_source("ALTER TABLE t DROP doc", "ALTER TABLE t ALTER v TYPE varchar(9)", "DELETE FROM t WHERE id = 1")
    replica.settle()


def test_a_collation_of_the_sources_own(make: Make) -> None:
    collation = "CREATE COLLATION mine (provider = libc, locale = 'C')"
    replica = make(collation, "CREATE TABLE c (a text COLLATE mine PRIMARY KEY)")
    replica.at_source(
        "INSERT INTO c VALUES ('b'), ('a')",
        "CREATE DOMAIN d AS text COLLATE mine",
        "CREATE TABLE p (k text COLLATE mine, v d) PARTITION BY LIST (k)",
        "CREATE TABLE p1 PARTITION OF p FOR VALUES IN ('a')",
        "INSERT INTO p VALUES ('a', 'x')",
        "ALTER TABLE c ADD v d",
    )
    replica.settle()
    replica.at_target(collation)
    replica.at_source("INSERT INTO c VALUES ('d', 'e')", "ALTER TABLE c ADD w int")
    replica.settle()
