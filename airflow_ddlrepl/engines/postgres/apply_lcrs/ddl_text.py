"""This module makes the text of a DDL LCR the one that runs at a target: its object may have another name there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from airflow_ddlrepl.errors import ApplyError
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.sql.dialect import Dialect
from airflow_ddlrepl.sql.names import WITH_BASE, Reading, read
from airflow_ddlrepl.sql.operation import BARE_IN_POSTGRES
from airflow_ddlrepl.sql.scan import scan
from airflow_ddlrepl.sql.spelling import Change, spell, with_names
from airflow_ddlrepl.sql.tokens import Kind
from airflow_ddlrepl.sql.words import Named
from airflow_ddlrepl.streams.messages import DdlLcr

_IN_SCHEMAS = frozenset(("TABLE", "INDEX", "VIEW", "MATERIALIZED VIEW", "SEQUENCE", "TRIGGER"))
"""Objects of these types are called SCHEMA.NAME; the text of a statement on others runs as it is."""


def text_at_target(lcrs: Sequence[DdlLcr], schema: str) -> str:
    """Return the text of a statement with the names that its LCRs have, where the text has others.

    lcrs: one for each object of the statement that the client takes; the others are left out of the text. schema: of
    names without one. Raises ApplyError APL-107 where the text can't be changed so, or is not known.
    """
    lcr = lcrs[0]
    if not lcr.text:
        raise _refused(lcr, "the log does not have it")
    reading = read(lcr.text, Dialect.POSTGRES)
    if reading.object_type not in _IN_SCHEMAS:
        return lcr.text
    text = _with_objects(lcrs, reading, schema) if len(reading.objects) > 1 else _renamed(lcr, reading, schema)
    return _in_a_transaction(text) if reading.object_type == "INDEX" else text


def _with_objects(lcrs: Sequence[DdlLcr], reading: Reading, schema: str) -> str:
    """Return the text of a statement on several objects with those of the LCRs alone."""
    text, places = lcrs[0].text, reading.objects
    wanted = [name for lcr in lcrs if (name := _name(lcr.owner, lcr.name)) is not None]
    by_name = {one.name: one for one in wanted}
    named = [
        by_name[place.name]
        if not place.schema and place.name in by_name
        else TableName(place.schema or schema, place.name)
        for place in places
    ]
    if reading.is_rename or not wanted or not set(wanted) <= set(named):
        raise _refused(lcrs[0], "it names several objects")
    if set(wanted) == set(named):
        return text
    listed = ", ".join(".".join(spell(part) for part in name) for name in named if name in wanted)
    return f"{text[: places[0].start]}{listed}{text[places[-1].end :]}"


def _renamed(lcr: DdlLcr, reading: Reading, schema: str) -> str:
    changes = list(_changes(lcr, reading, schema))
    return with_names(lcr.text, changes, Dialect.POSTGRES) if changes else lcr.text


def _in_a_transaction(text: str) -> str:
    """Return the text of a statement on an index without CONCURRENTLY, which no transaction allows."""
    words = (piece for piece in scan(text, Dialect.POSTGRES) if piece.kind is not Kind.COMMENT)
    for piece, _ in zip(words, range(4), strict=False):  # CREATE UNIQUE INDEX CONCURRENTLY
        if piece.kind is Kind.WORD and piece.value == "CONCURRENTLY":
            return f"{text[: piece.start]}{text[piece.end :].lstrip()}"
    return text


def _changes(lcr: DdlLcr, reading: Reading, schema: str) -> Iterator[Change]:
    own = _name(lcr.owner, lcr.name)
    known = [_meant(place, own, schema) for place in (*reading.objects, *reading.new_names)]
    if own is not None and known and own not in known:
        if reading.is_rename:
            raise _refused(lcr, "it renames the object, too")
        is_bare = (reading.operation, reading.object_type) in BARE_IN_POSTGRES
        yield Change(reading.objects[0], own, is_bare)
    base = _name(lcr.base_owner, lcr.base_name)
    is_other = base is not None and reading.base is not None and _meant(reading.base, base, schema) != base
    if is_other and reading.object_type in WITH_BASE and base is not None and reading.base is not None:
        yield Change(reading.base, base)


def _name(owner: str | None, name: str | None) -> TableName | None:
    return TableName(owner, name) if owner and name else None


def _meant(place: Named, wanted: TableName | None, schema: str) -> TableName:
    """Return the name that a place in a text means."""
    return TableName(place.schema or schema or (wanted.schema if wanted else ""), place.name)


def _refused(lcr: DdlLcr, why: str) -> ApplyError:
    return ApplyError(
        f"the text of {lcr.command} {lcr.owner}.{lcr.name} can't run with the LCR's names: {why}",
        code="APL-107",
        table=f"{lcr.owner}.{lcr.name}",
        hint="let the function that transforms the LCR change its text, too; or run the statement by hand, and delete"
        " the error",
    )
