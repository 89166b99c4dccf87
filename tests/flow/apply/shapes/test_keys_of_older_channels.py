"""A channel of an older version, whose targets lack primary keys beside the replication key, gets them by itself."""

from __future__ import annotations

import json
import sqlite3

import psycopg

from tests.support.replica import Make, Replica


def forget(replica: Replica) -> None:
    """Leave what an older version has stored of the table: not the primary key beside the replica identity's index."""
    replica.at_target("ALTER TABLE t DROP CONSTRAINT t_pkey", "ALTER TABLE t REPLICA IDENTITY DEFAULT")
    with psycopg.connect(replica.target, autocommit=True) as connection:
        connection.execute("UPDATE ddlrepl.tables SET shape = (shape::jsonb - 'second_key')::jsonb")
    with sqlite3.connect(replica.file.parent / "repository.db") as repository:
        for name, column in repository.execute(
            "SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table'"
        ).fetchall():
            rows = repository.execute(f'SELECT rowid, "{column}" FROM "{name}" WHERE "{column}" LIKE \'%second_key%\'')
            for row, text in rows.fetchall():
                shape = json.loads(text)
                shape.pop("second_key", None)
                repository.execute(f'UPDATE "{name}" SET "{column}" = ? WHERE rowid = ?', [json.dumps(shape), row])


def test_the_next_cycle_adds_the_primary_key(make: Make) -> None:
    replica = make(
        "CREATE TABLE t (id int PRIMARY KEY, a int NOT NULL UNIQUE, v text)",
        "ALTER TABLE t REPLICA IDENTITY USING INDEX t_a_key",
        "INSERT INTO t VALUES (1, 1, 'x'), (2, 2, 'y')",
    )
    forget(replica)
    replica.at_source("UPDATE t SET v = 'z' WHERE a = 1", "ALTER TABLE t ADD w int", "DELETE FROM t WHERE a = 2")
    assert replica.settle().refresh.tables == {}
    query = "SELECT count(*) FROM pg_constraint WHERE conrelid = 't'::regclass AND contype = 'p'"
    assert replica.rows(query) == [(1,)]
