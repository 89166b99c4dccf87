"""A Python data source that does nothing but read Parquet files: what any Python data source takes at least."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

ROW_FILES = "*[0-9].parquet"
BATCH_ROWS = 1 << 14


class PlainSource(DataSource):
    """A Python data source that gives Parquet files as they are, a task for each."""

    @classmethod
    def name(cls) -> str:
        return "benchmark_plain"

    def schema(self) -> StructType:
        return from_arrow_schema(pq.read_schema(self._files()[0]))

    def reader(self, schema: StructType) -> DataSourceReader:
        return PlainReader(self._files())

    def _files(self) -> list[Path]:
        return sorted(Path(self.options["folder"]).rglob(ROW_FILES))


@dataclass
class PlainPartition(InputPartition):
    """One file."""

    path: Path


@dataclass
class PlainReader(DataSourceReader):
    """Reads the files."""

    files: list[Path]

    def partitions(self) -> list[InputPartition]:
        return [PlainPartition(path) for path in self.files]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:  # type: ignore[override]
        assert isinstance(partition, PlainPartition)
        yield from pq.ParquetFile(partition.path, memory_map=True).iter_batches(batch_size=BATCH_ROWS)
