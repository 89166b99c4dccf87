"""This module prepares a synchronous capture at a source, brings it up to its rules, and removes it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from airflow_ddlrepl.engines.abilities.sync_capture import CaptureRules, Prepared
from airflow_ddlrepl.engines.postgres.catalog.inspect import SHAPE_SQL
from airflow_ddlrepl.engines.postgres.connection.advisory_lock import AdvisoryLock
from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.connection.errors import errors
from airflow_ddlrepl.engines.postgres.connection.quoting import literal, qualified, quote
from airflow_ddlrepl.engines.postgres.connection.settings import SHAPES
from airflow_ddlrepl.engines.postgres.owners.schema_owner import require_trusted
from airflow_ddlrepl.engines.postgres.sync_capture.ruled_tables import RuledTable, ruled_tables
from airflow_ddlrepl.engines.postgres.sync_capture.trigger_function import (
    CaptureNames,
    FunctionWriter,
    KnownColumns,
    definition,
    settings,
)
from airflow_ddlrepl.engines.postgres.sync_capture.triggers import Trigger, maintain_triggers, may_not
from airflow_ddlrepl.engines.postgres.sync_capture.value_sql import LETTERS
from airflow_ddlrepl.errors import RuleError, SourceError
from airflow_ddlrepl.model.names import TableName

TABLES = ("captured_lcrs", "captured_windows", "captured_shapes")
CODES = {"/*tag_changed*/": "RUL-153", "/*no_lcr*/": "RUL-154"}
"""The codes of errors that our functions raise at the source, by their places in the SQL."""
_INSTALLING = AdvisoryLock("ddlrepl.sync_capture", "the tables of captures can't be made", SourceError, "SRC-127")
_IS_CURRENT = "SELECT obj_description(to_regclass('ddlrepl.captured_lcrs'), 'pg_class') = %s"
_FUNCTION = """
SELECT p.prosrc, p.prosecdef, p.proconfig FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
WHERE n.nspname = 'ddlrepl' AND p.proname = %s AND p.pronargs = 0
"""
# So captured_tables.sql knows what we have written ourselves, also where a run is killed before it could tell.
_OURS = """
SELECT format('COMMENT ON FUNCTION %%s IS %%L', p.oid::regprocedure, p.xmin) FROM pg_proc p
WHERE p.pronamespace = to_regnamespace('ddlrepl') AND p.proname = %s AND p.pronargs = 0
"""
_PLACES = """
SELECT n.nspname, c.relname, c.relkind::text, c.relpersistence::text, ARRAY(
    SELECT format('%%s', a.relid::oid) FROM pg_partition_ancestors(c.oid) a WHERE a.relid <> c.oid), c.oid::text
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN unnest(%s::text[], %s::text[]) AS wanted(schema_name, table_name)
  ON n.nspname = wanted.schema_name AND c.relname = wanted.table_name
"""
_IS_SETUP = "pg_catalog.pg_replication_origin_session_is_setup()"
_LEAVES = """
SELECT n.nspname, c.relname FROM pg_partition_tree(%s::oid) t
JOIN pg_class c ON c.oid = t.relid JOIN pg_namespace n ON n.oid = c.relnamespace WHERE t.isleaf
"""


@dataclass(frozen=True)
class Setup:
    """A setup has what a synchronous capture of a channel is prepared by."""

    channel: str
    rules: CaptureRules

    @property
    def names(self) -> CaptureNames:
        """Return the names of what the capture has in the database."""
        return CaptureNames(self.channel, self.rules.client.name)


def prepare(connection: Connection[Any], setup: Setup) -> Prepared:
    """Create what is missing for a synchronous capture, and remove triggers that no rule asks for any more.

    A second time it changes nothing. Raises RuleError RUL-110, RUL-150 to RUL-152 before anything is touched,
    SourceError SRC-105 without the rights, SRC-121 where somebody else has made the schema, SRC-190 when a table can't
    be captured by triggers. Tables whose triggers can't be made now, without the rights or because they are locked
    (SRC-191), keep no other one from having its own.
    """
    tables = ruled_tables(setup.rules.client)
    writer = _writer(connection, setup.rules)
    _require_functions(connection, writer, tables)
    writer.body(setup.names, tables, {})  # refuses what can't be written
    wanted, missing = _wanted(connection, setup.names, tables)
    changes: list[str] = []
    with _explained_refusals():
        if install(connection):
            changes.append("table ddlrepl.captured_lcrs")
        body = writer.body(setup.names, tables, _known(connection, tables, missing))
        if _replace_function(connection, setup.names, body):
            changes.append(f"function ddlrepl.{setup.names.function}")
        maintained = maintain_triggers(connection, setup.names, wanted)
    told = (tuple(changes + maintained.changes), tuple(map(str, missing)), tuple(_warnings(connection)))
    done = (tuple(maintained.remade), tuple(maintained.failed))
    return Prepared(tuple(str(one.name) for one in tables), *told, *done)


def install(connection: Connection[Any]) -> bool:
    """Create the tables and functions that all synchronous captures share; return whether anything was to do."""
    row = connection.execute(_IS_CURRENT, [_mark()]).fetchone()
    if row is not None and row[0]:
        require_trusted(connection, TABLES, SourceError, "SRC-121")
        return False
    with connection.transaction():
        _INSTALLING.take(connection)
        connection.execute("CREATE SCHEMA IF NOT EXISTS ddlrepl")
        require_trusted(connection, TABLES, SourceError, "SRC-121")
        connection.execute(_shared_sql().encode())
        connection.execute(f"COMMENT ON TABLE ddlrepl.captured_lcrs IS {literal(_mark())}".encode())
    return True


def clients(connection: Connection[Any], channel: str) -> list[str]:
    """Return the names of the channel's synchronous captures that are prepared."""
    if not _is_there(connection):
        return []
    query = "SELECT client FROM ddlrepl.captured_windows WHERE channel = %s ORDER BY 1"
    return [row[0] for row in connection.execute(query, [channel]).fetchall()]


