"""What is said of a connection that could not be had: a broken one passes by itself, a wrong setting does not."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from airflow_ddlrepl.engines.postgres.connection.connect import session
from airflow_ddlrepl.errors import Unreachable

AT = 'connection to server at "certificate.SSL.example" (10.0.0.1), port 5432 failed: '
BROKEN = (
    "Connection refused",
    "SSL SYSCALL error: EOF detected",
    "SSL error: unexpected eof while reading",
    "server closed the connection unexpectedly",
)
WRONG = (
    "server does not support SSL, but SSL was required",
    "SSL error: certificate verify failed",
    "SSL error: tlsv1 alert unknown ca",
    'server certificate for "db" does not match host name "certificate.SSL.example"',
    'root certificate file "/none" does not exist',
    "FATAL:  connection requires a valid client certificate",
)


@pytest.mark.parametrize(
    ("said", "code"), [*((text, "CON-101") for text in BROKEN), *((text, "CON-107") for text in WRONG)]
)
def test_a_broken_handshake_is_tried_again_and_a_wrong_setting_is_not(
    monkeypatch: pytest.MonkeyPatch, said: str, code: str
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise psycopg.OperationalError(AT + said)

    monkeypatch.setattr(psycopg.Connection, "connect", fail)
    with pytest.raises(Unreachable) as caught:
        session("postgresql://app@certificate.SSL.example/shop")
    assert (caught.value.code, caught.value.retryable) == (code, code == "CON-101")
