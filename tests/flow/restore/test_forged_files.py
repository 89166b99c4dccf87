"""Whoever writes to the trail's folder changes, adds or removes no row that a channel takes: digests say so."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import TrailError
from airflow_ddlrepl.flow.streams.propagation import propagate
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.trail.manifest import Blob
from airflow_ddlrepl.trail.store import Trail
from tests.flow.streams.streams_channel import CAPTURE, StreamsChannel, streams_channel
from tests.flow.streams.sync_capturing import Capturing, rule

APPLY = {"streams_type": "apply", "streams_name": "app", "queue_name": "q2", "source_database": "dbs1"}
TO_Q2 = {"streams_name": "prop", "source_queue_name": "q1", "destination_queue_name": "q2"}
CALLS = (
    {"add_global_rules": CAPTURE},
    {"add_global_propagation_rules": TO_Q2},
    {"add_global_rules": APPLY},
)


def with_crc_of(data: bytes, wanted: int) -> bytes:
    """The data with four bytes behind it that give it another data's CRC-32."""
    state, needed = zlib.crc32(data) ^ 0xFFFFFFFF, wanted ^ 0xFFFFFFFF
    single = [zlib.crc32(bytes([n]), 0xFFFFFFFF) ^ 0xFFFFFFFF for n in range(256)]
    indexes = []
    for _ in range(4):  # backwards: which entries of the CRC's table give the wanted state
        index = next(n for n in range(256) if single[n] >> 24 == needed >> 24)
        indexes.append(index)
        needed = ((needed ^ single[index]) << 8) & 0xFFFFFFFF
    added = bytearray()
    for index in reversed(indexes):
        byte = (state ^ index) & 0xFF
        added.append(byte)
        state = (state >> 8) ^ single[(state ^ byte) & 0xFF]
    return data + bytes(added)


def test_a_file_with_the_same_crc_is_another_file(tmp_path: Path) -> None:
    trail = Trail(f"file://{tmp_path}", "shop")
    blob = trail.write("e0/data/0000000000000001/x", b"true rows and some more")
    forged = with_crc_of(b"false rows and some", zlib.crc32(b"true rows and some more"))
    assert (len(forged), zlib.crc32(forged)) == (blob.size, zlib.crc32(b"true rows and some more"))
    Path(trail.place.full(blob.path)).write_bytes(forged)
    with pytest.raises(TrailError, match="TRL-103"):
        trail.bytes_of(blob)


def test_files_of_an_earlier_version_are_checked_by_their_crc(tmp_path: Path) -> None:
    trail = Trail(f"file://{tmp_path}", "shop")
    path = trail.write("e0/data/0000000000000001/x", b"rows").path
    assert trail.bytes_of(Blob(path, 4, f"crc32:{zlib.crc32(b'rows'):08x}")) == b"rows"
    with pytest.raises(TrailError, match="TRL-103"):
        trail.bytes_of(Blob(path, 4, f"crc32:{zlib.crc32(b'cows'):08x}"))


def emptied(path: Path) -> None:
    data = json.loads(path.read_text())
    path.write_text(json.dumps({**data, "parts": [{**part, "files": []} for part in data["parts"]]}))


def lost(path: Path) -> None:
    path.unlink()


def added(path: Path) -> None:
    data = json.loads(path.read_text())
    low = Position(int(path.stem, 16) + 1)
    path.with_name(f"{low:016x}.json").write_text(json.dumps({**data, "low": str(low)}))


@pytest.fixture
def channel(databases: Any, tmp_path: Path) -> StreamsChannel:
    target = {"name": "site", "location": databases.target, "apply": "app"}
    found = streams_channel(tmp_path, databases.source, *CALLS, targets=[target])
    found.at_source("CREATE SCHEMA hr", "CREATE SCHEMA oe", "CREATE TABLE hr.t (id int PRIMARY KEY)")
    found.activate(load=True)
    for number in range(3):
        found.at_source(f"INSERT INTO hr.t VALUES ({number})")
        found.stage(flow.capture)
    return found


def manifests(channel: StreamsChannel, feed: str) -> list[Path]:
    return sorted((channel.file.parent / "trail" / feed).glob("e*/segments/*.json"))


@pytest.mark.parametrize(("change", "code"), [(emptied, "TRL-113"), (lost, "TRL-101"), (added, "TRL-113")])
def test_a_feed_of_a_propagation_is_its_own(channel: StreamsChannel, change: Callable[[Path], None], code: str) -> None:
    channel.stage(propagate)
    (middle,) = manifests(channel, "hr.q2.prop.capture")[1:2]
    change(middle)
    with pytest.raises(TrailError, match=code):
        channel.stage(flow.apply)


def test_a_feed_of_an_earlier_version_is_adopted_as_it_is(channel: StreamsChannel) -> None:
    channel.stage(propagate)
    with channel.opened() as context:
        forget(context, "DELETE FROM feed_segments")
    channel.at_source("INSERT INTO hr.t VALUES (7)")
    channel.stage(flow.capture)
    channel.stage(propagate)
    _, *others = manifests(channel, "hr.q2.prop.capture")
    assert len(others) == 3
    added(others[0])
    with pytest.raises(TrailError, match="TRL-113"):
        channel.stage(flow.apply)


def forget(context: Any, statement: str) -> None:
    with context.repository._database.write() as connection:
        connection.exec_driver_sql(statement)


def test_a_captured_segment_that_is_gone_is_missed(channel: StreamsChannel) -> None:
    lost(manifests(channel, "hr")[1])
    with pytest.raises(TrailError, match="TRL-101"):
        channel.stage(propagate)


def test_a_segment_that_somebody_has_added_is_not_read(channel: StreamsChannel) -> None:
    added(manifests(channel, "hr")[1])
    channel.stage(propagate)
    assert [line for line in channel.content("q2") if "hr.t" in line] == [
        f"INSERT hr.t {{'id': {number}}}" for number in range(3)
    ]


def test_a_feed_of_a_synchronous_capture_is_its_own(databases: Any, tmp_path: Path) -> None:
    capturing = Capturing(databases.source, tmp_path, [rule()])
    capturing.at_source("CREATE SCHEMA hr", "CREATE TABLE hr.t (id int PRIMARY KEY)")
    capturing.capture()
    for number in range(3):
        capturing.at_source(f"INSERT INTO hr.t VALUES ({number})")
        capturing.capture()
    assert len(capturing.seen()) == 3
    first, *_ = sorted(tmp_path.rglob("segments/*.json"))
    emptied(first)
    with pytest.raises(TrailError, match="TRL-113"):
        capturing.seen()
