"""A source whose log can't be read is refused with one code each, before a run reads and while its tasks do."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_ddlrepl.engines.postgres.log.preconditions import require_server
from airflow_ddlrepl.engines.postgres.log.read_range import PostgresRange, _source_error
from airflow_ddlrepl.errors import SourceError
from airflow_ddlrepl.model.position import Position


@pytest.mark.parametrize(
    ("server", "code"),
    [
        (("logical", 140011, False, "14.11"), "SRC-112"),
        (("logical", 180000, True, "18.0"), "SRC-113"),
        (("replica", 180000, False, "18.0"), "SRC-101"),
    ],
)
def test_a_server_that_can_be_no_source(server: tuple[Any, ...], code: str) -> None:
    with pytest.raises(SourceError, match=code):
        require_server(lambda *_: server)


def test_a_server_that_can_be_a_source() -> None:
    require_server(lambda *_: ("logical", 150000, False, "15.0"))


class Failed(Exception):
    """A driver's error with its SQLSTATE, or without it."""

    def __init__(self, text: str, state: str | None = None) -> None:
        super().__init__(text)
        self.sqlstate = state


@pytest.mark.parametrize(
    ("error", "code", "is_retryable"),
    [
        (Failed("replication slot is active", "55006"), "SRC-114", True),
        (Failed('replication slot "s" is active for PID 7'), "SRC-114", True),
        (Failed("all replication slots are in use", "53400"), "SRC-111", False),
        (Failed("could not write to file: No space left on device"), "SRC-151", True),
        (Failed("permission denied for replication", "42501"), "SRC-105", False),
        (Failed("could not decode", "XX000"), "SRC-146", True),
    ],
)
def test_what_goes_wrong_while_the_log_is_read(error: Exception, code: str, is_retryable: bool) -> None:
    task = PostgresRange.__new__(PostgresRange)
    for name, value in {"slot": "s", "publication": "p", "low": Position(1)}.items():
        object.__setattr__(task, name, value)
    found = _source_error(error, task)
    assert found.code == code and found.hint
    assert is_retryable is found.retryable or code == "SRC-111"
