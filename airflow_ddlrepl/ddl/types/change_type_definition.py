"""ALTER TYPE and ALTER DOMAIN change a type's definition, but not the columns that use it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from airflow_ddlrepl.ddl.base.change import TableChange
from airflow_ddlrepl.ddl.types.type_edits import AddAttribute, AddLabel, DropAttribute, TypeEdit, edits
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.types import TypeDefinition, TypeKind


@dataclass(frozen=True, slots=True)
class ChangeTypeDefinition(TableChange):
    """This change alters a type's definition by single edits that a server can make in place."""

    kind: ClassVar[str] = "change_type_definition"
    old: TypeDefinition
    new: TypeDefinition
    edits: tuple[TypeEdit, ...]

    def alter(self, table: Table) -> Table:
        """Return the table with the type's new definition."""
        return _with_definition(table, self.new)

    def describe(self) -> str:
        """Return the type's name and the edits."""
        return f"{self.new.schema}.{self.new.name}: {', '.join(_text(e) for e in self.edits)}"

    @property
    def needs_commit(self) -> bool:
        """Return whether the change adds an enum label, which can't be used before its transaction has committed."""
        return any(isinstance(e, AddLabel) for e in self.edits)

    @property
    def hazards(self) -> tuple[str, ...]:
        """Return a warning for each attribute that is dropped."""
        return self.losses

    @property
    def losses(self) -> tuple[str, ...]:
        """Return the same: the values of each of them are lost."""
        gone = [e.name for e in self.edits if isinstance(e, DropAttribute)]
        return tuple(f"the values of attribute {name} of {self.new.name} are lost at the target" for name in gone)


@dataclass(frozen=True, slots=True)
class ReplaceType(TableChange):
    """This change replaces an enum whose new labels no edit explains (some went, moved or changed) by a new type.

    The new type takes the enum's name.
    """

    kind: ClassVar[str] = "replace_type"
    old: TypeDefinition
    new: TypeDefinition

    def alter(self, table: Table) -> Table:
        """Return the table with the type's new definition."""
        return _with_definition(table, self.new)

    def describe(self) -> str:
        """Return the type's name with its labels before and after."""
        return f"{self.new.schema}.{self.new.name} ({', '.join(self.old.labels)}) -> ({', '.join(self.new.labels)})"


def spot(old: Table, new: Table) -> Iterator[ChangeTypeDefinition | ReplaceType]:
    """Yield a change for each type of both shapes, matched by id, whose definition differs.

    A difference that no edit explains is left to `opaque`, but for enums, which are replaced.
    """
    before = {t.id: t for t in old.types}
    for after in new.types:
        was = before.get(after.id)
        if was is None:
            continue
        found = edits(was, after)
        if found:
            yield ChangeTypeDefinition(was, after, found)
        elif found is None and was.kind == after.kind == TypeKind.ENUM:
            yield ReplaceType(was, after)


def _with_definition(table: Table, definition: TypeDefinition) -> Table:
    return table.with_(types=tuple(definition if t.id == definition.id else t for t in table.types))


def _text(edit: TypeEdit) -> str:
    words = re.sub(r"(?<=.)([A-Z])", r" \1", type(edit).__name__).lower()
    if isinstance(edit, AddAttribute):
        return f"{words} {edit.attribute.name} {edit.attribute.type}"
    values = " ".join(str(getattr(edit, name)) for name in edit.__slots__ if getattr(edit, name) != "")
    return f"{words} {values}"
