"""The few rows of many tables share a file; each table's rows are vouched for by themselves."""

from __future__ import annotations

import uuid
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest

from airflow_ddlrepl.errors import TrailError
from airflow_ddlrepl.model.position import LogKey, Position
from airflow_ddlrepl.model.table import Identity
from airflow_ddlrepl.ports.row_layout import ColumnLayout, Layout
from airflow_ddlrepl.trail.manifest import Part, Segment
from airflow_ddlrepl.trail.pack import MIN_PIECES, PIECE_BYTES
from airflow_ddlrepl.trail.store import Trail
from airflow_ddlrepl.trail.writer import PartWriter

LOW, HIGH, END = Position(100), Position(900), LogKey(999, 0)


@pytest.fixture(params=["a disk", "a store of objects"])
def trail(request: pytest.FixtureRequest, tmp_path: Path) -> Trail:
    return Trail(tmp_path.as_uri() if request.param == "a disk" else f"memory://{uuid.uuid4().hex}", "shop")


def layout(table_id: int, columns: tuple[str, ...] = ("id",)) -> Layout:
    listed = tuple(ColumnLayout(c, 23, -1, c == "id", "native") for c in columns)
    return Layout(table_id, "public", f"t{table_id}", Identity.DEFAULT, listed)


def rows(table_id: int, lsns: list[int], note: str = "") -> pa.RecordBatch:
    n = len(lsns)
    return pa.record_batch(
        {
            "lsn": pa.array(lsns, pa.int64()),
            "seq": pa.array([table_id] * n, pa.int64()),
            "op": pa.array([1] * n, pa.int8()),
            "before": pa.array([0] * n, pa.int8()),
            "absent": pa.array([b"\2"] + [None] * (n - 1), pa.binary()),
            "a_id": pa.array(range(n), pa.int32()),
            "a_note": pa.array([note, *[None] * (n - 1)], pa.string()),
        }
    )


def write(trail: Trail, tables: int, large: int | None = None) -> Part:
    writer = PartWriter(trail, 0, LOW, 0, 1)
    for lsn in (110, 120):
        for number in range(tables):
            writer.rows(layout(number), rows(number, [lsn, lsn + 1], "x" * PIECE_BYTES if number == large else "é"))
    return writer.finish(LOW, HIGH, 0)


def published(trail: Trail, part: Part) -> Segment:
    trail.publish(Segment(trail.channel, 0, 1, LOW, HIGH, (part,)))
    found = Trail(trail.url, trail.channel).find(0, LOW)
    assert found is not None and found.parts == (part,)
    return found


def test_each_table_is_read_back_from_the_pack(trail: Trail) -> None:
    segment = published(trail, write(trail, MIN_PIECES + 1, large=3))
    (part,) = segment.parts
    assert part.pack is not None
    assert [file.offset is None for file in part.files] == [number == 3 for number in range(MIN_PIECES + 1)]
    assert {blob.path for blob in segment.blobs()} == {part.pack.path, part.files[3].path}
    for number, file in enumerate(part.files):
        trail.verify(file)
        assert (file.table_id, file.rows, file.absent, file.first, file.last) == (
            number, 4, 2, LogKey(110, number), LogKey(121, number),
        )  # fmt: skip
        assert trail.rows(file, LogKey(111, 0), LogKey(121, 0), ["a_id", "lsn"]).to_pydict() == {
            "a_id": [1, 0], "lsn": [111, 120],
        }  # fmt: skip
        whole = trail.rows(file, LogKey(0, 0), END)
        assert whole["absent"].to_pylist() == [b"\2", None] * 2
        assert whole["a_note"].to_pylist()[0] == ("x" * PIECE_BYTES if number == 3 else "é")
        assert trail.rows(file, LogKey(500, 0), END).schema == whole.schema
        assert trail.rows(file, LogKey(500, 0), END, ["a_id"]).column_names == ["a_id"]


def test_few_tables_have_files_of_their_own(trail: Trail) -> None:
    part = write(trail, MIN_PIECES - 1)
    assert part.pack is None and all(file.path.endswith(".parquet") for file in part.files)


