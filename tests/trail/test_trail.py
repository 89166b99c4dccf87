"""The trail keeps what was written, whole or not at all, on a disk and in an object store."""

from __future__ import annotations

import errno
import gc
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from airflow_ddlrepl.errors import TrailError, Unreachable
from airflow_ddlrepl.model.change import Event, EventKind
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import LogKey, Position
from airflow_ddlrepl.model.table import Identity
from airflow_ddlrepl.ports.row_layout import ColumnLayout, Layout
from airflow_ddlrepl.trail import writer as writer_module
from airflow_ddlrepl.trail.manifest import Blob, Part, Segment
from airflow_ddlrepl.trail.segments import manifest_path
from airflow_ddlrepl.trail.store import Trail, data_folder
from airflow_ddlrepl.trail.transaction_columns import TRANSACTIONS
from airflow_ddlrepl.trail.writer import PartWriter

LOW, HIGH = Position(100), Position(900)


@pytest.fixture(scope="module")
def object_store() -> Iterator[str]:
    """A private S3 (moto) with one bucket; its address reaches s3fs through the environment, as a user's would."""
    import boto3
    from moto.server import ThreadedMotoServer
    from s3fs import S3FileSystem

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    settings = {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    boto3.client("s3").create_bucket(Bucket="ddlrepl-trail")
    S3FileSystem.clear_instance_cache()  # one of another server, gone by now, would be used again
    yield "s3://ddlrepl-trail/base"
    S3FileSystem.clear_instance_cache()
    server.stop()
    for name, value in before.items():
        os.environ.pop(name) if value is None else os.environ.update({name: value})


@pytest.fixture(params=["local", pytest.param("s3", marks=pytest.mark.server)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "local":
        return tmp_path.as_uri()
    return f"{request.getfixturevalue('object_store')}/{tmp_path.name}"


def layout(table_id: int = 1, name: str = "t", columns: tuple[str, ...] = ("id",)) -> Layout:
    return Layout(
        table_id, "public", name, Identity.DEFAULT, tuple(ColumnLayout(c, 23, -1, c == "id", "native") for c in columns)
    )


def rows(keys: list[tuple[int, int]], values: list[int] | None = None) -> pa.RecordBatch:
    n = len(keys)
    return pa.record_batch(
        {
            "lsn": pa.array([k[0] for k in keys], pa.int64()),
            "seq": pa.array([k[1] for k in keys], pa.int64()),
            "op": pa.array([1] * n, pa.int8()),
            "before": pa.array([0] * n, pa.int8()),
            "absent": pa.array([None] * n, pa.binary()),
            "a_id": pa.array(values or list(range(n)), pa.int32()),
            "b_id": pa.array([None] * n, pa.int32()),
        }
    )


def write_segment(trail: Trail, token: int = 1, low: Position = LOW, high: Position = HIGH) -> Segment:
    writer = PartWriter(trail, 0, low, 0)
    writer.rows(layout(), rows([(low + 10, 0), (low + 10, 1), (low + 20, 0)]))
    dropped = ((1, TableName("a", "b")),)
    writer.event(Event(EventKind.DDL, LogKey(low + 20, 1), 7, 5, tag="ALTER TABLE", dropped=dropped))
    writer.transactions(
        pa.record_batch([[low + 10, low + 20], [5, 7], [1, 2], ["", "x"], [2, 1]], schema=TRANSACTIONS),
    )
    return Segment(trail.channel, 0, token, low, high, (writer.finish(low, high, 1234),))


def test_what_was_written_is_read_back(url: str) -> None:
    trail = Trail(url, "shop")
    assert trail.find(0, LOW) is None
    published = trail.publish(write_segment(trail))
    found = Trail(url, "shop").find(0, LOW)
    assert found == published
    assert found is not None and found.rows == 3 and not found.is_empty
    (file,) = found.files()
    assert (file.inserts, file.first, file.last) == (3, LogKey(110, 0), LogKey(120, 0))
    trail.verify(file)
    table = trail.rows(file, LogKey(110, 1), LogKey(120, 0), ["a_id"])
    assert table.to_pydict() == {"a_id": [1]}
    assert trail.rows(file, LogKey(0, 0), LogKey(999, 0)).num_rows == 3
    assert trail.rows(file, LogKey(500, 0), LogKey(999, 0), ["a_id"]).num_rows == 0
    (event,) = trail.events(found)
    assert event.key == LogKey(120, 1) and event.dropped == ((1, TableName("a", "b")),)
    assert trail.transactions(found).to_pydict()["origin"] == ["", "x"]


def test_the_first_manifest_of_a_window_stands(url: str) -> None:
    trail = Trail(url, "shop")
    first = trail.publish(write_segment(trail, token=1))
    second = trail.publish(write_segment(trail, token=2))
    assert second == first and second.token == 1
    assert trail.segments(0) == [first]


def test_a_crash_between_files_and_manifest_leaves_nothing_visible(url: str) -> None:
    trail = Trail(url, "shop")
    lost = write_segment(trail)
    assert trail.segments(0) == [] and trail.find(0, LOW) is None
    kept = trail.publish(write_segment(trail, token=2))
    assert {b.path for b in lost.blobs()}.isdisjoint({b.path for b in kept.blobs()})
    assert trail.sweep(older_than=3600) == []
    assert sorted(trail.sweep(older_than=-3600)) == sorted(b.path for b in lost.blobs())
    for blob in kept.blobs():
        trail.verify(blob)


def test_a_segment_takes_the_place_of_another(url: str) -> None:
    """At once: until then the other stands, afterwards nothing of it does."""
    trail = Trail(url, "shop")
    first = trail.publish(write_segment(trail, token=1))
    second = write_segment(trail, token=2)
    assert trail.find(0, LOW) == first
    trail.replace(second)
    found = trail.find(0, LOW)
    assert found is not None and found.token == 2 and found.parts == second.parts
    assert all(trail.place.size(blob.path) is None for blob in first.blobs())
    assert not [path for path in trail.place.walk() if path.endswith(".tmp")]
    third = write_segment(trail, token=3)
    trail.place.remove(next(third.files()).path)
    with pytest.raises(TrailError, match="TRL-101"):
        trail.replace(third)
    assert trail.find(0, LOW) == found
    trail.place.remove(manifest_path(0, LOW))
    trail.replace(found)
    assert trail.find(0, LOW) == found


@pytest.mark.parametrize(("damage", "code"), [("missing", "TRL-101"), ("cut", "TRL-102"), ("changed", "TRL-103")])
def test_a_damaged_file_is_named(url: str, damage: str, code: str) -> None:
    trail = Trail(url, "shop")
    segment = trail.publish(write_segment(trail))
    (file,) = segment.files()
    data = trail.bytes_of(file.blob)
    trail.place.remove(file.path)
    if damage == "cut":
        trail.write(file.path, data[:-1])
    elif damage == "changed":
        trail.write(file.path, data[:-1] + bytes([data[-1] ^ 1]))
    for act in (lambda: trail.verify(file), lambda: trail.rows(file, LogKey(0, 0), LogKey(999, 0))):
        with pytest.raises(TrailError) as caught:
            act()
        assert caught.value.code == code and file.path in str(caught.value)
        assert caught.value.at == str(LOW)


def test_publishing_refuses_files_that_are_not_there(url: str) -> None:
    trail = Trail(url, "shop")
    segment = write_segment(trail)
    trail.place.remove(next(segment.files()).path)
    with pytest.raises(TrailError, match="TRL-101"):
        trail.publish(segment)
    assert trail.find(0, LOW) is None


def test_another_channels_trail_is_refused(url: str) -> None:
    trail = Trail(url, "shop")
    trail.place.remove("trail.json")
    trail.write("trail.json", b'{"format":1,"channel":"other"}')
    with pytest.raises(TrailError, match="TRL-104"):
        Trail(url, "shop")
    trail.place.remove("trail.json")
    trail.write("notes.txt", b"something of somebody")
    with pytest.raises(TrailError, match="TRL-104"):
        Trail(url, "shop")
    with pytest.raises(TrailError, match="TRL-104"):
        trail.publish(Segment("other", 0, 1, LOW, HIGH))


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a/../../x", "a//b", "", "s3://x/y", "a\\b", "."])
def test_paths_stay_inside(tmp_path: Path, path: str) -> None:
    trail = Trail(str(tmp_path), "shop")
    with pytest.raises(TrailError, match="TRL-105"):
        trail.verify(Blob(path, 1, "crc32:0"))
    with pytest.raises(TrailError, match="TRL-105"):
        Trail(str(tmp_path), "../shop")


def test_local_files_are_private(tmp_path: Path) -> None:
    trail = Trail(str(tmp_path / "deep" / "trail"), "shop")
    trail.publish(write_segment(trail))
    for folder, _, names in os.walk(tmp_path / "deep"):
        assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
        assert all(stat.S_IMODE(os.stat(os.path.join(folder, n)).st_mode) == 0o600 for n in names)


def test_retention_removes_whole_segments_before_a_position(url: str) -> None:
    trail = Trail(url, "shop")
    old = trail.publish(write_segment(trail, low=Position(100), high=Position(200)))
    new = trail.publish(write_segment(trail, low=Position(200), high=Position(300)))
    assert trail.expire(Position(299)) == 1
    assert trail.segments(0) == [new]
    assert all(trail.place.size(b.path) is None for b in old.blobs())
    assert trail.place.size(manifest_path(0, Position(100))) is None
    assert trail.expire(Position(100)) == 0


def test_what_killed_runs_wrote_goes_with_the_segment_they_wrote_it_for(url: str) -> None:
    trail = Trail(url, "shop")
    write_segment(trail, low=Position(100), high=Position(200))
    first = trail.publish(write_segment(trail, low=Position(100), high=Position(200)))
    write_segment(trail, low=Position(200), high=Position(300))
    trail.tidy(first)
    named = {b.path for b in first.blobs()}
    of_first = f"{data_folder(0, Position(100))}/"
    assert {path for path in trail.place.walk() if path.startswith(of_first)} == named
    begun = {path for path in trail.place.walk() if path.startswith(f"{data_folder(0, Position(200))}/")}
    assert begun
    trail.place.remove(manifest_path(0, Position(100)))  # as when an expiry is killed half way
    trail.expire(Position(200))
    assert not [path for path in trail.place.walk() if path.startswith(of_first)]
    assert begun <= set(trail.place.walk())


def test_a_damaged_manifest_is_refused(url: str) -> None:
    trail = Trail(url, "shop")
    trail.write(manifest_path(0, LOW), b'{"format": 99}')
    with pytest.raises(TrailError, match="TRL-106"):
        trail.find(0, LOW)


def test_another_layout_goes_to_another_file_and_many_tables_share_few_open_files(tmp_path: Path) -> None:
    trail = Trail(str(tmp_path), "shop")
    writer = PartWriter(trail, 0, LOW, 0)
    writer.rows(layout(), rows([(101, 0)]))
    writer.rows(layout(), rows([(102, 0)]))
    writer.rows(layout(columns=("id", "x")), rows([(103, 0)]))
    writer.rows(layout(), rows([(104, 0)]))
    for number in range(2, 200):
        writer.rows(layout(number, f"t{number}"), rows([(200 + number, 0)]))
    part = writer.finish(LOW, HIGH, 0)
    assert [(f.first.lsn, f.last.lsn) for f in part.files if f.table_id == 1] == [(101, 102), (103, 103), (104, 104)]
    assert part.change_count == 202 and len(part.files) == 201
    assert Part.from_json(part.to_json()) == part


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_nothing_is_left_of_a_part_that_failed(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer_module, "ROW_GROUP_BYTES", 1)
    trail = Trail(url, "shop")
    before = set(trail.place.walk())
    writer = PartWriter(trail, 0, LOW, 0)
    writer.rows(layout(), rows([(101, 0)]))
    writer.event(Event(EventKind.DDL, LogKey(102, 0), 7, 5, tag="ALTER TABLE"))
    writer.discard()
    del writer
    gc.collect()
    assert set(trail.place.walk()) == before


def test_a_folder_that_can_not_be_read_is_no_empty_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no manifest is seen, every file would be taken for a leftover."""
    trail = Trail(str(tmp_path), "shop")
    kept = trail.publish(write_segment(trail))
    look = os.scandir

    def broken(path: Any) -> Any:
        if str(path).endswith("segments"):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return look(path)

    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", broken)
        for act in (lambda: trail.sweep(older_than=-3600), lambda: trail.expire(HIGH), lambda: trail.segments(0)):
            with pytest.raises(Unreachable, match="CON-122"):
                act()
    assert trail.segments(0) == [kept]
    for blob in kept.blobs():
        trail.verify(blob)


def test_large_rows_that_compress_well_are_cut_into_files_that_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_module, "ROW_GROUP_BYTES", 1 << 16)
    monkeypatch.setattr(writer_module, "FILE_MEMORY", 1 << 18)
    writer = PartWriter(Trail(str(tmp_path), "shop"), 0, LOW, 0)
    for number in range(100):
        batch = rows([(LOW + number, 0)])
        note = pa.array(["x" * (1 << 14)])
        writer.rows(layout(columns=("id", "note")), batch.append_column("a_note", note))
    files = writer.finish(LOW, HIGH, 0).files
    assert len(files) == 7 and sum(file.rows for file in files) == 100
    assert all(1 << 14 < file.memory < 1 << 19 and file.size < 1 << 14 for file in files)
