"""This module makes the record of a DDL event of the log, which goes through Extract or Replicat."""

from __future__ import annotations

from airflow_ddlrepl.goldengate.record import Record
from airflow_ddlrepl.model.change import Event
from airflow_ddlrepl.sql.scan import scan
from airflow_ddlrepl.sql.spelling import spell
from airflow_ddlrepl.sql.tokens import Kind

_ROLE = "$user"


def record_of(event: Event) -> Record:
    """Return the record of a DDL event: its text, or, where that is not known, its command and its table's name."""
    names = [*(table.name for table in event.tables), *(name for _, name in event.dropped)]
    table = names[0] if len(names) == 1 else None
    path = scan(event.schema_path)
    schemas = [piece.text.lower() if piece.kind is Kind.WORD else piece.value for piece in path if piece.value != ","]
    text = event.statement
    if text is None:
        spelled = ".".join(spell(part) for part in names[0]) if names else ""
        text = f"{event.tag} {spelled}".rstrip()
    return Record(
        text,
        schema=next((schema for schema in schemas if schema != _ROLE), "public"),
        is_replicated=bool(event.origin),
        known_base=table,
    )
