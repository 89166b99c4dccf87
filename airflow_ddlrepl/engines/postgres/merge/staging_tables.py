"""This module describes the staging tables of one table, and how they are read back into the target's types.

Staging columns are named by column id: `c3` a value, `h3` is it there, `k3` the key before a move or the value before
all changes, `n` copies of a whole row. Where conflicts are looked for: `w` was the row there before, `p` the position
of its last change, `q` the conflict that is found, `v` does the change win it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from airflow_ddlrepl.engines.postgres.connection.quoting import literal, qualified, quote
from airflow_ddlrepl.engines.postgres.connection.settings import SCHEMA
from airflow_ddlrepl.engines.postgres.merge.inline_rows import InlineRows
from airflow_ddlrepl.engines.postgres.types.as_written import is_characters, written
from airflow_ddlrepl.engines.postgres.types.underlying import ENUM, schema_of, underlying
from airflow_ddlrepl.integrate.ready_rows import LeftOut
from airflow_ddlrepl.integrate.steps.row_columns import RowColumn
from airflow_ddlrepl.mapping.extra_columns import OF_CHANGE, value_of
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.settings.conflicts import ConflictAnswers
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.model.types import DataType, TypeDefinition, TypeKind

_CHARACTERS = {"text": "text", "varchar": "text", "bpchar": "bpchar", "name": "name", "char": '"char"'}
_DOCUMENTS = frozenset({"json", "jsonb", "xml"})


class Stage(StrEnum):
    """A stage is the kind of change that a staging table holds."""

    DELETES = "d"
    UPDATES = "u"
    MOVES = "m"
    INSERTS = "i"
    REMOVED = "x"  # whole rows of a table without a key, with copies
    ADDED = "y"

    @property
    def key_prefix(self) -> str:
        """Return how the staged columns are named by which the target's rows are found."""
        return "k" if self in (Stage.DELETES, Stage.MOVES) else "c"


@dataclass(frozen=True, slots=True)
class StagedColumn:
    """A staged column says how one column is staged and read back."""

    id: int
    """Of the source's column."""
    source_name: str
    """The column's name in the rows (`RowColumn.name`)."""
    name: str
    """The target's column."""
    staging_type: str
    """Its SQL type in staging."""
    target_type: str
    cast: str = ""
    """The type that its staged value is cast to; empty: assignment is enough."""
    is_regclass: bool = False
    """Has a text to be read as that type's input?"""
    collation: str = ""
    """Of the target's column when it has one of its own."""
    operators: str = ""
    """The schema of its `=` when that is not pg_catalog."""
    in_array: bool = False
    """Is it staged as a one-element array? ADBC can't copy bytes into numeric."""
    is_key: bool = False
    is_set: bool = True
    """Does an UPDATE set it?"""
    as_written: bool = False
    """Is the text that the source's type writes read as the target's?"""

    @property
    def is_as_staged(self) -> bool:
        """Return whether the target's column takes the value in the send format that it has in the rows."""
        return not (self.cast or self.as_written or self.is_regclass)

    @property
    def is_of_source(self) -> bool:
        """Return whether the column's values are in the log."""
        return not self.source_name.startswith("\0")

    @property
    def staged_name(self) -> str:
        """Return the column's name in a staging table."""
        return f"c{self.id}"

    def value(self, alias: str, prefix: str = "c") -> str:
        """Return SQL that reads the staged value."""
        plain = f"{alias}.{prefix}{self.id}"
        plain = f"({plain})[1]" if self.in_array else plain
        plain = written(plain) if self.as_written else plain
        if self.cast and self.is_regclass:  # its cast from text takes neither `-` nor a number, its input does
            plain = f"CAST({plain} AS bpchar)"
        return f"CAST({plain} AS {self.cast})" if self.cast else plain

    def text(self, alias: str, prefix: str = "c") -> str:
        """Return SQL for the text that the source's type writes for the staged value; NULL for NULL."""
        return written(replace(self, cast="", as_written=False).value(alias, prefix))

    def equals(self, one: str, other: str) -> str:
        """Return SQL that compares as the type does, whatever the search path."""
        return f"{one} OPERATOR({quote(self.operators)}.=) {other}" if self.operators else f"{one} = {other}"

    def image(self, alias: str, prefix: str = "c") -> str:
        """Return SQL that reads the staged value in exactly the target's type."""
        return f"CAST({self.value(alias, prefix)} AS {self.target_type})"


