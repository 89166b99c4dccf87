"""A batch of pgoutput's messages by transaction, and what is read off it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from airflow_ddlrepl.engines.postgres.pgoutput import control_messages
from airflow_ddlrepl.engines.postgres.pgoutput.wire import Ints, Mask, Messages
from airflow_ddlrepl.model.position import LogKey
from airflow_ddlrepl.trail.transaction_columns import TRANSACTIONS


@dataclass(slots=True)
class OpenTransaction:
    """An open transaction is one whose end has not come yet."""

    lsn: int
    xid: int
    committed: int
    origin: str
    counted: int
    changes: int


@dataclass(slots=True)
class Batch:
    """A batch has one batch's messages by transaction: number 0 is the one that the batch before left open."""

    data: Messages
    tags: npt.NDArray[np.uint8]
    number: Ints
    seq: Ints
    lsn: Ints
    xid: Ints
    committed: Ints
    inside: Mask
    origins: dict[int, str]
    changes: Ints
    rare: list[int]
    relations: dict[int, list[tuple[int, control_messages.Relation]]] = field(default_factory=dict)


def stamp(one: Batch, index: int) -> control_messages.Stamp:
    """Return the place, transaction and origin of a message."""
    number = int(one.number[index])
    key = LogKey(int(one.lsn[number]), int(one.seq[index]))
    return control_messages.Stamp(key, int(one.xid[number]), int(one.committed[number]), one.origins.get(number, ""))


def left_open(one: Batch) -> OpenTransaction:
    """Return the transaction that the last message of a batch leaves open."""
    last = len(one.lsn) - 1
    counted = int(one.seq[-1]) + 1
    return OpenTransaction(
        lsn=int(one.lsn[last]),
        xid=int(one.xid[last]),
        committed=int(one.committed[last]),
        origin=one.origins.get(last, ""),
        counted=counted,
        changes=int(one.changes[last]),
    )


def transactions(one: Batch, done: Ints) -> pa.RecordBatch:
    """Return the transactions of a batch that have ended, by their numbers."""
    origins = [one.origins.get(i, "") for i in done.tolist()] if one.origins else [""] * len(done)
    return pa.RecordBatch.from_arrays(
        [
            pa.array(one.lsn[done]),
            pa.array(one.xid[done]),
            pa.array(one.committed[done]),
            pa.array(origins, pa.string()),
            pa.array(one.changes[done]),
        ],
        schema=TRANSACTIONS,
    )


def by_table(table: Ints, index: Ints) -> list[tuple[int, Ints]]:
    """Return the messages of each table, in their order."""
    if not len(table):
        return []
    if (table == table[0]).all():
        return [(int(table[0]), index)]
    distinct = np.unique(table)
    codes = np.searchsorted(distinct, table)
    small = codes.astype(np.uint16) if len(distinct) < 1 << 16 else codes
    order = np.argsort(small, kind="stable")
    cuts = np.cumsum(np.bincount(codes, minlength=len(distinct)))[:-1]
    groups = cast("list[Ints]", np.split(index[order], cuts))
    return [(int(number), rows) for number, rows in zip(distinct, groups, strict=True)]
