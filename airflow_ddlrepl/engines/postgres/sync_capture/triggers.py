"""This module makes the triggers of a synchronous capture that are missing or not as they are made; it drops others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.connection.errors import errors
from airflow_ddlrepl.engines.postgres.connection.quoting import literal, qualified, quote
from airflow_ddlrepl.engines.postgres.sync_capture.trigger_function import CaptureNames
from airflow_ddlrepl.errors import SourceError
from airflow_ddlrepl.model.names import TableName

LOCK_TIMEOUT = "5s"
IS_RIGHT = (
    "(t.tgenabled = 'A' AND t.tgqual IS NULL AND t.tgattr = '' AND t.tgconstraint = 0 AND NOT t.tgdeferrable"
    " AND t.tgtype = CASE WHEN t.tgtype & 1 = 1 THEN 29 ELSE 32 END)"
)
"""SQL that is true for a trigger t as we make them: it fires always, after each row change, or after a TRUNCATE."""
_TRIGGERS = f"""
WITH RECURSIVE ours(made, oid, is_right) AS (
    SELECT t.oid, t.oid, {IS_RIGHT} FROM pg_trigger t
    WHERE t.tgparentid = 0 AND t.tgfoid = (
        SELECT p.oid FROM pg_proc p
        WHERE p.pronamespace = to_regnamespace('ddlrepl') AND p.proname = %s AND p.pronargs = 0)
    UNION ALL SELECT o.made, t.oid, {IS_RIGHT} FROM ours o JOIN pg_trigger t ON t.tgparentid = o.oid
)
SELECT n.nspname, c.relname, t.tgname, t.tgnargs > 0, bool_and(o.is_right)
FROM ours o
JOIN pg_trigger t ON t.oid = o.made
JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace
GROUP BY n.nspname, c.relname, t.tgname, t.tgnargs
"""


@dataclass(frozen=True, slots=True)
class Trigger:
    """A trigger that a table is to have, or has."""

    table: TableName
    name: str
    is_partition: bool = False


@dataclass
class TriggerChanges:
    """This is what was done to triggers.

    changes: in words. remade: tables that were given the trigger of their row changes. failed: one error for each table
    whose triggers could not be brought up.
    """

    changes: list[str] = field(default_factory=list)
    remade: list[TableName] = field(default_factory=list)
    failed: list[SourceError] = field(default_factory=list)


def maintain_triggers(connection: Connection[Any], names: CaptureNames, wanted: Sequence[Trigger]) -> TriggerChanges:
    """Make the triggers that are missing or not as we make them, and drop the others of the same function.

    Each table is a transaction of its own, so that no lock outlives it. Making a trigger waits for the writers of the
    table: all later changes are captured, and all earlier ones are committed.
    """
    rows = connection.execute(_TRIGGERS.encode(), [names.function]).fetchall()
    there = {Trigger(TableName(schema, table), name, args): is_right for schema, table, name, args, is_right in rows}
    done = TriggerChanges()
    for table in sorted({one.table for one in (*there, *wanted)}):
        missing = [one for one in wanted if one.table == table and not there.get(one)]
        needless = [one for one in there if one.table == table and one not in wanted]
        if not (missing or needless):
            continue
        try:
            with _locked(connection, table):
                for one in needless:
                    _run(connection, f"DROP TRIGGER {quote(one.name)} ON {qualified(table)}")
                for one in missing:
                    _make(connection, names, one)
        except SourceError as error:
            done.failed.append(error)
            continue
        done.changes.append(f"table {table}: {'captured' if missing else 'no longer captured'}")
        done.remade += [table for one in missing if one.name == names.trigger]
    return done


def _make(connection: Connection[Any], names: CaptureNames, one: Trigger) -> None:
    """Make a trigger that fires in all sessions, also in those that apply changes of other databases."""
    of_rows = one.name == names.trigger
    events = "INSERT OR UPDATE OR DELETE" if of_rows else "TRUNCATE"
    arguments = literal(names.trigger) if one.is_partition else ""
    _run(
        connection,
        f"CREATE OR REPLACE TRIGGER {quote(one.name)} AFTER {events} ON {qualified(one.table)}"
        f" FOR EACH {'ROW' if of_rows else 'STATEMENT'}"
        f" EXECUTE FUNCTION ddlrepl.{quote(names.function)}({arguments})",
    )
    _run(connection, f"ALTER TABLE {qualified(one.table)} ENABLE ALWAYS TRIGGER {quote(one.name)}")


def _run(connection: Connection[Any], statement: str) -> None:
    """Run a statement about a trigger, which is no DDL that a capture of the log is to see."""
    connection.execute("SELECT ddlrepl.sync_capture_run(%s)", [statement])


@contextmanager
def _locked(connection: Connection[Any], table: TableName) -> Iterator[None]:
    try:
        with connection.transaction():
            connection.execute("SELECT set_config('lock_timeout', %s, true)", [LOCK_TIMEOUT])
            yield
    except (errors().LockNotAvailable, errors().DeadlockDetected):
        raise SourceError(
            f"{table} is locked: its triggers can't be made or dropped now",
            code="SRC-191",
            table=table,
            hint="end the transactions that write the table (pg_blocking_pids), and run again",
            retryable=True,
        ) from None
    except errors().InsufficientPrivilege as error:
        raise may_not(error, table) from None


def may_not(error: Exception, table: TableName | None = None) -> SourceError:
    """Return the error of a role that may not make or drop triggers."""
    return SourceError(
        f"the triggers of a synchronous capture can't be made or dropped: {str(error).splitlines()[0]}",
        code="SRC-105",
        table=table,
        hint="connect as the owner of the tables with CREATE on the database, or as a superuser",
    )
