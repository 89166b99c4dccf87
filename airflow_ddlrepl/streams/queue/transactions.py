"""This module says of rows which transactions they belong to: its number, when it committed, and its origin."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from airflow_ddlrepl.errors import TrailError

Ints = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class TransactionFacts:
    """These facts are of transactions in commit order; committed is in microseconds since 1970, UTC."""

    lsn: Ints
    transaction_id: Ints
    committed: Ints
    origins: pa.Array

    @classmethod
    def of(cls, table: pa.Table | pa.RecordBatch) -> TransactionFacts:
        """Return the facts of a table with the columns of the trail's transactions."""
        columns = [table.column(name) for name in ("lsn", "xid", "committed", "origin")]
        lsn, transaction_id, committed, origins = (
            one.combine_chunks() if isinstance(one, pa.ChunkedArray) else one for one in columns
        )
        return cls(lsn.to_numpy(), transaction_id.to_numpy(), committed.to_numpy(), origins)

    def places(self, lsn: Ints) -> Ints:
        """Return for each position which of the transactions it is. Raises TrailError TRL-127 for an unknown one."""
        at = np.searchsorted(self.lsn, lsn)
        if len(lsn) and (not len(self.lsn) or not np.array_equal(np.take(self.lsn, at, mode="clip"), lsn)):
            raise TrailError(
                "there are row changes without their transactions",
                code="TRL-127",
                hint="a file of the trail was replaced by hand: restore it",
            )
        return at

    def tags(self, at: Ints) -> pa.Array | None:
        """Return the tags of rows of these transactions: the name of the origin in bytes, NULL without one.

        None: no row has a tag.
        """
        if not any(self.origins.to_pylist()):
            return None
        tags = pa.array([one.encode() if one else None for one in self.origins.to_pylist()], pa.binary())
        return tags.take(pa.array(at))

    def attributes(self, at: Ints, wanted: Collection[str]) -> dict[str, pa.Array]:
        """Return what member functions, those wanted, give for rows of these transactions."""
        known = {
            "get_scn": lambda: pa.array(self.lsn[at]),
            "get_commit_scn": lambda: pa.array(self.lsn[at]),
            "get_transaction_id": lambda: pa.array(self.transaction_id[at]).cast(pa.string()),
            "get_source_time": lambda: pa.array(self.committed[at]).cast(pa.timestamp("us")),
        }
        return {name: known[name]() for name in known if name in wanted}
