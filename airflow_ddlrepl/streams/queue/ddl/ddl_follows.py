"""This module lets a DDL statement of a queue follow the names that a client's row rules give to tables and columns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from airflow_ddlrepl.errors import RuleError
from airflow_ddlrepl.goldengate.event_record import record_of
from airflow_ddlrepl.model.change import Event, EventKind
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.streams.messages import DdlLcr
from airflow_ddlrepl.streams.queue.ddl.ddl_columns import NotRewritten
from airflow_ddlrepl.streams.queue.ddl.ddl_texts import follow
from airflow_ddlrepl.streams.queue.ddl.row_names import RowNames


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
        raise _refused(event.statement or event.tag, error, who) from None


def lcr_with_row_names(lcr: DdlLcr, names: RowNames, who: str, tables: Iterable[Table] = ()) -> DdlLcr | None:
    """Return a DDL LCR as the client's rows need it, as `with_row_names` does; None: nothing of it is left.

    tables: the shapes that are known. Raises RuleError RUL-160 and RUL-161.
    """
    if not names.has_changes:
        return lcr
    base = TableName(lcr.base_owner or "", lcr.base_name) if lcr.base_name else None
    own = TableName(lcr.owner or "", lcr.name or "")
    try:
        text, why = follow(lcr.text, lcr.current_schema, names, base=base, known=_columns(tables))
    except NotRewritten as error:
        raise _refused(lcr.text, error, who) from None
    if why:
        return None
    to = names.of(base).new if base is not None else None
    if lcr.object_type == "SCHEMA":
        name = names.schema(own.name)
        new = TableName(name, name)
    elif to is None or base == own:
        new = to or names.of(own).new
    else:
        new = TableName(to.schema if base is not None and own.schema == base.schema else own.schema, own.name)
    return replace(
        lcr,
        text=text,
        owner=new.schema,
        name=new.name or None,
        base_owner=to.schema if to is not None else lcr.base_owner,
        base_name=to.name if to is not None else lcr.base_name,
    )


def _refused(statement: str, error: NotRewritten, who: str) -> RuleError:
    return RuleError(
        f"a statement can't follow the names that {who} gives to rows: {error}: {' '.join(statement.split())}",
        code="RUL-161",
        hint="keep it out by a rule for DDL that is not true for it and run it at the destinations by hand, or"
        " change the transformations",
    )


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
    record, known = record_of(event), _columns((*event.before, *event.tables))
    text, why = follow(event.statement, record.schema, names, base=record.known_base, known=known)
    if why:
        return replace(event, discarded=why)
    if text == event.statement and not is_renamed:
        return event
    return replace(followed, statement=text, query=None, is_transformed=True)


def _columns(tables: Iterable[Table]) -> dict[TableName, tuple[str, ...]]:
    """Return the columns that tables had before a statement, or have after it."""
    known: dict[TableName, tuple[str, ...]] = {}
    for table in tables:
        known[table.name] = (*known.get(table.name, ()), *(column.name for column in table.columns))
    return known
