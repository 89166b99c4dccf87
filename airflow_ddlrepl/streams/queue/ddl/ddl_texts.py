"""This module lets the text of a DDL statement follow the names that a client's rows have."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.sql.dialect import OURS
from airflow_ddlrepl.sql.mentions import mentioned
from airflow_ddlrepl.sql.names import WITH_BASE, Reading, read
from airflow_ddlrepl.sql.operation import BARE_IN_POSTGRES
from airflow_ddlrepl.sql.scan import scan
from airflow_ddlrepl.sql.spelling import spell
from airflow_ddlrepl.sql.tokens import Kind, Token
from airflow_ddlrepl.sql.words import Named
from airflow_ddlrepl.streams.queue.ddl.ddl_columns import (
    ColumnEdits,
    Columns,
    Edit,
    NotRewritten,
    Part,
    is_column,
    name_of,
)
from airflow_ddlrepl.streams.queue.ddl.row_names import LeftNames, RowNames

_WITHOUT_SCHEMA = frozenset(("SCHEMA", "ROLE", "USER", "DATABASE", "EXTENSION", "SERVER", "TABLESPACE", "PUBLICATION"))
_PROGRAMS = frozenset(("FUNCTION", "PROCEDURE"))
_READ = frozenset((("ALTER", "TABLE"), ("CREATE", "TABLE"), ("CREATE", "INDEX")))


class Followed(NamedTuple):
    """What a statement is like with other names. why: nothing of it is left for the client; empty: the text runs."""

    text: str
    why: str = ""


@dataclass
class _Statement:
    """A statement while it is rewritten. schema: of names without one. known: columns of tables, where known."""

    text: str
    schema: str
    names: RowNames
    base: TableName | None
    known: dict[TableName, tuple[str, ...]]
    edits: list[Edit] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.pieces = [piece for piece in scan(self.text) if piece.kind is not Kind.COMMENT]
        self.reading: Reading = read(self.text)

    def named(self, place: Named) -> TableName:
        return TableName(place.schema or self.schema, place.name)

    def new_names(self, place: Named) -> LeftNames:
        return self.names.of(self.named(place))

    def changed(self, names: LeftNames) -> dict[str, str | None]:
        """Return the columns of a table that are called otherwise."""
        return names.changed({*self.known.get(names.old, ()), *names.mentioned_columns})

    def rename(self, place: Named, to: TableName, *, is_bare: bool = False) -> None:
        """Note a table's new name, where it is another one."""
        if self.named(place) == to:
            return
        parts = (to.name,) if is_bare else (to.schema, to.name)
        spelled = ".".join(spell(part) for part in parts)
        if all((one.start, one.end) != (place.start, place.end) for one in self.edits):
            self.edits.append(Edit(place.start, place.end, spelled))

    def result(self) -> str:
        """Return the text with all that is noted."""
        if not self.parts or all(part.is_left for part in self.parts):
            return self._slice(0, len(self.text))
        kept = [self._slice(part.start, part.end) for part in self.parts if part.is_left]
        before, behind = self._slice(0, self.parts[0].start), self._slice(self.parts[-1].end, len(self.text))
        return before + ", ".join(kept) + behind

    def _slice(self, start: int, end: int) -> str:
        found, at = "", start
        for edit in sorted(self.edits):
            if start <= edit.start and edit.end <= end:
                found += self.text[at : edit.start] + edit.text
                at = edit.end
        return found + self.text[at:end]


def follow(
    text: str, schema: str, names: RowNames, *, base: TableName | None = None, known: dict[TableName, tuple[str, ...]]
) -> Followed:
    """Return a statement with the names that a client's rows have.

    schema: of names without one. base: the table of an index or trigger whose statement does not name it. known: the
    columns of tables. Raises NotRewritten where the statement can't follow.
    """
    of = _Statement(text, schema, names, base, known)
    why = _table_names(of)
    if why:
        return Followed(text, why)
    _require_plain_texts(of)
    why = _column_names(of)
    return Followed(text, why) if why else Followed(of.result())


def _table_names(of: _Statement) -> str:
    """Note the names of tables and other objects of a schema. Return why nothing is left of the statement."""
    reading = of.reading
    if reading.object_type == "SCHEMA":
        for place in reading.objects:
            to = of.names.schema(place.name)
            of.edits += [Edit(place.start, place.end, spell(to))] if to != place.name else []
        return ""
    if reading.is_rename:
        return _renamed_tables(of)
    if reading.object_type in WITH_BASE:
        _derived(of)
    elif reading.object_type not in _WITHOUT_SCHEMA:
        for place in reading.objects:
            of.rename(place, of.new_names(place).new)
    _moved(of)
    for place in mentioned(of.pieces, OURS):
        of.rename(place, of.new_names(place).new)
    for place in _qualified(of.pieces):
        of.rename(place, of.new_names(place).new)
    return ""


def _renamed_tables(of: _Statement) -> str:
    for old, new in zip(of.reading.objects, of.reading.new_names, strict=True):
        was, now = of.new_names(old).new, of.names.of(TableName(new.schema or of.named(old).schema, new.name)).new
        if was == now:
            return f"{of.named(old)} is called {now} before and after"
        if was.schema != now.schema:
            raise NotRewritten(f"{was} would have to become {now}, in another schema")
        of.rename(old, was)
        of.rename(Named(of.named(old).schema, new.name, new.start, new.end), now, is_bare=True)
    return ""