def remove(connection: Connection[Any], channel: str, client: str) -> list[str]:
    """Remove a synchronous capture and what it has captured; return what was removed.

    With the last capture the tables that all share go, too.
    """
    if not _is_there(connection):
        return []
    names = CaptureNames(channel, client)
    with _explained_refusals():
        maintained = maintain_triggers(connection, names, ())
        if maintained.failed:
            raise maintained.failed[0]
        changes = maintained.changes
        with connection.transaction():
            if connection.execute(_FUNCTION, [names.function]).fetchone() is not None:
                connection.execute(f"DROP FUNCTION ddlrepl.{quote(names.function)}()".encode())
                changes.append(f"function ddlrepl.{names.function}")
            of_client = [channel, client]
            gone = connection.execute("DELETE FROM ddlrepl.captured_lcrs WHERE channel = %s AND client = %s", of_client)
            connection.execute("DELETE FROM ddlrepl.captured_windows WHERE channel = %s AND client = %s", of_client)
            if gone.rowcount:
                changes.append(f"{gone.rowcount} captured changes that no run has read")
        if connection.execute(_OTHERS).fetchone() is None:
            with connection.transaction():
                connection.execute(_DROP.encode())
            changes.append("table ddlrepl.captured_lcrs")
    return changes


def _is_there(connection: Connection[Any]) -> bool:
    return connection.execute("SELECT to_regclass('ddlrepl.captured_windows') IS NOT NULL").fetchone() == (True,)


_LETTERS = """
SELECT collname FROM pg_collation WHERE collname = ANY (%s) AND collnamespace = 'pg_catalog'::regnamespace
  AND collencoding IN (-1, (SELECT d.encoding FROM pg_database d WHERE d.datname = current_database()))
ORDER BY collname LIMIT 1
"""
_OTHERS = """
SELECT FROM pg_proc WHERE pronamespace = to_regnamespace('ddlrepl') AND proname LIKE 'sync\\_capture\\_%'
  AND prorettype = 'trigger'::regtype
UNION ALL SELECT FROM ddlrepl.captured_lcrs LIMIT 1
"""
_DROP = """
DO $$
DECLARE
    routine regprocedure;
BEGIN
    FOR routine IN SELECT oid FROM pg_catalog.pg_proc
                   WHERE pronamespace = to_regnamespace('ddlrepl') AND proname LIKE 'sync\\_capture\\_%' LOOP
        EXECUTE format('DROP ROUTINE %s', routine);
    END LOOP;
    DROP TABLE ddlrepl.captured_lcrs, ddlrepl.captured_windows, ddlrepl.captured_shapes;
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_class WHERE relnamespace = to_regnamespace('ddlrepl'))
        AND NOT EXISTS (SELECT FROM pg_catalog.pg_proc WHERE pronamespace = to_regnamespace('ddlrepl')) THEN
        DROP SCHEMA ddlrepl;
    END IF;
END
$$
"""


@cache
def _shared_sql() -> str:
    settings = "\n".join(
        f"SET {name} = {value if name == 'search_path' else literal(value)}" for name, value in SHAPES.items()
    )
    text = (Path(__file__).parent / "captured_lcrs.sql").read_text()
    for mark, value in {"/*shape_settings*/": settings, "/*table_shape*/": SHAPE_SQL, **CODES}.items():
        text = text.replace(mark, value)
    return text


@cache
def _mark() -> str:
    return f"airflow-ddlrepl synchronous capture {hashlib.sha256(_shared_sql().encode()).hexdigest()[:12]}"


