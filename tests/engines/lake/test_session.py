"""A session of somebody else is used if it can write to a lake."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from airflow_ddlrepl.engines.lake.connection.session import lake_session
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.ports.work import offer_session, withdraw_session


class Conf:
    def get(self, name: str, default: str | None = None) -> str | None:
        return default


class Session:
    conf = Conf()


@pytest.fixture
def offered() -> Iterator[None]:
    def session() -> Session:
        return Session()

    offer_session(session)
    yield
    withdraw_session(session)


@pytest.mark.usefixtures("offered")
def test_a_session_without_iceberg_is_refused(location: str) -> None:
    with pytest.raises(DdlReplError) as raised:
        lake_session(location)
    assert raised.value.code == "SPK-105" and "spark.sql.extensions" in raised.value.message