@dataclass(frozen=True, slots=True)
class Staged:
    """This value is one table's (or one bucket's) net change, staged and ready to be merged."""

    table_id: int
    target: TableName
    columns: tuple[StagedColumn, ...]
    tables: Mapping[Stage, str] = field(default_factory=dict)
    """The staging table of each kind that has rows."""
    rows: Mapping[Stage, int] = field(default_factory=dict)
    """How many rows of each kind there are."""
    inline: Mapping[Stage, InlineRows] = field(default_factory=dict)
    """Of these kinds the rows are here, and no table was made."""
    copied: tuple[bytes, ...] = field(default=(), repr=False)
    """All new rows in COPY's binary format, where they go into the target's table as they are: no table was made."""
    ranges: Mapping[Stage, tuple[int, int]] = field(default_factory=dict)
    """The lowest and the highest key of the rows of a stage, where the key is one integer."""
    held: Mapping[Stage, tuple[int, ...]] = field(default_factory=dict)
    """Ids of the columns that have an `h` flag, per kind."""
    fills: tuple[tuple[str, str], ...] = ()
    """Columns of the target that the rows do not know, each with SQL of its value in inserts."""
    replaces: bool = False
    """Must updates delete and insert, because they set a column that UPDATE can't set?"""
    changes: int = 0
    """How many changes were read from the trail."""
    left_out: LeftOut = field(default_factory=LeftOut)
    """What of them the target does not take."""
    deletion: str = ""
    """The target's column that says whether a row was deleted, where deleted rows stay; empty: they don't."""
    is_resilient: bool = False
    """May rows that it inserts be there already, and rows that it changes be missing?"""
    conflicts: ConflictAnswers | None = None
    """The answers to conflicts; None: none are looked for."""
    has_heirs: bool = False
    """Do tables inherit from the target's that are no partitions of it? Their rows are not its own."""

    @property
    def there(self) -> str:
        """Return SQL that names the rows of the target's table."""
        return f"ONLY {qualified(self.target)}" if self.has_heirs else qualified(self.target)

    @property
    def keys(self) -> tuple[StagedColumn, ...]:
        """Return the columns of the key."""
        return tuple(column for column in self.columns if column.is_key)

    @property
    def is_partial(self) -> bool:
        """Does some update or move leave columns as they are?"""
        return any(self.held.values())

    def count(self, stage: Stage) -> int:
        """Return the number of rows that are staged for a stage of the merge."""
        return self.rows.get(stage, 0)

    @property
    def stored(self) -> list[str]:
        """Return the names of the staging tables that were made."""
        without = {*self.inline, *([Stage.INSERTS] if self.copied else [])}
        return [name for stage, name in self.tables.items() if stage not in without]

    def from_(self, stage: Stage) -> str:
        """Return SQL for the staged rows of a stage; inline rows are the statement's values."""
        if stage in self.inline:
            return self.inline[stage].sql()
        return qualified(TableName(SCHEMA, self.tables[stage]))


def staged_column(of: RowColumn, types: Sequence[TypeDefinition]) -> StagedColumn:
    """Return how a column of net rows is staged. types: definitions of the types that the source's table uses."""
    source, target = of.source, of.target
    if source is None:
        staging = OF_CHANGE.get(value_of(target), target.type.text)
        cast = "" if staging == target.type.text else target.type.text
        return StagedColumn(of.id, of.name, target.name, staging, target.type.text, cast)
    name, text = underlying(source.type, types)
    staging, in_array = _staging_type(name, text, of.encoding)
    cast, is_regclass = _cast(staging, source.type, target.type), underlying(target.type, types)[0] == "regclass"
    if of.is_by_text:
        cast, is_regclass = "" if is_characters(target.type) else target.type.text, False
    return StagedColumn(
        id=of.id,
        source_name=of.name,
        name=target.name,
        staging_type=staging,
        target_type=target.type.text,
        cast=target.type.text if of.is_cut else cast,
        is_regclass=is_regclass,
        collation=target.collation or "",
        operators=schema_of(target.type, types),
        in_array=in_array,
        is_key=of.is_key,
        is_set=of.is_set,
        as_written=of.is_by_text,
    )


def staging_type(source: Column, types: Sequence[TypeDefinition], encoding: str) -> str:
    """Return the SQL type of a staging column that takes a column's values as the trail has them."""
    name, text = underlying(source.type, types)
    return _staging_type(name, text, encoding)[0]


def _staging_type(name: str, text: str, encoding: str) -> tuple[str, bool]:
    if encoding == "text" or name in _DOCUMENTS or name == ENUM:
        return "text", False
    if encoding == "binary" and name == "numeric":
        return "numeric[1]", True
    return _CHARACTERS.get(name, text), False


def _cast(staging_type: str, source: DataType, target: DataType) -> str:
    """Return the target's type where assignment would refuse; else "".

    Never for character types, where a cast cuts silently.
    """
    if target.kind is TypeKind.BASE and target.is_builtin and target.name in _CHARACTERS:
        if target.name == "char":
            return _CHARACTERS["char"]
        return _CHARACTERS[target.name] if staging_type != _CHARACTERS[target.name] else ""
    same = source.kind is target.kind and (source.schema, source.name) == (target.schema, target.name)
    if same and staging_type not in _CHARACTERS.values():
        return target.text if target.kind is TypeKind.DOMAIN else ""
    return target.text


def filled(column: Column) -> tuple[str, str]:
    """Return the name of a column that is younger than the rows, and SQL for what the source shows there."""
    return column.name, f"CAST({literal(column.missing or '')} AS {column.type.text})"


def replaces(columns: Sequence[StagedColumn], target: Table) -> bool:
    """Must updates delete and insert, because they set a column that UPDATE can't set?"""
    set_ids = {column.id for column in columns if column.is_set}
    return any(column.identity == "always" and column.id in set_ids for column in target.columns)


def short_names(columns: Sequence[StagedColumn]) -> dict[str, str]:
    """Return the names of a staging table's columns, by those of the rows that are read from the trail."""
    found = {"copies": "n", "was_there": "w", "lsn": "p", "q": "q", "v": "v"}
    for column in columns:
        for long_prefix, prefix in (("a", "c"), ("b", "k"), ("h", "h")):
            found[f"{long_prefix}_{column.source_name}"] = f"{prefix}{column.id}"
    return found
