"""This module describes a batch of row changes of one table in Arrow, as the trail holds them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from airflow_ddlrepl.errors import RuleError
from airflow_ddlrepl.model.change import Op
from airflow_ddlrepl.streams.condition.kinds import Kind
from airflow_ddlrepl.streams.condition.moments import read_moment
from airflow_ddlrepl.streams.evaluation.reduce import ColumnFacts, Facts, Presence
from airflow_ddlrepl.streams.messages import Command, MessageClass, RowLcr

Flags = np.ndarray[Any, np.dtype[np.bool_]]
COMMANDS = {Op.INSERT: Command.INSERT, Op.UPDATE: Command.UPDATE, Op.DELETE: Command.DELETE}
WHOLE = 2
"""The value of `before` where the whole old row is there; 1: its key columns alone; 0: nothing of it."""


@dataclass(frozen=True, slots=True)
class RowClass:
    """A class of rows of a batch does the same with one tag: what is known of them decides most conditions.

    flags: which rows of the batch they are; None: all.
    """

    command: Command
    tag: bytes | None
    flags: Flags | None

    def put(self, into: np.ndarray[Any, Any], value: int) -> None:
        """Set the elements of an array that belong to these rows."""
        into[slice(None) if self.flags is None else self.flags] = value


@dataclass(frozen=True)
class RowBatch:
    """A batch is changes of rows of one table in log order: `op`, `before`, and columns as `a_NAME` and `b_NAME`.

    absent: in which rows the new value of a column is absent, by column. key: the columns of the table's key.
    kinds: of columns whose Arrow type does not say it, such as numbers and moments in text. tags: NULL for an
    untagged change; None: all are. attributes: values of further member functions, such as `get_scn`, by their
    names. columns, layout: of what the rows have. has_key: whether the source's table has one.
    """

    owner: str
    name: str
    source_database: str
    rows: pa.Table
    absent: Mapping[str, Flags] = field(default_factory=dict)
    key_columns: frozenset[str] = frozenset()
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    tags: pa.Array | None = None
    attributes: Mapping[str, pa.Array] = field(default_factory=dict)
    has_key: bool = True

    def __len__(self) -> int:
        return int(self.rows.num_rows)

    @cached_property
    def ops(self) -> np.ndarray[Any, np.dtype[np.int8]]:
        """Return the operation of each row."""
        found: np.ndarray[Any, np.dtype[np.int8]] = self.rows["op"].to_numpy()
        return found

    @cached_property
    def befores(self) -> np.ndarray[Any, np.dtype[np.int8]]:
        """Return what each row has of the old row."""
        found: np.ndarray[Any, np.dtype[np.int8]] = self.rows["before"].to_numpy()
        return found

    @cached_property
    def least_before(self) -> int:
        """Return what every update and delete has of the old row, at least."""
        relevant = self.befores[self.ops != Op.INSERT]
        return int(relevant.min()) if len(relevant) else WHOLE

    @cached_property
    def layout(self) -> tuple[Any, ...]:
        """Return what compiled conditions depend on; batches with the same layout share them."""
        return (
            self.least_before,
            tuple((field.name, field.type) for field in self.rows.schema),
            frozenset(self.absent),
            self.key_columns,
            tuple(sorted(self.kinds.items())),
            tuple((name, values.type) for name, values in sorted(self.attributes.items())),
        )

    def classes(self) -> Iterator[RowClass]:
        """Yield the classes of the batch's rows. Raises RuleError RUL-119 for an operation that is none of a row."""
        tags: list[tuple[bytes | None, Flags | None]] = [(None, None)]
        if self.tags is not None and self.tags.null_count < len(self.tags):
            encoded = pc.dictionary_encode(self.tags, null_encoding="encode")
            codes = encoded.indices.to_numpy(zero_copy_only=False)
            tags = [(tag, codes == code) for code, tag in enumerate(encoded.dictionary.to_pylist())]
        if not np.isin(self.ops, [*COMMANDS]).all():
            raise RuleError(
                f"a batch of rows of {self.owner}.{self.name} has an operation that is no change of a row",
                code="RUL-119",
                hint="for rules a TRUNCATE is DDL: evaluate it as a DDL LCR",
            )
        for op, command in COMMANDS.items():
            of_op = self.ops == op
            for tag, flags in tags:
                both = of_op if flags is None else of_op & flags
                if both.any():
                    yield RowClass(command, tag, None if both.all() else both)

    def attributes_of(self, rows: RowClass) -> dict[str, Any]:
        """Return the attributes of the rows of a class, by member functions."""
        return {
            "get_object_owner": self.owner,
            "get_object_name": self.name,
            "get_source_database_name": self.source_database,
            "get_command_type": rows.command.value,
            "get_tag": rows.tag,
            "is_null_tag": "Y" if rows.tag is None else "N",
        }

    def facts(self, rows: RowClass) -> Facts:
        """Return what is known of the rows of a class."""
        columns = {name: self._column(name, rows.command) for name in self.columns}
        return Facts(rows.command, self.attributes_of(rows), columns)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Return the names of the table's columns."""
        return tuple(dict.fromkeys(name[2:] for name in self.rows.column_names if name.startswith(("a_", "b_"))))

    def _column(self, name: str, command: Command) -> ColumnFacts:
        new = old = Presence.NEVER
        if command is not Command.DELETE and f"a_{name}" in self.rows.column_names:
            new = Presence.SOMETIMES if name in self.absent else Presence.ALWAYS
        if command is not Command.INSERT and f"b_{name}" in self.rows.column_names:
            needed = self.needed_before(name)
            old = Presence.ALWAYS if self.least_before >= needed else Presence.SOMETIMES
        return ColumnFacts(self.kind_of(name), old, new)

    def needed_before(self, column: str) -> int:
        """Return the value of `before` from which on a column's old value is there."""
        return 1 if column in self.key_columns else WHOLE

    def kind_of(self, column: str) -> Kind | None:
        """Return the kind of a column's values; None for one that conditions can't read."""
        side = "a" if f"a_{column}" in self.rows.column_names else "b"
        return self.kinds.get(column) or arrow_kind(self.rows.schema.field(f"{side}_{column}").type)

    def message(self, at: int) -> RowLcr:
        """Return one row as a row LCR."""
        return next(self.messages([at], self.columns))[1]

    def messages(
        self,
        places: Iterable[int],
        columns: Collection[str],
        message_class: MessageClass = MessageClass.CAPTURED,
    ) -> Iterator[tuple[int, RowLcr]]:
        """Yield rows as row LCRs with their places, for what no kernel says. columns: that are looked at."""
        names = [name for name in self.columns if name in columns]
        news = {name: self._values(f"a_{name}", name) for name in names if f"a_{name}" in self.rows.column_names}
        olds = {name: self._values(f"b_{name}", name) for name in names if f"b_{name}" in self.rows.column_names}
        known = {_ATTRIBUTES[one]: values.to_pylist() for one, values in self.attributes.items() if one in _ATTRIBUTES}
        tags = self.tags.to_pylist() if self.tags is not None else None
        for at in map(int, places):
            command, before = COMMANDS[Op(int(self.ops[at]))], int(self.befores[at])
            new = {n: v[at] for n, v in news.items() if not (n in self.absent and self.absent[n][at])}
            old = {n: v[at] for n, v in olds.items() if before >= self.needed_before(n)}
            yield (
                at,
                RowLcr(
                    self.owner,
                    self.name,
                    self.source_database,
                    tags[at] if tags else None,
                    message_class=message_class,
                    command=command,
                    old={} if command is Command.INSERT else old,
                    new={} if command is Command.DELETE else new,
                    **{name: values[at] for name, values in known.items()},
                ),
            )

    def only(self, flags: Flags) -> RowBatch:
        """Return the rows of the batch for which the flags are set."""
        if flags.all():
            return self
        chosen = pa.array(flags)
        return replace(
            self,
            rows=self.rows.filter(chosen),
            absent={name: values[flags] for name, values in self.absent.items()},
            tags=None if self.tags is None else self.tags.filter(chosen),
            attributes={name: values.filter(chosen) for name, values in self.attributes.items()},
        )

    def _values(self, column: str, name: str) -> list[Any]:
        values: list[Any] = self.rows[column].to_pylist()
        match self.kinds.get(name):
            case Kind.NUMBER:
                texts = (v.decode() if isinstance(v, bytes) else v for v in values)
                return [Decimal(v) if isinstance(v, str) else v for v in texts]
            case Kind.MOMENT:
                return [read_moment(v) if isinstance(v, str) else v for v in values]
        return values


_ATTRIBUTES = {
    "get_scn": "scn",
    "get_commit_scn": "commit_scn",
    "get_transaction_id": "transaction_id",
    "get_source_time": "source_time",
}


def arrow_kind(of: pa.DataType) -> Kind | None:
    """Return the kind of the values of an Arrow type; None for one that conditions can't read."""
    if pa.types.is_dictionary(of):
        return arrow_kind(of.value_type)
    if pa.types.is_string(of) or pa.types.is_large_string(of):
        return Kind.TEXT
    if pa.types.is_integer(of) or pa.types.is_floating(of) or pa.types.is_decimal(of):
        return Kind.NUMBER
    if pa.types.is_timestamp(of) or pa.types.is_date(of):
        return Kind.MOMENT
    return Kind.RAW if pa.types.is_binary(of) or pa.types.is_large_binary(of) else None