def _moved(of: _Statement) -> None:
    """Note the new name of the schema that ALTER … SET SCHEMA names."""
    words = [piece.value if piece.kind is Kind.WORD else "" for piece in of.pieces]
    for at in range(len(words) - 2):
        if words[at : at + 2] == ["SET", "SCHEMA"] and of.reading.objects:
            place = of.pieces[at + 2]
            was = of.new_names(of.reading.objects[0]).new
            now = of.names.of(TableName(name_of(place), of.reading.objects[0].name)).new
            if was.name != now.name:
                raise NotRewritten(f"{was} would have to become {now} in one statement")
            if now.schema != name_of(place):
                of.edits.append(Edit(place.start, place.end, spell(now.schema)))


def _derived(of: _Statement) -> None:
    """Note the names of an index or trigger, which goes where its table is, and of this table."""
    reading = of.reading
    base = of.named(reading.base) if reading.base else of.base
    if base is None:
        return
    to = of.names.of(base).new
    if reading.base:
        of.rename(reading.base, to)
    if (reading.operation, reading.object_type) not in BARE_IN_POSTGRES:
        for place in reading.objects:
            if of.named(place).schema == base.schema:
                of.rename(place, TableName(to.schema, place.name))


def _qualified(pieces: Sequence[Token]) -> Iterator[Named]:
    """Yield all names of two parts, and the first two parts of longer ones."""
    for at in range(len(pieces) - 2):
        first, dot, second = pieces[at : at + 3]
        is_first = at == 0 or pieces[at - 1].value != "."
        if dot.value == "." and is_first and {first.kind, second.kind} <= {Kind.WORD, Kind.NAME}:
            yield Named(name_of(first), name_of(second), first.start, second.end)


def _require_plain_texts(of: _Statement) -> None:
    """Raise NotRewritten where a text inside the statement names a table that is called otherwise."""
    is_program = of.reading.object_type in _PROGRAMS
    for at, piece in enumerate(of.pieces):
        if piece.kind is not Kind.STRING:
            continue
        is_name = at + 1 < len(of.pieces) and of.pieces[at + 1].value == "::"
        is_name |= at > 1 and of.pieces[at - 2].value in ("NEXTVAL", "CURRVAL", "SETVAL")
        if is_program or is_name:
            inner = piece.text.strip("'").split("$", 2)[-1] if is_program else piece.text.strip("'")
            for place in _qualified(scan(inner)):
                names = of.names.of(TableName(place.schema, place.name))
                if not names.is_same:
                    raise NotRewritten(f"a text in it names {names.old}")


def _column_names(of: _Statement) -> str:
    """Note the names of columns. Return why nothing is left of the statement. Raises NotRewritten."""
    reading, places = of.reading, [*of.reading.objects]
    places = [reading.base] if reading.object_type == "INDEX" and reading.base else places[:1]
    main = of.new_names(places[0]) if places and reading.object_type in ("TABLE", "INDEX") else None
    others = [of.new_names(place) for place in (*reading.objects, *mentioned(of.pieces, OURS))]
    others += [of.names.of(of.base)] if of.base is not None else []
    key = (reading.operation, reading.object_type)
    if main is None or key not in _READ | {("COMMENT", "TABLE")}:
        _require_no_columns(of, [one for one in (*others, *([main] if main else [])) if one.changes])
        return ""
    if reading.is_rename:
        return ""
    behind = [piece for piece in of.pieces if piece.start >= places[0].end and piece.text != ";"]
    changed = of.changed(main)
    edits = ColumnEdits(main.column if main.changes else _same, [*changed], _referenced(of))
    match key:
        case ("COMMENT", _):
            is_left = len(behind) < 2 or behind[0].value != "." or edits.subject(behind[1])
        case (_, "INDEX"):
            is_left = edits.create_index(behind)
        case ("CREATE", _):
            edits.create_table(behind)
            is_left = not edits.parts or any(part.is_left for part in edits.parts)
        case _:
            edits.alter_table(behind[1:] if behind and behind[0].value == "*" else behind)
            is_left = not edits.parts or any(part.is_left for part in edits.parts)
    _require_no_columns(of, [one for one in others if one.changes and one.old != main.old], is_query=True)
    of.edits += edits.edits
    of.parts = edits.parts
    return "" if is_left else f"column {edits.gone[-1]} of {main.old} is deleted or renamed by the rules of its rows"


def _same(name: str) -> str:
    return name


def _referenced(of: _Statement) -> Callable[[Sequence[Token], int], Columns | None]:
    def columns(pieces: Sequence[Token], at: int) -> Columns | None:
        starts = [piece.start for piece in pieces[at : at + 2]]
        place = next((one for one in mentioned(pieces, OURS) if one.start in starts), None)
        found = of.new_names(place) if place is not None else None
        return found.column if found is not None and found.changes else None

    return columns


def _require_no_columns(of: _Statement, tables: Sequence[LeftNames], *, is_query: bool = False) -> None:
    """Raise NotRewritten where a column that is called otherwise is in a statement that is not read so far.

    is_query: only inside a query.
    """
    if is_query and not any(piece.kind is Kind.WORD and piece.value == "SELECT" for piece in of.pieces):
        return
    for names in tables:
        changed = of.changed(names)
        for at, piece in enumerate(of.pieces):
            if name_of(piece) in changed and is_column(of.pieces, at) and piece.kind in (Kind.WORD, Kind.NAME):
                raise NotRewritten(f"it mentions column {name_of(piece)} of {names.old}")
