"""A trail's folder that can't be used is told with what mends it."""

from __future__ import annotations

import errno
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_ddlrepl.errors import DdlReplError, TrailError
from airflow_ddlrepl.trail.checksum import checksum
from airflow_ddlrepl.trail.manifest import Blob
from airflow_ddlrepl.trail.place import Place, store_errors


def test_a_url_with_a_password_is_refused_and_not_repeated() -> None:
    with pytest.raises(TrailError, match="TRL-110") as caught:
        Place("s3://key:geheim@bucket/trail")
    assert "geheim" not in str(caught.value)


def test_a_url_that_no_file_system_has() -> None:
    with pytest.raises(TrailError, match="TRL-107"):
        Place("nowhere://bucket/trail")


class OfStore(Exception):
    """An error of an object store's library."""

    __module__ = "botocore.exceptions"


@pytest.mark.parametrize(
    ("error", "code", "is_retryable"),
    [
        (FileNotFoundError("bucket"), "TRL-108", False),
        (PermissionError("bucket"), "TRL-109", False),
        (OSError(errno.EIO, "input/output error"), "CON-122", True),
        (OfStore("no such access key"), "CON-121", True),
    ],
)
def test_a_store_that_fails(error: Exception, code: str, is_retryable: bool) -> None:
    with pytest.raises(DdlReplError, match=code) as caught, store_errors():
        raise error
    assert caught.value.retryable is is_retryable and caught.value.hint


def test_an_error_of_ours_is_not_the_stores() -> None:
    with pytest.raises(KeyError), store_errors():
        raise KeyError("a")


@given(st.lists(st.integers(0, 3).map(lambda n: (7, 50, 100, 250)[n]), max_size=8))
def test_a_file_holds_what_was_written_in_its_order_and_is_vouched_for(sizes: list[int]) -> None:
    place = Place(f"memory://{uuid.uuid4().hex}")
    pieces = [bytes([number]) * size for number, size in enumerate(sizes)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("airflow_ddlrepl.trail.place.AT_ONCE", 100)
        sink = place.create("one/file")
        ends = [(sink.write(memoryview(piece)), sink.tell()) for piece in pieces]
        sink.close()
    whole = b"".join(pieces)
    assert ends == [(size, sum(sizes[: place + 1])) for place, size in enumerate(sizes)]
    assert place.read("one/file") == whole and sink.blob == Blob("one/file", len(whole), checksum(whole))
