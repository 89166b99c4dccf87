"""This code runs inside a Spark task: it checks the worker's version of this package, unpacks the task and runs it."""

from __future__ import annotations

import gc
import pickle
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from airflow_ddlrepl import __version__
from airflow_ddlrepl.config.sections.location import redact
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.spark.execute.task_pickle import unpack
from airflow_ddlrepl.spark.session.python_archives import forget_archives

if TYPE_CHECKING:
    from pyarrow import RecordBatch

SCHEMA = "item long, state string, payload binary"
DONE, REFUSED, MISMATCH, LACKING = "done", "refused", "mismatch", "lacking"

Parcels = Iterable[tuple[int, bytes]]
Outcomes = Iterator[tuple[int, str, bytes]]


def work(secrets: Sequence[str]) -> Callable[[Parcels], Outcomes]:
    """Return the function that Spark runs on items with their parcels; it yields item, state and payload of each.

    Spark ships the inner function as code, not by its name: it also runs where this package is missing, or has another
    version, and reports that (MISMATCH, with the version that was found). A Python that lacks another package is
    reported as well (LACKING, with the error of the import).
    """
    expected = __version__

    def run(parcels: Parcels) -> Outcomes:
        import sys

        try:
            import airflow_ddlrepl

            found = airflow_ddlrepl.__version__
        except ImportError:
            found = ""
        for item, parcel in parcels:
            state, payload = "mismatch", f"{sys.executable}\n{found}".encode()
            if found == expected:
                try:
                    from airflow_ddlrepl.spark.execute.worker import attempt, spare_later_tasks
                except ImportError as error:
                    state, payload = "lacking", f"{sys.executable}\n{error}".encode()
                else:
                    state, payload = attempt(parcel, secrets)
                    spare_later_tasks()
            yield item, state, payload

    return run


def in_arrow(run: Callable[[Parcels], Outcomes]) -> Callable[[Iterable[RecordBatch]], Iterator[RecordBatch]]:
    """Return the function of `work` for rows (item, parcel) in Arrow; its result has the columns of SCHEMA."""

    def over(batches: Iterable[RecordBatch]) -> Iterator[RecordBatch]:
        import pyarrow

        for batch in batches:
            for item, state, payload in run(zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True)):
                columns = [pyarrow.array([item], pyarrow.int64()), pyarrow.array([state])]
                columns.append(pyarrow.array([payload], pyarrow.binary()))
                yield pyarrow.RecordBatch.from_arrays(columns, ["item", "state", "payload"])

    return over


class TaskFailed(Exception):
    """This error is an unexpected one in a task, which Spark tries again; its text shows no password."""


def attempt(parcel: bytes, secrets: Sequence[str]) -> tuple[str, bytes]:
    """Run a task and return its state and pickled result.

    Our own errors are returned as values: Spark would turn them into text and try them again. So is a failed import,
    of the task's module or in the task.
    """
    try:
        task, item = unpack(parcel, secrets)
        return DONE, pickle.dumps(task(item))
    except DdlReplError as error:
        return REFUSED, pickle.dumps(error)
    except ImportError as error:
        return LACKING, f"{sys.executable}\n{redact(str(error))}".encode()
    except Exception as error:  # noqa: BLE001 - Spark logs it: not as it is, it may hold a location
        text = redact("".join(traceback.format_exception(error)))
    raise TaskFailed(text)


def spare_later_tasks() -> None:
    """Save each later task from work on modules imported so far: garbage collection and listings of archives."""
    forget_archives()
    if not gc.get_freeze_count():
        gc.collect()
        gc.freeze()
