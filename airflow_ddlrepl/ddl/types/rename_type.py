"""ALTER TYPE … RENAME TO and SET SCHEMA rename a type; columns spell it differently, no value changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

from airflow_ddlrepl.ddl.base.change import TableChange
from airflow_ddlrepl.ddl.base.edit import shared_columns
from airflow_ddlrepl.ddl.sql.type_text import respell
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.types import DataType, TypeDefinition
from airflow_ddlrepl.sql.lexer import Kind, tokens


@dataclass(frozen=True, slots=True)
class RenameType(TableChange):
    """This change renames a type, or moves it to another schema.

    columns: per column id, the new spelling of its type and of its default.
    """

    kind: ClassVar[str] = "rename_type"
    id: int
    old: tuple[str, str]
    new: tuple[str, str]
    columns: tuple[tuple[int, DataType, str | None], ...]

    def alter(self, table: Table) -> Table:
        """Return the table with the new name wherever the type is spelled."""
        spelled = {i: (of, default) for i, of, default in self.columns}
        columns = tuple(
            replace(c, type=spelled[c.id][0], default=spelled[c.id][1]) if c.id in spelled else c for c in table.columns
        )
        return table.with_(columns=columns, types=tuple(self._respell(t) for t in table.types))

    def _respell(self, of: TypeDefinition) -> TypeDefinition:
        name = self.new if of.id == self.id else (of.schema, of.name)
        return replace(
            of,
            schema=name[0],
            name=name[1],
            base=respell(of.base, self.old, self.new) if of.base else of.base,
            attributes=tuple(replace(a, type=respell(a.type, self.old, self.new)) for a in of.attributes),
        )

    def describe(self) -> str:
        """Return the old and the new name."""
        return f"{'.'.join(self.old)} -> {'.'.join(self.new)}"


def spot(old: Table, new: Table) -> Iterator[RenameType]:
    """Yield a change for each type of both shapes, matched by id, whose schema or name differs."""
    before = {t.id: t for t in old.types}
    for after in new.types:
        was = before.get(after.id)
        if was is None:
            continue
        from_, to = (was.schema, was.name), (after.schema, after.name)
        if from_ != to:
            yield RenameType(after.id, from_, to, _respelled(old, new, from_, to))


def _respelled(
    old: Table, new: Table, was: tuple[str, str], now: tuple[str, str]
) -> tuple[tuple[int, DataType, str | None], ...]:
    return tuple(
        (b.id, a.type, _respelled_default(b.default, a.default, was, now))
        for b, a in shared_columns(old, new)
        if b.type.id == a.type.id and (b.type.schema, b.type.name) == was and (a.type.schema, a.type.name) == now
    )


def _respelled_default(before: str | None, after: str | None, was: tuple[str, str], now: tuple[str, str]) -> str | None:
    """Return the new default's text where only the type's name differs, else the old one."""
    if before is None or after is None:
        return before
    a, b = (" . ".join(f'"{part}"' for part in name) for name in (was, now))
    same = _all_quoted(before).replace(f":: {a}", f":: {b}") == _all_quoted(after)
    return after if same else before


def _all_quoted(text: str) -> str:
    """Return the tokens with every name as one in quotes."""
    names = (Kind.WORD, Kind.NAME)
    return " ".join(f'"{t.text}"' if t.kind in names else t.text for t in tokens(text))
