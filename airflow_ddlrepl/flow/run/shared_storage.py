"""Is the trail one place for everybody? Tasks may run on other machines, where a path can mean another folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from airflow_ddlrepl.config.sections.location import redact
from airflow_ddlrepl.errors import TrailError
from airflow_ddlrepl.trail.manifest import Blob, Part
from airflow_ddlrepl.trail.store import Trail


def check_arrived(trail: Trail, parts: Sequence[Part]) -> None:
    """Raises TrailError TRL-111 when what tasks have just written is not here."""
    for part in parts:
        for blob in part.blobs():
            if trail.place.size(blob.path) is None:
                raise _not_shared(trail, f"tasks wrote {blob.path}, this process does not find it")


@contextmanager
def seen_by_tasks(trail: Trail, blobs: Iterable[Blob]) -> Iterator[None]:
    """A file that tasks miss although it is here: TrailError TRL-111 instead of what the task says."""
    try:
        yield
    except TrailError as error:
        if error.code == "TRL-101" and all(trail.place.size(blob.path) is not None for blob in blobs):
            raise _not_shared(trail, f"{error.message} for a task, but not for this process") from None
        raise


def _not_shared(trail: Trail, what: str) -> TrailError:
    return TrailError(
        f"the trail {redact(trail.url)} of this process is not the trail of Spark's workers: {what}",
        code="TRL-111",
        hint="set `trail` to an object store (s3://…), or to a folder that every machine mounts at the same path",
    )
