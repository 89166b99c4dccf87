"""This module describes the staging tables of one table, and how they are read back into the target's types.

Staging columns are named by column id: `c3` a value, `h3` is it there, `k3` the key before a move or the value before
all changes, `n` copies of a whole row. Where conflicts are looked for: `w` was the row there before, `p` the position
of its last change, `q` the conflict that is found, `v` does the change win it.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from airflow_ddlrepl.engines.postgres.connection.quoting import literal, qualified, quote
from airflow_ddlrepl.engines.postgres.connection.settings import SCHEMA
from airflow_ddlrepl.engines.postgres.merge.inline_rows import InlineRows
from airflow_ddlrepl.engines.postgres.types.as_written import is_characters, written
from airflow_ddlrepl.engines.postgres.types.underlying import ENUM, schema_of, underlying
from airflow_ddlrepl.integrate.discarded_row import DiscardedRow
from airflow_ddlrepl.mapping.misfits import is_cut, may_not_fit
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.settings.conflicts import ConflictAnswers
from airflow_ddlrepl.model.settings.row_kind import RowKind
from airflow_ddlrepl.model.settings.table_settings import CoerceErrorPolicy
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


@dataclass(frozen=True, slots=True)
class StagedColumn:
    """A staged column says how one column is staged and read back.

    It has the column's id at the source, its names there and in the target, its SQL type in staging.
    cast: the type that its staged value is cast to, "" when assignment is enough. is_regclass: a text has to be read
    as that type's input. in_array: staged as a one-element array (ADBC can't copy bytes into numeric). collation: of
    the target's column when it has one of its own. operators: schema of its `=` when that is not pg_catalog.
    is_key; is_set: an UPDATE sets it. as_written: the text that the source's type writes is read as the target's.
    """

    id: int
    source_name: str
    name: str
    staging_type: str
    target_type: str
    cast: str = ""
    is_regclass: bool = False
    collation: str = ""
    operators: str = ""
    in_array: bool = False
    is_key: bool = False
    is_set: bool = True
    as_written: bool = False

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
    """This value is one table's (or one bucket's) net change, staged and ready to be merged.

    tables: staging table and row count per kind; only those that hold rows. inline: of these kinds the rows are
    here, and no such table was made. held: ids of the columns that have an `h` flag, per kind. fills: SQL of target
    columns that the rows do not know, for inserts. replaces: updates must delete and insert (they set a column that
    UPDATE can't set). changes: rows read from the trail. outside: how many of them are about rows that the target does
    not take (`restrict`). ignored: how many their kind has left out. deletion: the target's column that says
    whether a row was deleted, where deleted rows stay; "": they don't. is_resilient: rows that it inserts may be there
    already, and rows that it changes may be missing.
    nulled: how many values became NULL because the target's column can't hold them, by what to tell.
    settled: keys of rows that are not discarded any more, but for `discarded`: rows that do not fit the columns.
    conflicts: the answers to conflicts; None: none are looked for. has_heirs: tables inherit from the target's that are
    no partitions of it; their rows are not its own.
    """

    table_id: int
    target: TableName
    columns: tuple[StagedColumn, ...]
    tables: Mapping[Stage, str] = field(default_factory=dict)
    rows: Mapping[Stage, int] = field(default_factory=dict)
    inline: Mapping[Stage, InlineRows] = field(default_factory=dict)
    held: Mapping[Stage, tuple[int, ...]] = field(default_factory=dict)
    fills: tuple[tuple[str, str], ...] = ()
    replaces: bool = False
    changes: int = 0
    outside: int = 0
    ignored: Mapping[RowKind, int] = field(default_factory=dict)
    deletion: str = ""
    is_resilient: bool = False
    nulled: Mapping[str, int] = field(default_factory=dict)
    settled: tuple[tuple[str, ...], ...] = ()
    discarded: tuple[DiscardedRow, ...] = ()
    conflicts: ConflictAnswers | None = None
    has_heirs: bool = False

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
        return [name for stage, name in self.tables.items() if stage not in self.inline]

    def from_(self, stage: Stage) -> str:
        """Return SQL for the staged rows of a stage; inline rows are the statement's values."""
        if stage in self.inline:
            return self.inline[stage].sql()
        return qualified(TableName(SCHEMA, self.tables[stage]))


def staged_columns(
    source: Table, target: Table, encodings: Mapping[str, str], set_keys: Sequence[int] = ()
) -> tuple[StagedColumn, ...]:
    """Return the columns that both shapes and the rows have; a generated column of the target is left out.

    encodings: by source name. set_keys: ids of key columns whose equal values may look different.
    """
    in_target = {column.id: column for column in target.columns if not column.generated}
    keys = set(source.key.columns) if source.key else set()
    return tuple(
        _staged(column, in_target[column.id], encodings[column.name], source.types, keys, set_keys)
        for column in source.columns
        if column.id in in_target and column.name in encodings
    )


def with_cut_texts(columns: Sequence[StagedColumn], source: Table, target: Table) -> tuple[StagedColumn, ...]:
    """Return the columns with a cast for texts that may be too long for the target's: it cuts them. Keys stay whole."""
    theirs, ours = ({column.id: column for column in table.columns} for table in (source, target))
    return tuple(
        replace(one, cast=one.target_type) if not one.is_key and is_cut(theirs[one.id], ours[one.id]) else one
        for one in columns
    )


def unfit_columns(
    columns: Sequence[StagedColumn], source: Table, target: Table, policy: CoerceErrorPolicy
) -> tuple[tuple[StagedColumn, Column], ...]:
    """Return the columns that may have values which the target's can't hold, each with the target's.

    Values of a key can't become NULL; a row with such a key can be discarded.
    """
    theirs, ours = ({column.id: column for column in table.columns} for table in (source, target))
    wanted = [one for one in columns if policy is CoerceErrorPolicy.DISCARD or not one.is_key]
    found = [(one, ours[one.id]) for one in wanted if may_not_fit(theirs[one.id], ours[one.id])]
    return tuple(found) if policy.replaces else ()


def read_as_written(columns: Sequence[StagedColumn], target: Table, ids: Container[int]) -> tuple[StagedColumn, ...]:
    """Return the columns so that those with these ids are read from the text of their values by the target's types."""
    ours = {column.id: column.type for column in target.columns}

    def read(one: StagedColumn) -> StagedColumn:
        cast = "" if is_characters(ours[one.id]) else one.target_type
        return replace(one, as_written=True, cast=cast, is_regclass=False)

    return tuple(read(one) if one.id in ids else one for one in columns)


def with_own_types(columns: Sequence[StagedColumn], target: Table, names: Container[str]) -> tuple[StagedColumn, ...]:
    """Return the columns so that those with these names at the source are read by the types of the target's own.

    A text that is too long is refused, not cut. Key columns are as they are: their types only become wider.
    """
    return read_as_written(columns, target, {one.id for one in columns if one.source_name in names and not one.is_key})


def _staged(
    source: Column,
    target: Column,
    encoding: str,
    types: Sequence[TypeDefinition],
    keys: set[int],
    set_keys: Sequence[int],
) -> StagedColumn:
    name, text = underlying(source.type, types)
    staging_type, in_array = _staging_type(name, text, encoding)
    return StagedColumn(
        id=source.id,
        source_name=source.name,
        name=target.name,
        staging_type=staging_type,
        target_type=target.type.text,
        cast=_cast(staging_type, source.type, target.type),
        is_regclass=underlying(target.type, types)[0] == "regclass",
        collation=target.collation or "",
        operators=schema_of(target.type, types),
        in_array=in_array,
        is_key=source.id in keys,
        is_set=source.id not in keys or source.id in set_keys,
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


def fills(columns: Sequence[StagedColumn], target: Table) -> Iterator[tuple[str, str]]:
    """Yield columns younger than the rows, with what the source shows there; others take their default."""
    known = {column.id for column in columns}
    for column in target.columns:
        if column.id not in known and column.missing is not None and not column.generated:
            yield column.name, _missing(column)


def _missing(column: Column) -> str:
    return f"CAST({literal(column.missing or '')} AS {column.type.text})"


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
