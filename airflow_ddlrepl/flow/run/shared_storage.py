"""The trail must be one place for all machines that run tasks; these checks find a path that means other folders."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from airflow_ddlrepl.config.sections.location import redact
from airflow_ddlrepl.errors import FileMissing, TrailError
from airflow_ddlrepl.trail.manifest import Blob, Part
from airflow_ddlrepl.trail.store import Trail


def check_arrived(trail: Trail, parts: Sequence[Part]) -> None:
    """Raise TrailError TRL-111 when this process does not find what tasks have just written."""
    for part in parts:
        for blob in part.blobs():
            if trail.place.size(blob.path) is None:
                raise _not_shared(trail, f"tasks wrote {blob.path}, this process does not find it")


@contextmanager
def seen_by_tasks(trail: Trail, blobs: Iterable[Blob]) -> Iterator[None]:
    """Raise TrailError TRL-111, instead of the task's error, where a task misses a file that this process finds."""
    try:
        yield
    except FileMissing as error:
        if all(trail.place.size(blob.path) is not None for blob in blobs):
            raise _not_shared(trail, f"{error.message} for a task, but not for this process") from None
        raise


def _not_shared(trail: Trail, what: str) -> TrailError:
    return TrailError(
        f"the trail {redact(trail.url)} of this process is not the trail of Spark's workers: {what}",
        code="TRL-111",
        hint="set `trail` to an object store (s3://…), or to a folder that every machine mounts at the same path",
    )
