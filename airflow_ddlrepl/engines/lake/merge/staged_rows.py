"""This module reads staged rows in the driver's session, and counts what statements do with them."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from airflow_ddlrepl.engines.lake.connection.java import java_table
from airflow_ddlrepl.engines.lake.merge.stage import Staged
from airflow_ddlrepl.engines.lake.merge.staged_files import read

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_COUNTED = "spark.merge-into.num-target-rows-"


class StagedRows:
    """These are the staged rows of one section of a table's changes. to: the table's quoted name in Spark."""

    def __init__(self, spark: SparkSession, to: str, part: Sequence[Staged]) -> None:
        self.spark, self.to, self.part = spark, to, part

    def read(self, kind: str) -> DataFrame | None:
        """Return the staged rows of a kind; None: there are none."""
        paths = [one.files[kind] for one in self.part if kind in one.files]
        if not paths:
            return None
        return read(self.spark, self.to, paths, self.types(kind))

    def types(self, kind: str) -> dict[str, str]:
        """Return Spark's names of the types of all columns that some file of a kind has."""
        return {name: of for one in self.part for name, of in one.types.get(kind, {}).items()}

    @contextmanager
    def view(self, rows: DataFrame | None) -> Iterator[tuple[str, list[str]]]:
        """Name rows for statements inside the `with`; yield that name, and the names of their columns."""
        assert rows is not None, "there are rows to be merged"
        name = f"ddlrepl_{uuid.uuid4().hex}"
        rows.createOrReplaceTempView(name)
        try:
            yield name, rows.columns
        finally:
            self.spark.catalog.dropTempView(name)

    def execute(self, statement: str) -> Counter[str]:
        """Run a MERGE; return how many rows it has deleted, updated and inserted."""
        before = self._snapshot()
        self.spark.sql(statement)
        now = self._snapshot()
        if now is None or (before is not None and now.snapshotId() == before.snapshotId()):
            return Counter()
        summary = now.summary()
        kinds = {"deletes": "deleted", "updates": "updated", "inserts": "inserted"}
        if f"{_COUNTED}inserted" not in summary:  # a MERGE that only inserts is run as an append
            return Counter(inserts=int(summary.get("added-records") or 0))
        return Counter({kind: int(summary[f"{_COUNTED}{word}"]) for kind, word in kinds.items()})

    def _snapshot(self) -> Any:
        return java_table(self.spark, self.to).currentSnapshot()
