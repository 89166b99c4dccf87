"""This module writes chosen rows of a target's table as the source has them: those that differ, and no other one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from airflow_ddlrepl.engines.comparing import CompareTask, RepairTask
from airflow_ddlrepl.engines.postgres.catalog.server_facts import ServerFacts
from airflow_ddlrepl.engines.postgres.compare.digest import value
from airflow_ddlrepl.engines.postgres.compare.temporary_copy import NAME, fill
from airflow_ddlrepl.engines.postgres.connection.lock_retry import patiently
from airflow_ddlrepl.engines.postgres.connection.quoting import literal, qualified, quote
from airflow_ddlrepl.engines.postgres.connection.settings import SPELLING
from airflow_ddlrepl.engines.postgres.load.row_by_row import Exchange, NotByRow, write_differences
from airflow_ddlrepl.engines.postgres.load.swap import with_added
from airflow_ddlrepl.engines.postgres.load.table_rows import TableRows
from airflow_ddlrepl.engines.postgres.load.target_only_columns import added_columns
from airflow_ddlrepl.engines.postgres.merge.constraints import prepare_session
from airflow_ddlrepl.engines.postgres.owners.strangers import refuse_strangers, uses_of
from airflow_ddlrepl.engines.postgres.target import state
from airflow_ddlrepl.engines.target_state import Fence
from airflow_ddlrepl.errors import TargetError
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.notation.refresh_options import BY_ROW

if TYPE_CHECKING:
    from airflow_ddlrepl.engines.postgres.load.loader import PostgresLoader

KEYS = '"ddlrepl keys"'


def repair_rows(loader: PostgresLoader, task: RepairTask, fence: Fence, in_flight: Callable[[], Iterable[str]]) -> str:
    """Write the rows with the task's keys as the source has them; return what was done, as text.

    in_flight: called when the source's rows are read: keys of rows that are left as they are, for log that is to come
    changes them. Raises TargetError TGT-182 where the rows can't be written one by one, Fenced LCK-102.
    """
    connection = loader.connection
    refuse_strangers(connection, uses_of([task.state]), loader.trusted)
    connection.execute(SPELLING.encode())
    try:
        fill(connection, _chosen(task))
        keys = sorted(set(task.keys) - set(in_flight()))
        loader.origin.stamp()
        return patiently(partial(_write, loader, task, fence, keys), connection, loader.location)
    except NotByRow as why:
        raise TargetError(
            f"rows that differ can't be written one by one: {why}",
            code="TGT-182",
            table=task.state.name,
            hint="`ddlrepl refresh --table` with this table (of the source) loads it whole",
        ) from None
    finally:
        if not connection.closed:
            connection.execute(f"DROP TABLE IF EXISTS {qualified(NAME)}".encode())


def _chosen(task: RepairTask) -> CompareTask:
    """Return the comparison of the chosen rows alone, where a query may read the source's table."""
    compared, rows = task.compared, task.compared.contents
    if not isinstance(rows, TableRows) or rows.is_plain:
        return compared
    theirs = {column.id: column for column in compared.source.columns}
    ours = {column.id: column for column in compared.shape.columns}
    key = compared.source.key.columns if compared.source.key else ()
    text = f"ROW({', '.join(value(theirs[i], ours[i]) for i in key)})::text"
    chosen = f'{text} COLLATE "C" IN ({", ".join(map(literal, task.keys))})'
    return replace(compared, contents=replace(rows, chosen=chosen))


def _write(loader: PostgresLoader, task: RepairTask, fence: Fence, keys: list[str]) -> str:
    """Write the rows in one transaction that no other run takes part in."""
    connection, shape, name = loader.connection, task.state.shape, task.state.name
    with connection.transaction(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL row_security = off")
        state.hold(cursor, loader.holder, epoch=fence.epoch, token=fence.token)
        session = prepare_session(cursor)
        cursor.execute(f"LOCK TABLE ONLY {qualified(name)} IN SHARE ROW EXCLUSIVE MODE".encode())
        found = ServerFacts(connection).table(name)
        if found is None:
            raise NotByRow("the target has no such table any more")
        _keep_keys(cursor, keys)
        theirs = {column.id for column in task.compared.source.columns}
        kept = [column.name for column in shape.columns if column.id not in theirs]
        wanted = shape.with_(name=name)
        whole = with_added(wanted, added_columns(found, wanted, wanted))
        exchange = Exchange(found, wanted, wanted, whole, NAME, kept, chosen=_is_chosen(task, "t"))
        cursor.execute(f"DELETE FROM {qualified(NAME)} s WHERE NOT {_is_chosen(task, 's')}".encode())
        done = write_differences(cursor, exchange, BY_ROW, session).text
        reach("repair.transaction")
        return done


def _keep_keys(cursor: Any, keys: list[str]) -> None:
    cursor.execute(f"CREATE TEMPORARY TABLE {KEYS} (k text) ON COMMIT DROP".encode())
    cursor.execute(f"INSERT INTO {KEYS} SELECT unnest(%s::text[])".encode(), [keys])


def _is_chosen(task: RepairTask, side: str) -> str:
    """Return SQL that is true for the rows of a table at the target that have one of the keys."""
    ours = {column.id: column for column in task.state.shape.columns}
    key = task.compared.source.key.columns if task.compared.source.key else ()
    text = f"ROW({', '.join(f'{side}.{quote(ours[i].name)}' for i in key)})::text"
    return f'({text} COLLATE "C" IN (SELECT k COLLATE "C" FROM {KEYS}))'
