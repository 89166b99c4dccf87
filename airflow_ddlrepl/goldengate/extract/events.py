"""This module sends the DDL events of a source's log through Extract, and marks what it discards."""

from __future__ import annotations

from dataclasses import replace

from airflow_ddlrepl.config.goldengate.dialect import Dialect
from airflow_ddlrepl.config.goldengate.extract import ExtractParameters
from airflow_ddlrepl.goldengate.extract.pipeline import STAGES, extract
from airflow_ddlrepl.goldengate.record import Outcome, Record, evaluate
from airflow_ddlrepl.goldengate.statement.scan import Kind, scan
from airflow_ddlrepl.goldengate.statement.spelling import spell
from airflow_ddlrepl.model.change import Event, EventKind

_ROLE = "$user"


def extracted(event: Event, parameters: ExtractParameters) -> Event:
    """Return a DDL event as an Extract with these parameters writes it: its text, or that it is discarded, and why.

    Other events stay as they are, and so does what an inspection has found: no statement is known of it. Of a
    statement whose text is not known, such as one inside a function, the command and the table's name are evaluated.
    One that drops several tables is discarded as soon as one of them is to stay.
    """
    if event.kind is not EventKind.DDL or event.is_inspected:
        return event
    record = _record(event)
    evaluations = list(extract(record, parameters))
    if any(one.outcome is Outcome.DISCARDED for one in evaluations):
        why = next(one.why for one in evaluations if one.outcome is Outcome.DISCARDED)
        return replace(event, discarded=f"Extract discards it: {why}")
    if event.statement is None:
        return event
    whole = evaluations[0] if len(evaluations) == 1 else evaluate(record, parameters, STAGES)
    return replace(event, statement=whole.record.text)


def _record(event: Event) -> Record:
    names = [*(table.name for table in event.tables), *(name for _, name in event.dropped)]
    table = names[0] if len(names) == 1 else None
    path = scan(str(event.settings.get("search_path") or ""))
    schemas = [piece.text.lower() if piece.kind is Kind.WORD else piece.value for piece in path if piece.value != ","]
    text = event.statement
    if text is None:
        spelled = ".".join(spell(part, Dialect.POSTGRES) for part in names[0]) if names else ""
        text = f"{event.tag} {spelled}".rstrip()
    return Record(
        text,
        schema=next((schema for schema in schemas if schema != _ROLE), "public"),
        is_replicated=bool(event.origin),
        known_base=table,
    )
