"""Show how two revisions of a table differ, side by side, for a person."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from airflow_ddlrepl.cli.terminal import Diff
from airflow_ddlrepl.ddl.diff import diff
from airflow_ddlrepl.errors import ConfigError
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.revision import Revision
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.model.types import TypeDefinition
from airflow_ddlrepl.notation.name_pattern import any_matches
from airflow_ddlrepl.ports.types import TypeSystem
from airflow_ddlrepl.visible import as_lines

_SPAN = re.compile(r"(\d+)\.\.(\d+)")


@dataclass(frozen=True, slots=True)
class ShapeDiff(Diff):
    """A shape diff says how a table differs between two of its revisions.

    name: the table's name now. types: of the source.
    """

    name: str
    old: Revision
    new: Revision
    types: TypeSystem

    def to_json(self) -> dict[str, Any]:
        """Return the two revisions, the changes between them and the lines of the diff as JSON values."""
        return {
            "table": self.name,
            "table_id": self.old.table_id,
            "from": {"revision": self.old.number, "position": str(Position(self.old.key.lsn))},
            "to": {"revision": self.new.number, "position": str(Position(self.new.key.lsn))},
            "changes": [str(change) for change in diff(self.old.table, self.new.table, self.types)],
            "lines": list(self.lines()),
        }

    def text(self) -> str:
        """Return the diff and the list of changes as lines for a person."""
        heads = [f"{self.name} revision {r.number} from {Position(r.key.lsn)}" for r in (self.old, self.new)]
        changes = [f"  {change}" for change in diff(self.old.table, self.new.table, self.types)] or [
            "  nothing changed"
        ]
        return as_lines([f"--- {heads[0]}", f"+++ {heads[1]}", *self.lines(), "changes:", *changes])

    def lines(self) -> Iterator[str]:
        """Return every line of both shapes: `  ` in both, `- ` only before, `+ ` only after."""
        found = difflib.ndiff(list(_shape(self.old.table)), list(_shape(self.new.table)))
        return (line.rstrip() for line in found if not line.startswith("?"))


def parse_span(text: str) -> tuple[int, int]:
    """Parse two revision numbers: `3..5` is (3, 5). Raises ConfigError CFG-113."""
    found = _SPAN.fullmatch(text.strip())
    if found is None:
        raise ConfigError(f"--diff: {text!r} is not two revisions", code="CFG-113", hint="for example --diff 3..5")
    return int(found[1]), int(found[2])


def shape_diff(
    revisions: Iterable[Revision], span: tuple[int, int], wanted: Sequence[str], types: TypeSystem
) -> ShapeDiff:
    """Return how one table differs between two of its revisions.

    wanted: patterns that match one table's name; among several tables that had the name, the one that exists now.
    types: of the source.

    Raises ConfigError CFG-114 when more or fewer tables match, or a revision is not there.
    """
    tables: dict[int, dict[int, Revision]] = {}
    for revision in revisions:
        tables.setdefault(revision.table_id, {})[revision.number] = revision
    named = [known for known in tables.values() if any_matches(wanted, _name(known))]
    matching = [known for known in named if known[max(known)].table] or named
    if len(matching) != 1:
        names = ", ".join(sorted(str(_name(known)) for known in matching)) or "there is none"
        raise ConfigError(
            f"--diff is about one table: {names}",
            code="CFG-114",
            hint="name it with --table schema.table, as `ddlrepl revisions` prints it",
        )
    (known,) = matching
    for number in span:
        if number not in known:
            raise ConfigError(
                f"{_name(known)} has no revision {number}",
                code="CFG-114",
                hint=f"it has {min(known)} to {max(known)}",
            )
    return ShapeDiff(str(_name(known)), known[span[0]], known[span[1]], types)


def _name(known: Mapping[int, Revision]) -> TableName:
    """Return the table's name now, or the last that it had."""
    tables = [known[number].table for number in sorted(known)]
    return [table.name for table in tables if table][-1]


def _shape(table: Table | None) -> Iterator[str]:
    if table is None:
        return
    yield f"table {table.name}{' unlogged' if table.unlogged else ''}"
    yield from (f"  {_column(column)}" for column in table.columns)
    for key in table.keys:
        names = ", ".join(table.column(i).name for i in key.columns)
        when = f" deferrable initially {key.deferrable}" if key.deferrable else ""
        yield f"  {'primary key' if key.is_primary else 'unique key'} ({names}){when}"
    yield f"  replica identity {table.identity}"
    if table.partition_key:
        yield f"  partition by {table.partition_key}"
    if table.partition:
        yield f"  partition of {table.partition.of_name} {table.partition.bound}"
    for definition in table.types:
        yield f"  {_type(definition)}"


def _column(column: Column) -> str:
    parts = [column.name, column.type.text]
    if column.collation:
        parts.append(f"collate {column.collation}")
    if not column.nullable:
        parts.append("not null")
    if column.generated:
        parts.append(f"generated as ({column.default}) {column.generated}")
    elif column.default is not None:
        parts.append(f"default {column.default}")
    if column.identity:
        parts.append(f"identity {column.identity}")
    return " ".join(parts)


def _type(of: TypeDefinition) -> str:
    parts = [str(of.kind), f"{of.schema}.{of.name}"]
    if of.labels:
        parts.append(f"({', '.join(of.labels)})")
    if of.attributes:
        parts.append(f"({', '.join(f'{one.name} {one.type}' for one in of.attributes)})")
    if of.base:
        parts.append(of.base)
    if of.collation:
        parts.append(f"collate {of.collation}")
    if of.default is not None:
        parts.append(f"default {of.default}")
    parts += ["not null"] * of.not_null
    return " ".join([*parts, *(text for _, text in of.constraints)])