def _writer(connection: Connection[Any], rules: CaptureRules) -> FunctionWriter:
    row = connection.execute(_LETTERS, [[*LETTERS]]).fetchone()
    return FunctionWriter(rules.database, rules.functions, row[0] if row else "")


def _require_functions(connection: Connection[Any], writer: FunctionWriter, tables: Sequence[RuledTable]) -> None:
    """Raise RuleError RUL-152 for a custom function that the source does not have."""
    for rule in {rule.name: rule for table in tables for rule in table.rules if rule.action.function}.values():
        called = qualified(TableName(*writer.function_of(rule)))
        row = connection.execute("SELECT to_regprocedure(%s)::text", [f"{called}(jsonb)"]).fetchone()
        if row is None or row[0] is None:
            raise RuleError(
                f"rule {rule.name}: the source has no function {called}(jsonb)",
                code="RUL-152",
                hint="create it: it takes a row LCR as jsonb, and gives one, several in an array, or NULL for none",
            )


def _warnings(connection: Connection[Any]) -> Iterator[str]:
    """Yield what triggers can't see with the rights of this role, which they have."""
    row = connection.execute(
        f"SELECT has_function_privilege('{_IS_SETUP}', 'EXECUTE'), current_user".encode()
    ).fetchone()
    if row is not None and not row[0]:
        yield (
            "changes of sessions with a replication origin have no tag where ddlrepl.tag is not set:"
            f" GRANT EXECUTE ON FUNCTION {_IS_SETUP} TO {quote(row[1])} lets triggers see it"
        )


def _known(
    connection: Connection[Any], tables: Sequence[RuledTable], missing: Sequence[TableName]
) -> dict[TableName, KnownColumns]:
    """Return the columns of the tables that are there."""
    known = {}
    for table in tables:
        if table.name in missing:
            continue
        with connection.transaction():  # nobody deletes the shape meanwhile
            query = "SELECT * FROM ddlrepl.sync_capture_shape(to_regclass(%s))"
            found = connection.execute(query, [qualified(table.name)]).fetchone()
            assert found is not None
            query = "SELECT names, kinds::text FROM ddlrepl.captured_shapes WHERE id = %s"
            row = connection.execute(query, found[:1]).fetchone()
            assert row is not None
        known[table.name] = KnownColumns(found[1], tuple(row[0]), row[1])
    return known


def _wanted(
    connection: Connection[Any], names: CaptureNames, tables: Sequence[RuledTable]
) -> tuple[list[Trigger], list[TableName]]:
    """Return the triggers that the tables need, and the tables that are not there."""
    asked = [one.name for one in tables]
    rows = connection.execute(_PLACES, [[one.schema for one in asked], [one.name for one in asked]]).fetchall()
    places = {TableName(schema, name): row for schema, name, *row in rows}
    ids = {row[3]: name for name, row in places.items()}
    found: list[Trigger] = []
    for name, (kind, persistence, ancestors, table_id) in sorted(places.items()):
        _require_table(name, kind, persistence, [ids[one] for one in ancestors if one in ids])
        found.append(Trigger(name, names.trigger, kind == "p"))
        leaves = connection.execute(_LEAVES, [table_id]).fetchall() if kind == "p" else [name]
        found += [Trigger(TableName(*leaf), names.truncate_trigger, kind == "p") for leaf in leaves]
    return found, [name for name in asked if name not in places]


def _require_table(name: TableName, kind: str, persistence: str, ruled_ancestors: Iterable[TableName]) -> None:
    wrong = ""
    if kind not in ("r", "p") or persistence == "t":
        wrong = "is no table with rows of its own, and has no row triggers"
    for ancestor in ruled_ancestors:
        wrong = f"is a partition of {ancestor}, whose rules have its rows already"
    if wrong:
        raise SourceError(f"{name} {wrong}", code="SRC-190", table=name, hint="take the table out of the rules")


def _replace_function(connection: Connection[Any], names: CaptureNames, body: str) -> bool:
    row = connection.execute(_FUNCTION, [names.function]).fetchone()
    if row is not None:
        made = [f"{name.lower()}={value}" for name, _, value in (one.partition("=") for one in row[2] or ())]
        if (row[0], row[1], sorted(made)) == (body, True, settings()):
            return False
    with connection.transaction():
        connection.execute(definition(names, body).encode())
        connection.execute(f"REVOKE ALL ON FUNCTION ddlrepl.{quote(names.function)}() FROM PUBLIC".encode())
        row = connection.execute(_OURS, [names.function]).fetchone()
        assert row is not None
        connection.execute(row[0].encode())
    return True


@contextmanager
def _explained_refusals() -> Iterator[None]:
    try:
        yield
    except errors().InsufficientPrivilege as error:
        raise may_not(error) from None
