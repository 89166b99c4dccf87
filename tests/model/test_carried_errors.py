"""An error that reaches another process is caught there by its class: pickled, as JSON, stored in the repository."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from airflow_ddlrepl import errors
from airflow_ddlrepl.engines.postgres.pgoutput.relation_layout import NeedsText
from airflow_ddlrepl.engines.postgres.sessions.replication_origin import NoFreeOrigin
from airflow_ddlrepl.errors import (
    AlterRefused,
    ApplyError,
    DdlReplError,
    FileMissing,
    LogLost,
    ServerRefusal,
    SourceError,
    SourcePutBack,
    TablesSuspended,
    TargetError,
    Unreachable,
    UnreadableTable,
)
from airflow_ddlrepl.errors.carried import error_from_json, error_to_json, is_kind, kind_named
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import LogKey
from airflow_ddlrepl.model.table_state import Cause, Suspension
from airflow_ddlrepl.repository.repository import Repository
from airflow_ddlrepl.spark.execute.task_pickle import pack
from airflow_ddlrepl.spark.execute.worker import REFUSED, attempt
from airflow_ddlrepl.spark.jobs.result_file import Outcome

EXAMPLES = [
    AlterRefused("no", on=(5, LogKey(7, 1)), by_rows=True, sqlstate="23502", missing="type a.b", code="ADP-130"),
    ApplyError("no", number=0, sqlstate="23505", code="APL-103", table=TableName("a", "b")),
    UnreadableTable("no", said="permission denied", sqlstate="42501", code="SRC-170", retryable=True),
    ServerRefusal("no", missing="type a.b", code="SQL-103", hint="create it"),
    LogLost("no", code="SRC-116", at=5).about(target="t", client="capture process c", table_id=7),
]
KINDS = sorted(
    {kind for name in errors.__all__ if isinstance(kind := getattr(errors, name), type) and kind is not errors.Exit},
    key=lambda kind: kind.__name__,
)


def pickled(error: DdlReplError) -> DdlReplError:
    found: DdlReplError = pickle.loads(pickle.dumps(error))
    return found


def as_json(error: DdlReplError) -> DdlReplError:
    return error_from_json(json.loads(json.dumps(error_to_json(error))))


def through_a_worker(error: DdlReplError) -> DdlReplError:
    secrets: list[str] = []
    state, payload = attempt(pack((_raise, error), secrets), secrets)
    assert state == REFUSED
    found: DdlReplError = pickle.loads(payload)
    return found


def _raise(error: DdlReplError) -> None:
    raise error


WAYS = [pickled, as_json, through_a_worker]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_class_survives_each_way(kind: type[DdlReplError], way: Callable[[DdlReplError], DdlReplError]) -> None:
    found = way(kind("what", code="SRC-101", target="t", table="a.b", at=5, hint="do it", retryable=True))
    assert type(found) is kind
    facts = (found.message, found.code, found.target, found.table, found.at, found.hint, found.retryable)
    assert facts == ("what", "SRC-101", "t", "a.b", "5", "do it", True)
    assert found.exit_code is kind.exit_code and found.is_local is kind.is_local


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_what_a_class_knows_beside_that_survives(
    error: DdlReplError, way: Callable[[DdlReplError], DdlReplError]
) -> None:
    found = way(error)
    known = error.__dict__.keys() - {"on"}  # for the process that tries the change once more
    assert {name: getattr(found, name) for name in known} == {name: getattr(error, name) for name in known}


def test_what_else_has_failed_is_carried_with_its_classes() -> None:
    first = TablesSuspended("late", code="INT-123")
    found = as_json(first.with_others([first, Unreachable("away", code="CON-101"), TargetError("no", code="TGT-101")]))
    assert [type(one) for one in found.others] == [Unreachable, TargetError]


def test_what_has_failed_in_a_part_of_a_run_is_kept_by_the_run() -> None:
    """A cycle's stages each fail at several targets; the cycle names every failure once."""
    first, second, third = (TargetError("no", code="TGT-101", target=name) for name in "abc")
    again = TargetError("no", code="TGT-101", target="b")
    adapted, integrated = first.with_others([second]), third.with_others([again])
    assert adapted.with_others([]).others == (second,)
    found = adapted.with_others([integrated])
    assert [one.target for one in found.others] == ["b", "c"] and third.others == ()


@pytest.mark.parametrize(
    ("error", "kind"),
    [(NeedsText("no", code="SRC-150"), SourceError), (NoFreeOrigin("no", code="APL-121"), ApplyError)],
)
def test_a_class_of_an_engine_is_carried_as_what_others_know_it_by(
    error: DdlReplError, kind: type[DdlReplError]
) -> None:
    assert type(as_json(error)) is kind


def test_a_class_that_this_version_does_not_have_is_the_general_one() -> None:
    assert [kind_named(name) for name in ("Exit", "identified", "OfTomorrow", "")] == [DdlReplError] * 4
    assert is_kind("LogLost", SourcePutBack) and not is_kind("SourcePutBack", LogLost)


def test_a_result_file_has_the_class(tmp_path: Path) -> None:
    error = FileMissing("gone", code="TRL-101", at=5)
    Outcome("capture", "shop", "r", 1.0, error=error).write(tmp_path / "result.json")
    found = Outcome.read(tmp_path / "result.json")
    assert found is not None and type(found.error) is FileMissing and found.error.at == "5"


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[Repository]:
    with Repository.open(f"sqlite:///{tmp_path}/r.db") as opened:
        opened.ensure_channel("shop", "f")
        yield opened


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_the_repository_stores_the_class(repository: Repository, error: DdlReplError) -> None:
    repository.record_error("shop", "r", "capture", error)
    (row,) = repository.errors("shop")
    assert row.is_a(type(error)) and not row.is_a(Unreachable)


def test_a_suspension_stores_its_cause_and_reads_what_was_stored_without_one() -> None:
    one = Suspension(LogKey(1, 2), 5, "INT-104", "no", cause=Cause.FOREIGN_KEY)  # type: ignore[arg-type]
    assert Suspension.from_json(one.to_json()) == one
    before = {name: value for name, value in one.to_json().items() if name != "cause"}
    codes = {
        "INT-104": Cause.FOREIGN_KEY,
        "ADP-170": Cause.NEIGHBOUR,
        "isolated": Cause.REFRESH,
        "ADP-130": Cause.REFUSED,
    }
    assert {code: Suspension.from_json({**before, "code": code}).cause for code in codes} == codes


def test_a_fact_is_filled_in_once_and_another_class_is_never_made() -> None:
    error = ApplyError("no", code="APL-103", target="a")
    assert error.about(target="b", table="t").about_message(3).about_message(4) is error
    assert (error.target, error.table, error.number) == ("a", "t", 3)
    again = error.replaced(message="more", retryable=True)
    assert type(again) is ApplyError and (again.message, again.number, error.message) == ("more", 3, "no")
    with pytest.raises(TypeError, match="no tabel"):
        error.replaced(tabel="t")