def test_another_layout_of_a_table_is_another_piece(trail: Trail) -> None:
    """Its rows stay in the order of the log: those of the old layout have a file of their own by then."""
    writer = PartWriter(trail, 0, LOW, 0, 1)
    for number in range(MIN_PIECES):
        writer.rows(layout(number), rows(number, [110]))
    writer.rows(layout(0, ("id", "note")), rows(0, [120]))
    part = writer.finish(LOW, HIGH, 0)
    ours = [file for file in part.files if file.table_id == 0]
    assert sorted((len(file.columns), file.offset is None, file.first.lsn) for file in ours) == [
        (1, True, 110), (2, False, 120),
    ]  # fmt: skip
    assert [trail.rows(file, LogKey(0, 0), END)["lsn"].to_pylist() for file in ours] == [[110], [120]]


@pytest.mark.parametrize(("damage", "code"), [("missing", "TRL-101"), ("cut", "TRL-102"), ("changed", "TRL-103")])
def test_a_damaged_pack_is_named(trail: Trail, damage: str, code: str) -> None:
    segment = published(trail, write(trail, MIN_PIECES))
    pack = segment.parts[0].pack
    assert pack is not None
    data = trail.bytes_of(pack)
    trail.place.remove(pack.path)
    if damage == "cut":
        trail.write(pack.path, data[:-1])
    elif damage == "changed":
        trail.write(pack.path, data[:-1] + bytes([data[-1] ^ 1]))
    last = segment.parts[0].files[-1]
    with pytest.raises(TrailError) as caught:
        trail.rows(last, LogKey(0, 0), END)
    assert caught.value.code == code and pack.path in str(caught.value) and caught.value.at == str(LOW)
    if damage != "changed":  # that shows when it is read
        for look in (partial(trail.check, segment), partial(trail.check_size, last.blob)):
            with pytest.raises(TrailError) as caught:
                look()
            assert caught.value.code == code


def test_a_pack_goes_with_its_segment(trail: Trail) -> None:
    segment = published(trail, write(trail, MIN_PIECES))
    trail.tidy(segment)
    assert trail.sweep(older_than=-3600) == []
    trail.check(segment)
    assert trail.expire(HIGH) == 1 and [path for path in trail.place.walk() if "/data/" in path] == []


def test_nothing_is_left_of_a_part_that_failed(trail: Trail, monkeypatch: pytest.MonkeyPatch) -> None:
    from airflow_ddlrepl.trail import writer as module

    def full(*_: object) -> None:
        raise TrailError("full", code="TRL-100")

    monkeypatch.setattr(module, "add_piece", full)
    writer = PartWriter(trail, 0, LOW, 0, 1)
    for number in range(MIN_PIECES):
        writer.rows(layout(number), rows(number, [110]))
    with pytest.raises(TrailError):
        writer.finish(LOW, HIGH, 0)
    writer.discard()
    assert [path for path in trail.place.walk() if "/data/" in path] == []


def test_rows_that_wait_retain_none_of_other_tables(trail: Trail, monkeypatch: pytest.MonkeyPatch) -> None:
    """Decoded together they are pieces of one batch; a table with a row now and then would retain all such batches."""
    from airflow_ddlrepl.trail import writer as module

    monkeypatch.setattr(module, "BUFFER_BYTES", 1 << 14)
    writer = PartWriter(trail, 0, LOW, 0, 1)
    before = pa.total_allocated_bytes()
    for lsn in range(110, 160):
        whole = rows(0, [lsn] * 1000, "x")
        writer.rows(layout(1), whole.slice(0, 999))
        writer.rows(layout(2), whole.slice(999, 1))
        del whole
    assert pa.total_allocated_bytes() - before < 50 * rows(0, [110] * 1000, "x").nbytes // 4
    part = writer.finish(LOW, HIGH, 0)
    assert sorted(file.rows for file in part.files) == [50, 50 * 999]
