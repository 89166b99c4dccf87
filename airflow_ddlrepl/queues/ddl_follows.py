"""This module lets a DDL statement of a queue follow the names that a client's row rules give to tables and columns."""

from __future__ import annotations

from dataclasses import replace

from airflow_ddlrepl.errors import RuleError
from airflow_ddlrepl.goldengate.event_record import record_of
from airflow_ddlrepl.model.change import Event, EventKind
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.queues.ddl_columns import NotRewritten
from airflow_ddlrepl.queues.ddl_texts import follow
from airflow_ddlrepl.queues.row_names import RowNames


def with_row_names(event: Event, names: RowNames, who: str) -> Event:
    """Return a statement as the client's rows need it: tables and columns by the names that its rules give to them.

    What is about a column that they delete is left out; a statement of which nothing is left is discarded. The same
    event comes back where no name changes. who: the client, in words.
    Raises RuleError RUL-160 where rules contradict each other, RUL-161 where the statement can't follow.
    """
    if not names.has_changes:
        return event
    try:
        return _followed(event, names)
    except NotRewritten as error:
        text = " ".join((event.statement or event.tag).split())
        raise RuleError(
            f"a statement can't follow the names that {who} gives to rows: {error}: {text}",
            code="RUL-161",
            hint="keep it out by a rule for DDL that is not true for it and run it at the destinations by hand, or"
            " change the transformations",
        ) from None


def _followed(event: Event, names: RowNames) -> Event:
    tables, before = (tuple(map(names.table, shapes)) for shapes in (event.tables, event.before))
    dropped = tuple((number, names.of(name).new) for number, name in event.dropped)
    followed = replace(event, tables=tables, before=before, dropped=dropped)
    is_renamed = (tables, before, dropped) != (event.tables, event.before, event.dropped)
    if event.kind is EventKind.TRUNCATE:
        return replace(followed, is_transformed=True) if is_renamed else event
    if event.statement is None:
        if is_renamed:
            raise NotRewritten("its text is not known")
        return event
    known: dict[TableName, tuple[str, ...]] = {}
    for table in (*event.before, *event.tables):
        known[table.name] = (*known.get(table.name, ()), *(column.name for column in table.columns))
    record = record_of(event)
    text, why = follow(event.statement, record.schema, names, base=record.known_base, known=known)
    if why:
        return replace(event, discarded=why)
    if text == event.statement and not is_renamed:
        return event
    return replace(followed, statement=text, query=None, is_transformed=True)
