"""Run independent tasks as Spark partitions, in local, cluster and Connect sessions alike."""

from __future__ import annotations

import logging
import os
import pickle
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Lock, Thread
from typing import TYPE_CHECKING, TypeVar

from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.ports.work import offer_session, withdraw_session
from airflow_ddlrepl.spark.execute.probe import has_own_python, import_all, needed, quiet
from airflow_ddlrepl.spark.execute.progress import log_progress
from airflow_ddlrepl.spark.execute.task_pickle import pack
from airflow_ddlrepl.spark.execute.worker import LACKING, MISMATCH, REFUSED, SCHEMA, Outcomes, Parcels, in_arrow, work
from airflow_ddlrepl.spark.execute.worker_python import lacks_package, other_version, unfit_python
from airflow_ddlrepl.spark.session.connect_server import require_answer
from airflow_ddlrepl.spark.session.session import is_classic, session, session_parallelism
from airflow_ddlrepl.spark.session.settings import SparkSettings, is_local

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)

Item = TypeVar("Item")
Result = TypeVar("Result")

SMALL_BYTES = 1 << 22
EXPECTED_BYTES = 1 << 26
"""Of less log a source is asked first whether anything in it is for the channel."""


class SparkRunner:
    """A Spark runner runs tasks on Spark; its session starts with the first map() that needs it."""

    def __init__(self, settings: SparkSettings | None = None, app_name: str = "ddlrepl") -> None:
        self.settings = settings or SparkSettings.from_environment()
        self.app_name = app_name
        self._session: SparkSession | None = None
        self._starting = Lock()
        self._is_starting_ahead = False
        if self.settings.targets:
            offer_session(self._started)

    @property
    def is_started(self) -> bool:
        """Return whether a map() has started the session."""
        return self._session is not None

    @property
    def parallelism(self) -> int:
        """Return how many tasks run at once; before the session starts, as its settings promise."""
        if self._session is not None:
            return session_parallelism(self._session)
        return self.settings.parallelism

    def map(
        self, task: Callable[[Item], Result], items: Sequence[Item], label: str, size: int | None = None
    ) -> list[Result]:
        """Return each item's result, in the order of the items; a task's DdlReplError is raised here as it is.

        size: bytes of the work, where known. Less than SMALL_BYTES is done in this process: a session takes seconds to
        start, and one that runs takes longer to send and collect so small a work than it takes here.
        """
        if size is not None and size < SMALL_BYTES:
            return [task(item) for item in items]
        return self._mapped(self._started(), task, items, label) if items else []

    def expect(self, size: int) -> None:
        """Start the session in a thread, beside what this one does, when so many bytes of work are worth it."""
        if size >= EXPECTED_BYTES and not (self.is_started or self._is_starting_ahead):
            self._is_starting_ahead = True
            Thread(target=self._start_ahead, name="ddlrepl-spark", daemon=True).start()

    def probe(self) -> None:
        """Raise UnfitPython SPK-102 when the Python of a cluster's workers lacks what tasks need; starts the session.

        With a local master the workers run this Python, and nothing is started.
        """
        remote = self.settings.remote
        if "PYSPARK_GATEWAY_PORT" in os.environ or not is_local(remote or self.settings.effective_master):
            self._started()

    def stop(self) -> None:
        """End the session (not a shared Connect server)."""
        withdraw_session(self._started)
        with self._starting:
            if self._session is not None:
                self._session.stop()
                self._session = None

    def _start_ahead(self) -> None:
        """Start the session; an error comes again where the session is needed."""
        with suppress(DdlReplError):
            self._started()

    def _mapped(
        self, spark: SparkSession, task: Callable[[Item], Result], items: Sequence[Item], label: str
    ) -> list[Result]:
        secrets: list[str] = []
        rows = self._run(spark, [pack((task, item), secrets) for item in items], secrets, label)
        for state, payload in rows:
            if state == MISMATCH:
                raise other_version(payload, self._is_connect)
            if state == LACKING:
                raise lacks_package(payload, self._is_connect)
            if state == REFUSED:
                raise pickle.loads(payload)
        return [pickle.loads(payload) for _, payload in rows]

    @property
    def _is_connect(self) -> bool:
        return bool(self.settings.remote)

    def _run(
        self, spark: SparkSession, parcels: list[bytes], secrets: list[str], label: str
    ) -> list[tuple[str, bytes]]:
        """Return state and payload of every pickled task.

        Each is a partition of its own, so that a free core always finds the next one.
        """
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        try:
            with log_progress(spark, label, len(parcels)):
                done = _collected(spark, parcels, work(secrets))
        except (PySparkException, Py4JError) as error:
            if (unfit := unfit_python(str(error), self._is_connect)) is not None:
                raise unfit from None
            if self._is_connect and not is_local(self.settings.remote):
                require_answer(self.settings.remote)
            raise DdlReplError(
                f"Spark could not run {label}: {_last_line(error)}",
                code="SPK-101",
                hint="the log above has the whole error; `ddlrepl doctor` checks Spark, Java and Python",
                retryable=True,
            ) from error
        found = {item: (state, bytes(payload)) for item, state, payload in done}
        return [found[item] for item in range(len(parcels))]

    def _started(self) -> SparkSession:
        with self._starting:
            if self._session is None:
                started = session(self.app_name, self.settings)
                try:
                    self._try_workers(started)
                except DdlReplError:
                    started.stop()
                    raise
                self._session = started
                log.info("Spark %s is up, %d tasks at once", started.version, self.parallelism)
            return self._session

    def _try_workers(self, spark: SparkSession) -> None:
        """Run one small task per core of a cluster. Raises UnfitPython SPK-102."""
        remote = self.settings.remote
        if has_own_python(spark, remote):
            with quiet(spark, remote):
                self._mapped(spark, import_all, [needed()] * session_parallelism(spark), "probe of the workers' Python")


def _collected(
    spark: SparkSession, parcels: Sequence[bytes], run: Callable[[Parcels], Outcomes]
) -> Sequence[tuple[int, str, bytes]]:
    """Return what a function yields of parcels, each of which is a partition.

    An RDD needs nothing of Spark SQL, whose start and first plan take a second and more. Spark Connect has none.
    """
    if is_classic(spark):
        return spark.sparkContext.parallelize(list(enumerate(parcels)), len(parcels)).mapPartitions(run).collect()
    import pyarrow

    spark.conf.set("spark.sql.leafNodeDefaultParallelism", len(parcels))
    rows = pyarrow.table({"item": range(len(parcels)), "parcel": pyarrow.array(parcels, pyarrow.binary())})
    return [tuple(row) for row in spark.createDataFrame(rows).mapInArrow(in_arrow(run), SCHEMA).collect()]


def _last_line(error: Exception) -> str:
    """Return the Python error inside Spark's report, without the JVM's frames."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip() not in ("", ">")]
    python = [line for line in lines if not line.startswith(("at ", "Caused by", "File ", "Driver stacktrace", "..."))]
    named = [line for line in python if line.split(":")[0].endswith(("Error", "Exception"))]
    return (named or python or [type(error).__name__])[-1]
