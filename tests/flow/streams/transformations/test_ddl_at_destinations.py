"""DDL that has followed the names of rows runs at a destination, and its tables have the columns that the rows have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg

from airflow_ddlrepl import flow
from airflow_ddlrepl.flow.streams.clients import StreamsClients
from airflow_ddlrepl.model.change import EventKind, why_ignored
from tests.flow.streams.streams_channel import streams_channel
from tests.support.replica import run

RULES = (
    {"add_schema_rules": {"schema_name": "hr", "streams_type": "capture", "streams_name": "cap", "queue_name": "q1",
                          "include_ddl": True, "dml_rule_name": "r"}},
    {"rename_schema": {"rule_name": "r", "from_schema_name": "hr", "to_schema_name": "dw"}},
    {"rename_table": {"rule_name": "r", "from_table_name": "hr.t", "to_table_name": "hr.people"}},
    {"rename_column": {"rule_name": "r", "table_name": "hr.t", "from_column_name": "k", "to_column_name": '"Key no"'}},
    {"rename_column": {"rule_name": "r", "table_name": "hr.t", "from_column_name": '"Odd Name"',
                       "to_column_name": "plain"}},
    {"delete_column": {"rule_name": "r", "table_name": "hr.t", "column_name": "ssn"}},
)  # fmt: skip
STATEMENTS = (
    'CREATE TABLE hr.t (id int PRIMARY KEY, k int NOT NULL CHECK (k > 0), ssn text UNIQUE, "Odd Name" text,'
    " note varchar(9) DEFAULT 'k', CONSTRAINT pair UNIQUE (k, ssn), CONSTRAINT one UNIQUE (id, k))",
    "CREATE TABLE hr.u (id int PRIMARY KEY, of int REFERENCES hr.t, k int)",
    "ALTER TABLE hr.t ADD COLUMN amount numeric(10, 2) DEFAULT 1.5, ADD k2 int GENERATED ALWAYS AS (id * 2) STORED",
    'ALTER TABLE ONLY "hr"."t" ALTER k TYPE bigint USING k::bigint + 1, ALTER COLUMN "Odd Name" SET DEFAULT \'ssn\'',
    "ALTER TABLE hr.t ALTER ssn TYPE varchar(20), ALTER ssn SET NOT NULL",
    "ALTER TABLE hr.t ADD CHECK (k < 1000000), ADD CONSTRAINT two FOREIGN KEY (k) REFERENCES hr.t (id) NOT VALID",
    'CREATE INDEX t_k ON hr.t USING btree (k DESC NULLS LAST, lower("Odd Name")) INCLUDE (note) WHERE k > 5',
    "CREATE INDEX t_ssn ON hr.t (ssn)",
    "CREATE UNIQUE INDEX ON hr.u (k)",
    "ALTER INDEX hr.t_k RENAME TO t_k_index",
    "COMMENT ON COLUMN hr.t.k IS 'hr.t.k'",
    "COMMENT ON TABLE hr.t IS 'ssn'",
    "ALTER TABLE hr.t ADD k3 bigint GENERATED ALWAYS AS (k * 2) STORED",
    "ALTER TABLE hr.t RENAME note TO remark",
    "ALTER TABLE hr.t RENAME COLUMN k TO number",
    "ALTER TABLE hr.t DROP COLUMN IF EXISTS ssn CASCADE, DROP amount",
    "ALTER TABLE hr.t ADD ssn int, ADD CONSTRAINT three CHECK (ssn > 0 OR id > 0)",
    "ALTER TABLE hr.u RENAME TO v",
    "ALTER TABLE hr.v ADD FOREIGN KEY (k) REFERENCES hr.t (id) ON DELETE CASCADE",
    "CREATE VIEW hr.w AS SELECT v.id, v.k AS kk FROM hr.v WHERE v.of IS NOT NULL",
    "DROP INDEX hr.t_k_index",
    "SET search_path = hr, public; ALTER TABLE t ADD more int; CREATE INDEX mi ON t (more)",
    "DROP VIEW hr.w",
    "ALTER TABLE hr.t SET (fillfactor = 70)",
    "CREATE TABLE hr.parted (id int, day date, PRIMARY KEY (id, day)) PARTITION BY RANGE (day)",
    "CREATE TABLE hr.parted_1 PARTITION OF hr.parted FOR VALUES FROM ('2024-01-01') TO ('2025-01-01')",
    "ALTER TABLE hr.parted DETACH PARTITION hr.parted_1",
    "DROP TABLE hr.parted, hr.parted_1",
)
COLUMNS = """
    SELECT table_name, column_name, udt_name, is_nullable FROM information_schema.columns
    WHERE table_schema = %s ORDER BY table_name, ordinal_position
"""


def columns(location: str, schema: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(location) as connection:
        return connection.execute(COLUMNS, (schema,)).fetchall()


def test_statements_run_at_a_destination_as_the_rows_need_them(databases: Any, tmp_path: Path) -> None:
    channel = streams_channel(tmp_path, databases.source, *RULES)
    channel.at_source("CREATE SCHEMA hr", "CREATE TABLE hr.first (id int)")
    channel.activate()
    channel.at_source("DROP TABLE hr.first", *STATEMENTS)
    result = channel.stage(flow.capture)
    run(databases.target, "CREATE SCHEMA dw", "CREATE TABLE dw.first (id int)")
    with channel.opened() as context:
        (feed,) = StreamsClients(context).feeds("q1")
        for event in (event for one in feed.trail.segments(feed.epoch) for event in feed.trail.events(one)):
            if event.kind is EventKind.DDL and not why_ignored(event):
                run(databases.target, "SET search_path = public; " + str(event.statement))
                for table in event.tables:
                    names = [(str(table.name.name), column.name) for column in table.columns]
                    there = [row[:2] for row in columns(databases.target, "dw") if row[0] == table.name.name]
                    assert there == names, event.statement
    gone = [line for line in result.discarded if "ssn" in line]
    assert len(gone) >= 2, result.discarded  # of the two statements about nothing else
    source = [row for row in columns(databases.source, "hr") if row[1] != "ssn"]
    renamed = {"t": "people", "Odd Name": "plain"}
    assert columns(databases.target, "dw") == [
        (renamed.get(table, table), renamed.get(column, column), *more) for table, column, *more in source
    ]
