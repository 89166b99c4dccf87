"""What happens inside a Spark task: the workers' product is checked, the parcel unpacked, the task run."""

from __future__ import annotations

import gc
import pickle
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from airflow_ddlrepl import __version__
from airflow_ddlrepl.config.sections.location import redact
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.spark.execute.task_pickle import unpack
from airflow_ddlrepl.spark.session.python_archives import forget_archives

if TYPE_CHECKING:
    import pyarrow

SCHEMA = "item long, state string, payload binary"
DONE, REFUSED, FOREIGN = "done", "refused", "foreign"


def work(secrets: Sequence[str]) -> Callable[[Iterable[pyarrow.RecordBatch]], Iterator[pyarrow.RecordBatch]]:
    """The function that Spark runs on rows (item, parcel). Its result: SCHEMA.

    Spark ships the inner function as code, not by its name: it runs where the product is not installed, or
    another version of it, and says so (FOREIGN, with what was found there).
    """
    expected = __version__

    def run(batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        import sys

        import pyarrow

        try:
            import airflow_ddlrepl

            found = airflow_ddlrepl.__version__
        except ImportError:
            found = ""
        for batch in batches:
            for item, parcel in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True):
                if found == expected:
                    from airflow_ddlrepl.spark.execute.worker import attempt, spare_the_next

                    state, payload = attempt(parcel, secrets)
                    spare_the_next()
                else:
                    state, payload = "foreign", f"{sys.executable}\n{found}".encode()
                columns = [pyarrow.array([item], pyarrow.int64()), pyarrow.array([state])]
                columns.append(pyarrow.array([payload], pyarrow.binary()))
                yield pyarrow.RecordBatch.from_arrays(columns, ["item", "state", "payload"])

    return run


class TaskFailed(Exception):
    """Something that is no error of ours; Spark tries the task again. Its text shows no password."""


def attempt(parcel: bytes, secrets: Sequence[str]) -> tuple[str, bytes]:
    """Our own errors travel back as values: Spark would turn them into text and try them again."""
    task, item = unpack(parcel, secrets)
    try:
        return DONE, pickle.dumps(task(item))
    except DdlReplError as error:
        return REFUSED, pickle.dumps(error)
    except Exception as error:  # noqa: BLE001 - Spark logs it: not as it is, it may hold a location
        told = redact("".join(traceback.format_exception(error)))
    raise TaskFailed(told)


def spare_the_next() -> None:
    """What this Python has imported is not looked at before and after each further task."""
    forget_archives()
    if not gc.get_freeze_count():
        gc.collect()
        gc.freeze()


def foreign(payload: bytes) -> DdlReplError:
    """The error for a worker whose Python has no product, or another version of it."""
    python, _, found = payload.decode().partition("\n")
    what = f"has airflow-ddlrepl {found}, not {__version__}" if found else "has no airflow-ddlrepl"
    return DdlReplError(
        f"the Python of Spark's workers ({python}) {what}",
        code="SPK-102",
        hint=f"install airflow-ddlrepl[postgres]=={__version__} there, or let spark.pyspark.python be a Python with it",
    )
