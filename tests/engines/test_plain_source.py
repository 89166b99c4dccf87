"""What a source answers that writes nothing but what only it knows."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from airflow_ddlrepl.config.sections.scope import Scope
from airflow_ddlrepl.engines.source import EveryTable
from airflow_ddlrepl.errors import SourceError, SourcePutBack
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.table import Column
from airflow_ddlrepl.model.types import DataType, Family, TypeFamily
from airflow_ddlrepl.model.visibility import SnapshotAt, stored_visibility
from airflow_ddlrepl.ports.change_values import NotShown, wanted
from airflow_ddlrepl.ports.family_values import FamilyValues
from airflow_ddlrepl.ports.log_identity import LogIdentity
from tests.conformance.file_engine.source import FileDatabase, FileSource, rows, statement
from tests.conformance.file_engine.types import FileTypes
from tests.conformance.test_file_source import named, shape

FAMILIES = {
    "truth": TypeFamily(Family.BOOLEAN),
    "small": TypeFamily(Family.INT, bits=16),
    "amount": TypeFamily(Family.DECIMAL, precision=8, scale=2),
    "any amount": TypeFamily(Family.DECIMAL),
    "real": TypeFamily(Family.FLOAT, bits=32),
    "bytes": TypeFamily(Family.BYTES),
    "day": TypeFamily(Family.DATE),
    "moment": TypeFamily(Family.TIMESTAMP_TZ),
    "text": TypeFamily(Family.TEXT),
}


class _Types(FileTypes):
    def family(self, of: DataType, types: Any = ()) -> TypeFamily:
        return FAMILIES[of.name]


VALUES = FamilyValues(_Types())


def column(kind: str) -> Column:
    return Column(1, "c", DataType(kind, "pg_catalog", kind))


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("truth", "true", True),
        ("small", "-7", -7),
        ("amount", "12.50", Decimal("12.50")),
        ("any amount", "1e400", "1e400"),
        ("real", "0.5", 0.5),
        ("bytes", "00ff", b"\x00\xff"),
        ("day", "2024-02-29", date(2024, 2, 29)),
        ("moment", "2024-02-29 12:00:00.25+01:00", datetime(2024, 2, 29, 11, 0, 0, 250_000, UTC)),
        ("text", "true", "true"),
    ],
)
def test_texts_are_shown_as_their_family(kind: str, text: str, value: object) -> None:
    shown = VALUES.shown(pa.array([text, None]), "text", column(kind), VALUES.shown_type(column(kind)))
    assert shown.to_pylist() == [value, None]


def test_a_text_that_is_no_value_of_the_type_is_named() -> None:
    field = wanted("c", VALUES.shown_type(column("small")))
    found = VALUES.converted(pa.array(["1", "70000", None, "x"]), "text", column("small"), field)
    assert found.values.to_pylist() == [1, None, None, None] and found.unfit is not None
    assert found.unfit.to_pylist() == [None, "70000", None, "x"]
    with pytest.raises(NotShown, match="70000"):
        VALUES.shown(pa.array(["70000"]), "text", column("small"), pa.int16())
    assert VALUES.is_number(column("any amount")) and not VALUES.is_number(column("day"))


def test_a_snapshot_at_a_position_has_what_commits_before_it() -> None:
    snapshot = SnapshotAt(Position(7))
    assert snapshot.sees(6, 0) and not snapshot.sees(7, 0)
    assert snapshot.has(snapshot.widen(6)) and not snapshot.has(7) and snapshot.is_quiet
    assert snapshot.covers(SnapshotAt(Position(7))) and not snapshot.covers(SnapshotAt(Position(8)))
    assert stored_visibility(str(snapshot)) == stored_visibility(snapshot.to_json()) == snapshot


def test_a_log_that_does_not_reach_as_far_is_refused(tmp_path: Path) -> None:
    source = FileSource(f"files://{tmp_path}", Scope())
    source.require_readable(Position(1), None)
    with pytest.raises(SourceError, match="SRC-141"):
        source.require_readable(Position(0), None)
    with pytest.raises(SourcePutBack, match="SRC-115"):
        source.require_readable(Position(2), None)


def test_every_table_of_the_scope_is_in_the_log(tmp_path: Path) -> None:
    FileDatabase(tmp_path).commit(
        statement("create table a (id bigint)", shape("a", "id")),
        statement("create table b (id bigint)", shape("b", "id")),
        rows("insert", named("a"), new={"id": "1"}),
    )
    source = FileSource(f"files://{tmp_path}", Scope(("public.*",), exclude=("*.b",)))
    assert isinstance(source.membership, EveryTable)
    assert [source.catalog.list_tables()[i] for i in source.membership.published()] == [named("a")]
    assert source.membership.members() == set() and not source.marks.can_have() and source.deactivate() == []
    with source.reading([1]) as reading:
        chunk = reading(_selection(source))
        assert [batch.to_pylist() for batch in chunk.batches()] == [[{"id": "1"}]]


def _selection(source: FileSource) -> Any:
    from airflow_ddlrepl.engines.source_catalog import RowSelection

    (table,) = source.catalog.inspect([1])
    return RowSelection(table, ("id",))


def test_each_run_of_a_server_writes_a_log_of_its_own_unless_the_source_says_otherwise() -> None:
    same, other = (LogIdentity().continuity("a", now, Position(1)) for now in ("a", "b"))
    assert (same.is_whole, same.went_over) == (True, False) and (other.is_whole, other.went_over) == (False, True)
