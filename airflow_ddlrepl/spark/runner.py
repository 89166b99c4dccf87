"""Runs independent tasks as Spark partitions; works the same on local, cluster and Connect sessions."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.spark.progress import watched
from airflow_ddlrepl.spark.session import session
from airflow_ddlrepl.spark.settings import SparkSettings

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)

Item = TypeVar("Item")
Result = TypeVar("Result")

LITTLE = 1 << 20
SCHEMA = "item long, ok boolean, payload binary"


class SparkRunner:
    """A Runner (model.work) on Spark. The session starts with the first map(), not before."""

    def __init__(self, settings: SparkSettings | None = None, app_name: str = "ddlrepl") -> None:
        self.settings = settings or SparkSettings.from_environment()
        self.app_name = app_name
        self._session: SparkSession | None = None

    @property
    def is_started(self) -> bool:
        """Has a map() started the session?"""
        return self._session is not None

    @property
    def parallelism(self) -> int:
        """Tasks that run at once. Before the session stands: what the settings promise."""
        if self._session is not None:
            return self._session_parallelism(self._session)
        return self.settings.parallelism

    def map(
        self, task: Callable[[Item], Result], items: Sequence[Item], label: str, size: int | None = None
    ) -> list[Result]:
        """Results in the order of the items. A task's DdlReplError is raised here as itself.

        A session takes seconds to start: less than LITTLE bytes are done right here while none runs.
        """
        if self._session is None and size is not None and size < LITTLE:
            return [task(item) for item in items]
        if not items:
            return []
        packed = [pickle.dumps((task, item)) for item in items]
        rows = self._run(packed, label)
        results = [pickle.loads(rows[index][1]) for index in range(len(items)) if rows[index][0]]
        if len(results) < len(items):
            raise pickle.loads(next(rows[index][1] for index in range(len(items)) if not rows[index][0]))
        return results

    def stop(self) -> None:
        """Ends the session (not a shared Connect server)."""
        if self._session is not None:
            self._session.stop()
            self._session = None

    def _run(self, packed: list[bytes], label: str) -> dict[int, tuple[bool, bytes]]:
        from pyspark.errors import PySparkException

        spark = self._started()
        work = spark.range(0, len(packed), 1, len(packed)).mapInArrow(_Work(packed), SCHEMA)
        try:
            with watched(spark, label, len(packed)):
                rows = work.collect()
        except PySparkException as error:
            raise DdlReplError(
                f"Spark could not run {label}: {_last_line(error)}",
                code="SPK-101",
                hint="the log above has the whole error; `ddlrepl doctor` checks Spark, Java and Python",
                retryable=True,
            ) from error
        return {row.item: (row.ok, bytes(row.payload)) for row in rows}

    def _started(self) -> SparkSession:
        if self._session is None:
            self._session = session(self.app_name, self.settings)
            log.info("Spark %s is up, %d tasks at once", self._session.version, self.parallelism)
        return self._session

    def _session_parallelism(self, spark: SparkSession) -> int:
        if self.settings.remote:
            return int(spark.conf.get("spark.default.parallelism", None) or self.settings.parallelism)
        return int(spark.sparkContext.defaultParallelism)


class _Work:
    """What a Spark task does with its one row: unpickle, run, pickle what came out."""

    def __init__(self, packed: list[bytes]) -> None:
        self.packed = packed

    def __call__(self, batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow

        names = ["item", "ok", "payload"]
        for batch in batches:
            for index in batch.column(0).to_pylist():
                ok, payload = _attempt(self.packed[index])
                columns: list[Any] = [
                    pyarrow.array([index], pyarrow.int64()),
                    pyarrow.array([ok], pyarrow.bool_()),
                    pyarrow.array([payload], pyarrow.binary()),
                ]
                yield pyarrow.RecordBatch.from_arrays(columns, names)


def _attempt(packed: bytes) -> tuple[bool, bytes]:
    """Our own errors travel back as values: Spark would turn them into text and try them again."""
    task, item = pickle.loads(packed)
    try:
        return True, pickle.dumps(task(item))
    except DdlReplError as error:
        return False, pickle.dumps(error)


def _last_line(error: Exception) -> str:
    """The Python error inside Spark's report, without the JVM's frames."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    python = [line for line in lines if not line.startswith(("at ", "Caused by", "File ", "Driver stacktrace", "..."))]
    named = [line for line in python if line.split(":")[0].endswith(("Error", "Exception"))]
    return (named or python or [type(error).__name__])[-1]
