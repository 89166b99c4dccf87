"""This module makes DDL LCRs of the control records of a log: one for each object that a statement is about."""

from __future__ import annotations

from datetime import UTC, datetime

from airflow_ddlrepl.goldengate.event_record import record_of
from airflow_ddlrepl.goldengate.statement.comments import split_comments
from airflow_ddlrepl.goldengate.statement.names import WITH_BASE, read
from airflow_ddlrepl.goldengate.statement.objects import base_and_derived
from airflow_ddlrepl.model.change import Event, EventKind
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.streams.messages import DdlLcr

TABLE = "TABLE"


def ddl_lcrs(event: Event, database: str) -> list[DdlLcr]:
    """Return the DDL LCRs of a DDL statement or a TRUNCATE; none of another control record.

    A statement that drops or truncates several tables has one for each. database: the source database's name.
    """
    if event.kind is EventKind.TRUNCATE:
        return [_lcr(event, database, "TRUNCATE TABLE", name, (TABLE, name)) for _, name in event.dropped]
    if event.kind is not EventKind.DDL:
        return []
    record = record_of(event)
    reading = read(split_comments(record.raw, record.dialect)[0], record.dialect)
    command = event.tag or f"{reading.operation} {reading.object_type}".strip()
    if reading.object_type in WITH_BASE:
        base, derived = base_and_derived(reading, record.schema, record.known_base)
        name = derived or base or _unknown(record.schema)
        return [_lcr(event, database, command, name, (reading.object_type, base))]
    is_table = command.endswith(TABLE)
    names = _tables(event) if is_table else []
    first = reading.objects[0] if reading.objects else None
    if first is not None and reading.object_type == "SCHEMA":
        names = [TableName(first.name, first.name)]
    if not names:
        names = [_unknown(record.schema) if first is None else TableName(first.schema or record.schema, first.name)]
    object_type = reading.object_type or (TABLE if is_table else "")
    return [_lcr(event, database, command, name, (object_type, name if is_table else None)) for name in names]


def _tables(event: Event) -> list[TableName]:
    """Return the tables that a statement is about, under the names that they had when it came."""
    old = {table.id: table.name for table in event.before}
    dropped = [name for _, name in event.dropped]
    return dropped or [old.get(table.id, table.name) for table in event.tables]


def _unknown(schema: str) -> TableName:
    return TableName(schema, "")


def _lcr(event: Event, database: str, command: str, name: TableName, base: tuple[str, TableName | None]) -> DdlLcr:
    object_type, base_name = base
    tag = event.settings.get("ddlrepl.tag") or event.origin
    return DdlLcr(
        owner=name.schema,
        name=name.name or None,
        source_database=database,
        tag=str(tag).encode() if tag else None,
        transaction_id=str(event.xid),
        scn=event.key.lsn,
        commit_scn=event.key.lsn,
        source_time=datetime.fromtimestamp(event.committed / 1e6, UTC).replace(tzinfo=None),
        command=command,
        object_type=object_type,
        base_owner=base_name.schema if base_name else None,
        base_name=base_name.name if base_name else None,
        text=event.statement or "",
        current_schema=record_of(event).schema,
        logon_user=str(event.settings.get("user") or ""),
    )
