"""This module finds for each row of a batch the first of several conditions that is true, by kernels of Arrow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from airflow_ddlrepl.errors import RuleError
from airflow_ddlrepl.streams.condition import tree
from airflow_ddlrepl.streams.condition.printing import text_of
from airflow_ddlrepl.streams.evaluation.kernels import Batch, Kernel, Layout, NotInKernels, compiled
from airflow_ddlrepl.streams.evaluation.messages import holds
from airflow_ddlrepl.streams.evaluation.row_batch import RowBatch, RowClass


@dataclass(slots=True)
class Program:
    """A program is conditions in order, each with the number of a row for which it is the first true one.

    otherwise: the number of the other rows. kernels: of the conditions; None before they are compiled, empty where
    Arrow has none that mean the same.
    """

    steps: tuple[tuple[int, tree.Truth], ...]
    otherwise: int
    kernels: tuple[Kernel, ...] | None = None


def first_true(batch: RowBatch, programs: Sequence[tuple[RowClass, Program]], into: np.ndarray[Any, Any]) -> None:
    """Put the numbers of the rows of these classes into an array. Raises RuleError RUL-118, RUL-119."""
    columns = _columns(batch)
    computed: dict[str, Any] = {}
    for rows, program in programs:
        if program.kernels is None:
            _compile(batch, rows, program)
        try:
            if not program.kernels:
                raise NotInKernels
            found = _numbers(program, Batch(columns, computed), len(batch))
        except (NotInKernels, pa.ArrowInvalid, pa.ArrowNotImplementedError):
            _row_by_row(batch, rows, program, into)
            continue
        if rows.flags is None:
            into[:] = found
        else:
            np.copyto(into, found, where=rows.flags)


def _columns(batch: RowBatch) -> dict[str, Any]:
    rows = batch.rows
    columns = {name: rows.column(at) for at, name in enumerate(rows.column_names)}
    columns = {name: one.chunk(0) if one.num_chunks == 1 else one for name, one in columns.items()}
    columns |= {f"n_{name}": pa.array(flags) for name, flags in batch.absent.items()}
    return columns | {f"m_{name}": values for name, values in batch.attributes.items()}


def _compile(batch: RowBatch, rows: RowClass, program: Program) -> None:
    """Compile a program, once for all batches of its kind."""
    for node in _nodes(program):
        if isinstance(node, tree.Attribute) and node.name not in batch.attributes:
            raise RuleError(
                f"{text_of(node)} is not known of the rows of {batch.owner}.{batch.name}",
                code="RUL-119",
                hint="take it out of the condition: docs/streams.md says what rows have",
            )
    try:
        layout = _layout(batch, rows, program)
        program.kernels = tuple(compiled(condition, layout) for _, condition in program.steps)
    except NotInKernels:
        program.kernels = ()


def _layout(batch: RowBatch, rows: RowClass, program: Program) -> Layout:
    """Return how columns are read. Raises NotInKernels for one whose values are of another kind than their type."""
    names = {node.column for node in _nodes(program) if isinstance(node, tree.ColumnValue | tree.IsAbsent)}
    if names & batch.kinds.keys():
        raise NotInKernels("numbers or moments in text")
    types = {field.name: field.type for field in batch.rows.schema}
    types |= {f"m_{name}": values.type for name, values in batch.attributes.items()}
    needed = {name: batch.needed_before(name) for name in names}
    sometimes = {name: least for name, least in needed.items() if batch.least_before < least}
    return Layout(rows.command, types, frozenset(batch.absent), sometimes)


def _nodes(program: Program) -> Iterator[tree.Node]:
    for _, condition in program.steps:
        yield from condition.walk()


def _numbers(program: Program, batch: Batch, size: int) -> np.ndarray[Any, Any]:
    """Return the number of each row, as if it were of the program's class."""
    found = np.full(size, program.otherwise, np.int32)
    for (number, _), kernel in zip(reversed(program.steps), reversed(program.kernels or ()), strict=True):
        truth = kernel(batch)
        if isinstance(truth, pa.Scalar):
            if truth.as_py():
                found[:] = number
            continue
        if truth.null_count:
            truth = pc.fill_null(truth, False)
        np.copyto(found, number, where=truth.to_numpy(zero_copy_only=False))
    return found


def _row_by_row(batch: RowBatch, rows: RowClass, program: Program, into: np.ndarray[Any, Any]) -> None:
    names = {node.column for node in _nodes(program) if isinstance(node, tree.ColumnValue | tree.IsAbsent)}
    for at, message in batch.messages(range(len(batch)) if rows.flags is None else np.flatnonzero(rows.flags), names):
        into[at] = next((n for n, condition in program.steps if holds(condition, message)), program.otherwise)
