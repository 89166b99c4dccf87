"""This module is the Spark data source `ddlrepl`: it reads a table's changes from a channel's trail."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from airflow_ddlrepl.errors import TrailError
from airflow_ddlrepl.flow.change_feed.feed import ChangeFeed, FeedPartition, open_feed
from airflow_ddlrepl.flow.change_feed.options import FeedOptions, read_options
from airflow_ddlrepl.flow.change_feed.read import read
from airflow_ddlrepl.model.position import Position


class TrailSource(DataSource):
    """The data source `ddlrepl` shows the changes of one table; docs/change_feed.md lists its options.

    What was captured when it is loaded is what a batch reads, whatever is captured later.
    """

    _bounds: tuple[int, int] | None = None

    @classmethod
    def name(cls) -> str:
        """Return the name for `format`."""
        return "ddlrepl"

    def schema(self) -> StructType:
        """Return the columns of the feed."""
        with open_feed(self._options) as feed:
            self._bounds = (feed.start, max(feed.start, feed.end))
            return spark_schema(feed, *map(Position, self._bounds))

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return the reader of a batch."""
        return TrailReader(self._options, schema, self._bounds)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """Return the reader of a stream."""
        return TrailStreamReader(self._options, schema, self._bounds)

    @property
    def _options(self) -> FeedOptions:
        return read_options(dict(self.options))


def spark_schema(feed: ChangeFeed, start: Position, end: Position) -> StructType:
    """Return the feed's columns between two positions, as Spark's types."""
    return from_arrow_schema(feed.schema(feed.history(start, end)), prefer_timestamp_ntz=True)


@dataclass
class TrailPartition(InputPartition):
    """A trail partition is what one Spark task reads."""

    part: FeedPartition


class TrailReader(DataSourceReader):
    """A trail reader reads the changes between a start and an end. bounds: of the load that made the schema."""

    def __init__(self, options: FeedOptions, schema: StructType, bounds: tuple[int, int] | None) -> None:
        self.options = options
        self.given = schema
        self.bounds = bounds

    def partitions(self) -> list[InputPartition]:
        """Return what the tasks read."""
        with open_feed(self.options) as feed:
            start, end = map(Position, self.bounds or (feed.start, max(feed.start, feed.end)))
            return planned(feed, self.given, start, end, start)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:  # type: ignore[override]
        """Yield the changes of a partition."""
        assert isinstance(partition, TrailPartition)
        return read(partition.part)


class TrailStreamReader(DataSourceStreamReader):
    """A trail stream reader reads what is captured after what was read before.

    An offset is `{"epoch": …, "position": …}`: the channel's epoch, and the position before which all has been read.
    """

    def __init__(self, options: FeedOptions, schema: StructType, bounds: tuple[int, int] | None) -> None:
        self.options = options
        self.given = schema
        self.bounds = bounds

    def initialOffset(self) -> dict[str, int]:
        """Return where a new query starts."""
        with open_feed(self.options) as feed:
            return _offset(feed, Position(self.bounds[0]) if self.bounds else feed.start)

    def latestOffset(self) -> dict[str, int]:  # type: ignore[override]
        """Return the end of what can be read now: of what is captured, or the option `end`."""
        with open_feed(self.options) as feed:
            return _offset(feed, max(feed.end, Position(self.bounds[0] if self.bounds else 0)))

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:  # type: ignore[override]
        """Return what the tasks of a micro batch read."""
        with open_feed(self.options) as feed:
            if not start["epoch"] == end["epoch"] == feed.run.epoch:
                raise TrailError(
                    "the channel has begun another trail since the stream's offset",
                    code="TRL-126",
                    table=self.options.table,
                    hint="start a query with a new checkpoint, and read the table whole before it",
                )
            low, high = Position(start["position"]), Position(end["position"])
            feed.require_retained(low)
            return planned(feed, self.given, low, high, Position(min(low, self.bounds[0] if self.bounds else low)))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:  # type: ignore[override]
        """Yield the changes of a partition."""
        assert isinstance(partition, TrailPartition)
        return read(partition.part)


def planned(
    feed: ChangeFeed, schema: StructType, start: Position, end: Position, known_from: Position
) -> list[InputPartition]:
    """Return the partitions between two positions. known_from: where the revisions begin that the schema shows.

    Raises TrailError TRL-126 when the table's columns are no longer those of the schema.
    """
    known = feed.history(known_from, end)
    now = spark_schema(feed, known_from, end)
    if _names_and_types(now) != _names_and_types(schema):
        raise TrailError(
            "the table's columns have changed since the feed was loaded, or a schema was given that is not the feed's",
            code="TRL-126",
            table=feed.options.table,
            at=known.revisions[-1].key,
            hint="load it again; a streaming query goes on from its checkpoint when it is started again",
        )
    return [TrailPartition(part) for part in feed.partitions(start, end, known)]


def _names_and_types(schema: StructType) -> list[tuple[str, Any]]:
    return [(field.name, field.dataType) for field in schema.fields]


def _offset(feed: ChangeFeed, position: int) -> dict[str, int]:
    return {"epoch": feed.run.epoch, "position": int(position)}
