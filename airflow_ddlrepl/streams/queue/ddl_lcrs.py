"""This module makes DDL LCRs of the control records of a log: one for each object that a statement is about."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime

from airflow_ddlrepl.goldengate.event_record import record_of
from airflow_ddlrepl.model.change import Event, EventKind
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.stored_names import SCHEMA_PATH
from airflow_ddlrepl.sql.comments import split_comments
from airflow_ddlrepl.sql.names import WITH_BASE, read
from airflow_ddlrepl.sql.objects import base_and_derived
from airflow_ddlrepl.sql.scan import scan
from airflow_ddlrepl.sql.spelling import spell
from airflow_ddlrepl.sql.tokens import Kind
from airflow_ddlrepl.streams.messages import DdlLcr
from airflow_ddlrepl.streams.queue.custom_functions import refused, what_of

TABLE = "TABLE"
_BY_A_QUERY = ("CREATE TABLE AS", "SELECT INTO")
_OWN_SCHEMA = re.compile(r"pg_.*|information_schema|ddlrepl", re.DOTALL)


def is_of_the_system(lcr: DdlLcr) -> bool:
    """Return whether a statement is about an object in a schema of the server's, or in ours: no capture takes it."""
    owners = (lcr.owner, lcr.base_owner)
    return any(owner is not None and _OWN_SCHEMA.fullmatch(owner) for owner in owners)


def ddl_lcrs(event: Event, database: str) -> list[DdlLcr]:
    """Return the DDL LCRs of a DDL statement or a TRUNCATE; none of another control record, or of one about the log.

    A statement that drops or truncates several tables has one for each. database: the source database's name.
    """
    if event.kind is EventKind.TRUNCATE:
        return [_lcr(event, database, "TRUNCATE TABLE", name, (TABLE, name)) for _, name in event.dropped]
    if event.kind is not EventKind.DDL or event.is_about_feed:
        return []
    record = record_of(event)
    reading = read(split_comments(record.raw, record.dialect)[0], record.dialect)
    command = event.tag or f"{reading.operation} {reading.object_type}".strip()
    if reading.object_type in WITH_BASE:
        base, derived = base_and_derived(reading, record.schema, record.known_base)
        name = derived or base or _unknown(record.schema)
        return [_lcr(event, database, command, name, (reading.object_type, base))]
    is_table = command.endswith(TABLE) or command in _BY_A_QUERY
    names = _tables(event) if is_table else []
    first = reading.objects[0] if reading.objects else None
    if first is not None and reading.object_type == "SCHEMA":
        names = [TableName(first.name, first.name)]
    if not names:
        names = [_unknown(record.schema) if first is None else TableName(first.schema or record.schema, first.name)]
    object_type = reading.object_type or (TABLE if is_table else "")
    return [_lcr(event, database, command, name, (object_type, name if is_table else None)) for name in names]


def with_lcr(event: Event, before: DdlLcr, after: DdlLcr, function: str) -> Event:
    """Return a statement as a function leaves its LCR. Raises RuleError RUL-136 where LCR and text do not agree."""
    if after == before:
        return event
    of = what_of(before)
    old, new = (TableName(lcr.owner or "", lcr.name or "") for lcr in (before, after))
    if event.kind is EventKind.TRUNCATE:
        if after.text != before.text or after.command != before.command:
            raise refused(function, of, "another statement", "a TRUNCATE can get another table, and no text")
        return replace(event, dropped=tuple((i, new) for i, _ in event.dropped), is_transformed=True)
    require_agreement(after, function, of)
    tables, shapes = (
        tuple(table.with_(name=new) if table.name == old else table for table in each)
        for each in (event.tables, event.before)
    )
    dropped = tuple((i, new if name == old else name) for i, name in event.dropped)
    settings = dict(event.settings)
    if after.current_schema != before.current_schema:
        settings[SCHEMA_PATH] = spell(after.current_schema)
    if after.logon_user != before.logon_user:
        settings["role"] = after.logon_user
    return replace(
        event,
        tag=after.command,
        statement=after.text,
        query=None,
        settings=settings,
        tables=tables,
        before=shapes,
        dropped=dropped,
        is_transformed=True,
    )


def require_agreement(lcr: DdlLcr, function: str, of: str) -> None:
    """Raise RuleError RUL-136 where a text is not the one statement about the object that the LCR names."""
    pieces = [piece for piece in scan(lcr.text) if piece.kind is not Kind.COMMENT]
    if any(piece.value == ";" for piece in pieces[:-1]):
        raise refused(function, of, "several statements in one text", "an array function gives one LCR for each")
    reading = read(lcr.text)
    first = reading.objects[0] if reading.objects else None
    if reading.object_type in WITH_BASE:
        base, derived = base_and_derived(reading, lcr.current_schema)
        found, wanted = [base], [TableName(lcr.base_owner or "", lcr.base_name or "")] if reading.base else [base]
        found, wanted = [*found, derived], [*wanted, TableName(lcr.owner or "", lcr.name or "")]
    elif first is None or reading.object_type == "SCHEMA":
        return
    else:
        found = [TableName(first.schema or lcr.current_schema, first.name)]
        wanted = [TableName(lcr.owner or "", lcr.name or "")]
    if found[-1] is not None and found != wanted:
        raise refused(
            function,
            of,
            f"a statement about {', '.join(map(str, found))} with an LCR of {', '.join(map(str, wanted))}",
            "change the text as the names: queues.functions.with_table_names does both",
        )


def _tables(event: Event) -> list[TableName]:
    """Return the tables that a statement is about, under the names that they had when it came."""
    old = {table.id: table.name for table in event.before}
    dropped = [name for _, name in event.dropped]
    return dropped or [old.get(table.id, table.name) for table in event.tables]


def _unknown(schema: str) -> TableName:
    return TableName(schema, "")


def _lcr(event: Event, database: str, command: str, name: TableName, base: tuple[str, TableName | None]) -> DdlLcr:
    object_type, base_name = base
    tag = event.settings.get("tag") or event.origin
    return DdlLcr(
        owner=name.schema,
        name=name.name or None,
        source_database=database,
        tag=str(tag).encode() if tag else None,
        transaction_id=str(event.transaction_id),
        scn=event.key.lsn,
        commit_scn=event.key.lsn,
        source_time=datetime.fromtimestamp(event.committed / 1e6, UTC).replace(tzinfo=None),
        command=command,
        object_type=object_type,
        base_owner=base_name.schema if base_name else None,
        base_name=base_name.name if base_name else None,
        text=event.statement or "",
        current_schema=record_of(event).schema,
        logon_user=str(event.settings.get("role") or ""),
    )
