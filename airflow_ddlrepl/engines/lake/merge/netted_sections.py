"""This module makes one net change of those that follow each other: a MERGE of few rows takes as long as one of more.

It does to the table what they do one after the other. Where that can't be told without the table's rows, they stay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from airflow_ddlrepl.engines.lake.connection.files import Files
from airflow_ddlrepl.engines.lake.merge.stage import COUNTED, DELETE, INSERT, OPERATION, UPDATE, Staged, key_ranges
from airflow_ddlrepl.engines.lake.types.arrow import arrow_type
from airflow_ddlrepl.engines.lake.types.physical import physical, widens_to
from airflow_ddlrepl.integrate.netting.equality import Ints
from airflow_ddlrepl.integrate.netting.keys import renumber
from airflow_ddlrepl.integrate.netting.net_changes import newest
from airflow_ddlrepl.integrate.netting.presence import Flags
from airflow_ddlrepl.model.table import Table

MOST_BYTES = 16 << 20
"""So many bytes of rows become one net change: they are in memory for it."""
_KIND = "rows"
_INEXACT = ("FLOAT", "DOUBLE")
"""Types in which Spark finds values equal whose bytes differ."""
_FLAGS = {OPERATION[0]: "TINYINT", "h": "BOOLEAN"}
"""The types of columns that are no values, by how their names begin."""


@dataclass(frozen=True, slots=True)
class Section:
    """A section is what the tasks of one have staged of a table's changes. shape: of the target's table then."""

    shape: Table
    staged: Sequence[Staged]

    @property
    def has_rows(self) -> bool:
        """Has any task staged rows?"""
        return any(one.files for one in self.staged)


def netted_sections(sections: Sequence[Section], shape: Table, files: Files) -> list[Sequence[Staged]]:
    """Return a table's sections, in their order, each with all that may become one net change.

    shape: of the target's table now.
    """
    runs: list[list[Section]] = []
    for section in sections:
        if runs and _is_one_change([*runs[-1], section]):
            runs[-1].append(section)
        else:
            runs.append([section])
    return [one for run in runs for one in _together(run, shape, files)]


def _is_one_change(run: Sequence[Section]) -> bool:
    """May these sections be of one net change: are all of their rows found by one key, and are they few?"""
    every = [one for section in run for one in section.staged]
    key = every[0].key
    has_others = any(one.key != key or one.is_resilient or one.deletion or one.files.keys() - {_KIND} for one in every)
    return bool(key) and not has_others and sum(one.size for one in every) <= MOST_BYTES


def _together(run: list[Section], shape: Table, files: Files) -> list[Sequence[Staged]]:
    every = [one for section in run for one in section.staged]
    with_rows = [section for section in run if section.has_rows]
    if len(with_rows) < 2:  # nothing follows anything
        return [every]
    types = {f"a{column.id}": physical(column.type, shape.types) for column in shape.columns}
    key = [f"a{number}" for number in every[0].key]
    is_exact = all(at in types and types[at] not in _INEXACT for at in key)
    net = None
    if is_exact and all(_widen(one, types) for one in every if one.files):
        net = _net(_Rows(with_rows, types, files), key)
    if net is None:
        return [section.staged for section in run]
    told = [Staged(one.key, read=one.read, left_out=one.left_out) for one in every]
    if not net.num_rows:
        return [told]
    first = next(one for one in every if one.files)
    path = f"{first.files[_KIND].removesuffix('.parquet')}_netted.parquet"
    with files.creating(path) as file:
        pq.write_table(net, file, compression="zstd", store_schema=False)
    held = {name: _FLAGS.get(name[0]) or types[name] for name in net.column_names}
    counts = {kind: pc.sum(pc.equal(net[OPERATION], op)).as_py() for kind, op in COUNTED.items()}
    netted = Staged(first.key, {_KIND: path}, {_KIND: held}, counts, ranges=key_ranges(net, first.key))
    return [[netted, *told]]


def _widen(one: Staged, types: Mapping[str, str]) -> bool:
    """Can all values be those of the types that the columns have now?"""
    return all(widens_to(of, types[at]) for at, of in one.types.get(_KIND, {}).items() if at in types)


class _Rows:
    """These are the rows of sections one after the other. types: of the columns that the table has now."""

    def __init__(self, sections: Sequence[Section], types: Mapping[str, str], files: Files) -> None:
        self.types, self.files = types, files
        parts = [[self._read(one) for one in section.staged if one.files] for section in sections]
        tables = [table for part in parts for table in part]
        self.table = pa.concat_tables(tables, promote_options="default").combine_chunks()
        self.section = np.repeat(np.arange(len(parts)), [sum(one.num_rows for one in part) for part in parts])
        """Which of the sections each row is of."""
        ids = [{f"a{column.id}" for column in section.shape.columns} for section in sections]
        self.known = {at: np.array([at in one for one in ids]) for at in types}
        """In which of the sections the table had a column."""

    def _read(self, one: Staged) -> pa.Table:
        """Return staged rows with the columns that the table has now; each `h` says whether there is a value."""
        with self.files.open(one.files[_KIND]) as file:
            rows = pq.read_table(file)
        found = {OPERATION: rows[OPERATION]}
        for at, of in self.types.items():
            if at in rows.column_names:
                flag = f"h{at[1:]}"
                has = pc.fill_null(rows[flag], True) if flag in rows.column_names else pa.repeat(True, rows.num_rows)
                found |= {at: rows[at].cast(arrow_type(of)), flag: has}
        return pa.table(found)

    def has(self, at: str) -> Flags:
        """Return which rows have a value of a column."""
        flag = f"h{at[1:]}"
        if flag not in self.table.column_names:
            return np.zeros(self.table.num_rows, bool)
        found: Flags = pc.fill_null(self.table[flag], False).to_numpy()
        return found


def _net(rows: _Rows, key: Sequence[str]) -> pa.Table | None:
    """Return what rows do one after the other as one row for each key.

    None: they contradict each other, or a row that comes back lacks a value that the one before it may have had.
    """
    values = rows.table
    if any(values[at].null_count for at in key):
        return None
    op, codes, places = values[OPERATION].to_numpy(), _numbered(values, key), np.arange(values.num_rows)
    keys = int(codes.max()) + 1
    in_order = np.argsort(codes, kind="stable")
    follows = codes[in_order][1:] == codes[in_order][:-1]
    if ((op[in_order][:-1] == DELETE) != (op[in_order][1:] == INSERT))[follows].any():
        return None
    first, last = newest(codes[::-1], places[::-1], keys), newest(codes, places, keys)
    gone = newest(codes[op == DELETE], places[op == DELETE], keys)
    is_new, is_gone = op[first] == INSERT, op[last] == DELETE
    is_back, stays = (gone >= 0) & ~is_gone, (op != DELETE) & (places > gone[codes])
    chosen = np.flatnonzero(~(is_new & is_gone))
    made = {OPERATION: pa.array(np.where(is_gone, DELETE, np.where(is_new, INSERT, UPDATE))[chosen].astype(np.int8))}
    made |= {at: values[at].take(pa.array(last[chosen])) for at in key}
    for at in rows.types.keys() - set(key):
        has = stays & rows.has(at)
        value_at = newest(codes[has], places[has], keys)
        if (is_back & (value_at < 0) & rows.known[at][rows.section[gone]]).any():
            return None
        if at in values.column_names:
            lacks = value_at[chosen] < 0
            made[at] = values[at].take(pa.array(value_at[chosen], mask=lacks))
            if (lacks & ~is_gone[chosen]).any():
                made[f"h{at[1:]}"] = pa.array(~lacks)
    return pa.table(made)


def _numbered(rows: pa.Table, key: Sequence[str]) -> Ints:
    codes = np.zeros(rows.num_rows, np.int64)
    for at in key:
        encoded = rows[at].combine_chunks().dictionary_encode()
        codes = renumber(codes * len(encoded.dictionary) + encoded.indices.to_numpy(zero_copy_only=False))
    return codes
