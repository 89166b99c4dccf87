"""A trail's folder that can't be used is told with what mends it."""

from __future__ import annotations

import errno

import pytest

from airflow_ddlrepl.errors import DdlReplError, TrailError
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
        (OSError(errno.EIO, "input/output error"), "CON-120", True),
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
