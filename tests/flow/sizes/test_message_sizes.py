"""A message that is larger than a channel reads is refused at the source, with an error of our own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import MessageError
from airflow_ddlrepl.flow.streams.enqueue import enqueue
from tests.conftest import Databases
from tests.flow.streams.apply_process.test_apply import begun, rules
from tests.flow.streams.streams_channel import StreamsChannel


@pytest.fixture
def hr(databases: Databases, tmp_path: Path) -> StreamsChannel:
    return begun(databases, tmp_path, rules("schema"))


def limit(channel: StreamsChannel, **limits: Any) -> None:
    data = yaml.safe_load(channel.file.read_text())
    channel.file.write_text(yaml.safe_dump({**data, "limits": limits}, sort_keys=False))


def message(size: int, fill: str = "x") -> dict[str, Any]:
    return {"source_database": "dbs1", "object": "hr.t", "command": "INSERT", "new": {"id": 1, "note": fill * size}}


def put(channel: StreamsChannel, one: dict[str, Any]) -> None:
    with channel.opened() as context:
        enqueue(context, [one])


def test_the_source_refuses_what_the_channel_would_not_read(hr: StreamsChannel) -> None:
    put(hr, message(200_000))
    limit(hr, message_bytes="100KB")
    hr.stage(flow.replicate)
    for one in (message(200_000), message(60_000, fill='"')):  # a quote takes two bytes, and four in the log
        with pytest.raises(MessageError) as refused:
            put(hr, one)
        assert (refused.value.code, "message_bytes" in refused.value.hint) == ("MSG-109", True)
    put(hr, message(20_000, fill='"'))
    assert hr.stage(flow.replicate).apply.changes == {"insert": 1}
    limit(hr)
    hr.stage(flow.replicate)
    put(hr, message(200_000))


def test_an_application_gets_the_servers_error(hr: StreamsChannel) -> None:
    with psycopg.connect(hr.source) as connection, pytest.raises(psycopg.errors.ProgramLimitExceeded) as refused:
        connection.execute("SELECT ddlrepl.enqueue(%s || repeat(' ', 134217728))", [json.dumps(message(1))])
    assert "134217728" in str(refused.value)
