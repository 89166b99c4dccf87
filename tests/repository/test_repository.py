"""What the repository remembers, on SQLite and on PostgreSQL."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import text

import airflow_ddlrepl.repository.upgrade as upgrading
from airflow_ddlrepl.errors import ConfigError, DdlReplError, Fenced, RepositoryError, Unreachable
from airflow_ddlrepl.model.change import Event, EventKind
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import LogKey, Position
from airflow_ddlrepl.model.record import FIRST_LOAD, RefreshRequested, StepApplied
from airflow_ddlrepl.model.revision import Origin, Revision
from airflow_ddlrepl.model.table import Column, Key, Table
from airflow_ddlrepl.model.types import DataType
from airflow_ddlrepl.repository.database import _url as database_url
from airflow_ddlrepl.repository.repository import Repository
from airflow_ddlrepl.repository.stored.rows import ChannelState, EnrolledState, RunStatus, SegmentFacts, StepState
from airflow_ddlrepl.repository.stored.tables import HEAD, SCHEMA, metadata

INT = DataType("integer", "pg_catalog", "int4")
KEY = LogKey(0x100, 3)


def shape(table_id: int = 7, name: str = 'or"ders; ü', columns: int = 1) -> Table:
    made = tuple(Column(n, f"c%{n}", INT, default="1") for n in range(1, columns + 1))
    return Table(table_id, TableName("public", name), made, key=Key((1,), "pk", True))


def revision(number: int, lsn: int, table: Table | None, table_id: int = 7) -> Revision:
    return Revision(table_id, number, LogKey(lsn, 0), table, Origin.IN_LOG, "ALTER TABLE …")


def ddl(lsn: int, seq: int = 0, tag: str = "ALTER TABLE") -> Event:
    return Event(EventKind.DDL, LogKey(lsn, seq), 1, 1_700_000_000_000_000, tag=tag, statement="…", tables=(shape(),))


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.server)])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/deep/er/repository.db"
        return
    yield request.getfixturevalue("databases").source


@pytest.fixture
def repository(location: str) -> Iterator[Repository]:
    with Repository.open(location) as opened:
        opened.ensure_channel("shop", "f1")
        yield opened


@pytest.fixture
def token(repository: Repository) -> Iterator[int]:
    with repository.lock("shop", "test") as lock:
        repository.enroll("shop", lock.token, [revision(1, 0, shape())], captured=Position(0x100))
        yield lock.token


def test_channel_life(repository: Repository) -> None:
    assert repository.ensure_channel("shop", "f2").fingerprint == "f1"
    with repository.lock("shop", "a") as lock:
        repository.set_state("shop", lock.token, ChannelState.ACTIVE, "f2")
        row = repository.channel("shop")
        assert row is not None
        assert (row.state, row.fingerprint, row.epoch) == (ChannelState.ACTIVE, "f2", 1)
        assert row.activated is not None
        assert row.activated.utcoffset() == datetime.now(UTC).utcoffset()
        assert abs((datetime.now(UTC) - row.activated).total_seconds()) < 60
    assert [c.name for c in repository.channels()] == ["shop"]
    assert repository.channel("other") is None


def test_deleted_channel_comes_back_with_newer_token_and_epoch(repository: Repository, token: int) -> None:
    repository.record_error("shop", "r", "capture", DdlReplError("x", code="X-1"))
    repository.delete_channel("shop", token)
    assert repository.channel("shop") is None
    assert repository.revisions("shop") == []
    assert repository.errors("shop") == []
    assert repository.ensure_channel("shop", "f").epoch == 2
    assert repository.captured("shop") is None


def test_a_segment_and_what_follows_from_it_are_one_transaction(repository: Repository, token: int) -> None:
    facts = SegmentFacts(1, Position(0x100), Position(0x200), rows=5, bytes=99, files=2)
    found = [revision(2, 0x150, shape(columns=2)), revision(1, 0x160, shape(8, "new"), 8)]
    seen = [ddl(0x150), ddl(0x160, tag="CREATE TABLE")]
    assert repository.commit_segment("shop", token, facts, found, Position(0x210), seen=seen)
    assert not repository.commit_segment("shop", token, facts, found, Position(0x210), seen=seen)
    assert repository.captured("shop") == Position(0x210)
    assert [r.number for r in repository.revisions("shop", 7)] == [1, 2]
    assert {i: [r.number for r in known] for i, known in repository.histories("shop").items()} == {7: [1, 2], 8: [1]}
    assert repository.revisions("shop")[1] == found[0]
    assert repository.latest_revisions("shop") == {7: found[0], 8: found[1]}
    (row,) = repository.segments("shop")
    assert (row.low, row.high, row.rows, row.bytes, row.files, row.events, row.token) == (
        0x100,
        0x200,
        5,
        99,
        2,
        2,
        token,
    )
    assert repository.segments("shop", Position(0x1FF)) == [row]
    assert repository.segments("shop", Position(0x200)) == []
    assert [(e.tag, e.table_ids) for e in repository.events("shop", Position(0x151))] == [("CREATE TABLE", (7,))]
    assert [(t.table_id, t.name.name, t.state) for t in repository.tables("shop")] == [
        (8, "new", "live"),
        (7, 'or"ders; ü', "live"),
    ]


def test_segments_between_two_positions(repository: Repository, token: int) -> None:
    """Four of 0x100 bytes of log; the second one with a schema change, the first one expired."""
    for number in range(1, 5):
        low, seen = Position(number * 0x100), [ddl(0x250)] if number == 2 else []
        facts = SegmentFacts(1, low, Position(low + 0x100), rows=1, bytes=10**number, files=1)
        repository.commit_segment("shop", token, facts, [], facts.high, seen=seen)
    assert repository.retained_from("shop") == 0
    repository.expire_segments("shop", token, Position(0x200))
    assert repository.retained_from("shop") == 0x200
    assert repository.segment_starts("shop") == [0x200, 0x300, 0x400]
    assert [row.low for row in repository.segments("shop", Position(0x2FF), Position(0x400))] == [0x200, 0x300]
    assert repository.segment_extent("shop", Position(0x2FF), Position(0x400)) == (2, 1100)
    assert repository.segment_extent("shop", Position(0x500), Position(0x600)) == (0, 0)
    assert [row.low for row in repository.segments_with_events("shop", Position(0x100))] == [0x200]
    assert repository.segments_with_events("shop", Position(0x300)) == []
    assert repository.segments_with_events("shop", Position(0x100), Position(0x200)) == []
    assert repository.retained_from("another") == 0


def test_a_dropped_table_is_marked(repository: Repository, token: int) -> None:
    facts = SegmentFacts(1, Position(0x100), Position(0x200))
    repository.commit_segment("shop", token, facts, [revision(2, 0x150, None)], Position(0x200))
    assert repository.latest_revisions("shop")[7].table is None
    assert repository.tables("shop")[0].state is EnrolledState.DROPPED


@pytest.mark.parametrize(
    "facts", [SegmentFacts(1, Position(0x90), Position(0x200)), SegmentFacts(2, Position(0x100), Position(0x200))]
)
def test_a_window_that_does_not_continue_is_refused_whole(
    repository: Repository, token: int, facts: SegmentFacts
) -> None:
    with pytest.raises(RepositoryError, match="REP-104"):
        repository.commit_segment("shop", token, facts, [revision(2, 0x150, shape())], facts.high)
    assert repository.captured("shop") == Position(0x100)
    assert len(repository.revisions("shop")) == 1


def test_positions_only_go_forward(repository: Repository, token: int) -> None:
    repository.set_position("shop", token, "slot", Position(2**63 - 1))
    assert repository.positions("shop") == {"captured": Position(0x100), "slot": Position(2**63 - 1)}
    with pytest.raises(RepositoryError, match="REP-102"):
        repository.set_position("shop", token, "slot", Position(5))


def test_a_revision_is_never_changed(repository: Repository, token: int) -> None:
    repository.enroll("shop", token, [revision(1, 0, shape())])
    with pytest.raises(RepositoryError, match="REP-103"):
        repository.enroll("shop", token, [revision(2, 5, shape()), revision(1, 0, shape(columns=2))])
    assert len(repository.revisions("shop")) == 1


def test_ledger_records_a_step_once(repository: Repository, token: int) -> None:
    def record(state: StepState, sql_hash: str = "h") -> None:
        repository.record_step("shop", token, "w", StepApplied(7, 2, 0, sql_hash, "ALTER"), state)

    record(StepState.PLANNED, "other")
    record(StepState.DONE)
    record(StepState.DONE)
    (row,) = repository.ledger("shop", "w", [7])
    assert (row.step, row.sql_hash, row.summary, row.state) == (0, "h", "ALTER", StepState.DONE)
    for state, sql_hash in ((StepState.DONE, "other"), (StepState.PLANNED, "h")):
        with pytest.raises(RepositoryError, match="REP-106"):
            record(state, sql_hash)
    assert repository.ledger("shop", "x") == []


def test_controls_stay_until_a_person_removes_them(repository: Repository, token: int, location: str) -> None:
    control = repository.add_control("shop", token, "w", KEY, "type change", "on_enroll_break: FAIL_INTEG_JOB")
    assert repository.add_control("shop", token, "w", KEY, "type change", "x") == control
    repository.add_control("shop", token, "v", LogKey(0x50, 0), "r", "p")
    with Repository.open(location) as other:
        assert [c.target for c in other.controls("shop")] == ["v", "w"]
        assert other.controls("shop", "w") == [control]
    assert repository.remove_control("shop", control.id).removed is not None
    assert repository.controls("shop", "w") == []
    assert len(repository.controls("shop", "w", removed=True)) == 1
    assert repository.add_control("shop", token, "w", KEY, "again", "p").removed is not None
    with pytest.raises(ConfigError, match="CTL-102"):
        repository.remove_control("shop", 99)


def test_refreshes_wait_until_they_are_done(repository: Repository, token: int) -> None:
    first = repository.request_refresh(
        "shop", token, "w", RefreshRequested(7, "new table", Position(5), how=FIRST_LOAD)
    )
    assert repository.request_refresh("shop", token, "w", RefreshRequested(7, "type change", Position(9))) == first
    repository.request_refresh("shop", token, "v", RefreshRequested(7, "new table", Position(5)))
    assert [(r.target, r.requested_at) for r in repository.pending_refreshes("shop")] == [("w", 5), ("v", 5)]
    repository.finish_refresh("shop", token, "w", 7, rows=12)
    repository.finish_refresh("shop", token, "w", 7)
    assert [r.target for r in repository.pending_refreshes("shop")] == ["v"]
    assert [(r.state, r.rows) for r in repository.refreshes("shop", "w")] == [("done", 12)]
    assert repository.request_refresh("shop", token, "w", RefreshRequested(7, "again", Position(9))).id != first.id


def test_how_a_person_wants_a_table_refreshed_replaces_what_was_asked_for_before(
    repository: Repository, token: int
) -> None:
    for asked in (
        RefreshRequested(7, "new table", Position(5), how=FIRST_LOAD),
        RefreshRequested(7, "by hand", Position(6), is_by_hand=True, how="-gr -v"),
        RefreshRequested(7, "type change", Position(9)),
    ):
        repository.request_refresh("shop", token, "w", asked)
    (row,) = repository.pending_refreshes("shop")
    assert (row.reason, row.how, row.requested_at) == ("by hand", "-gr -v", 5)


def test_a_table_may_differ_until_the_next_refresh(repository: Repository, token: int) -> None:
    for at, why in ((5, "a policy"), (5, "a policy"), (9, "a policy"), (9, "a rule")):
        repository.decline_refresh("shop", token, "w", 7, why, Position(at))
    repository.decline_refresh("shop", token, "w", 8, "a policy", Position(5))
    repository.request_refresh("shop", token, "w", RefreshRequested(7, "asked for", Position(10)))
    assert [(r.table_id, r.requested_at) for r in repository.declined_refreshes("shop", "w")] == [
        (7, 5),
        (7, 9),
        (8, 5),
    ]
    assert [r.table_id for r in repository.pending_refreshes("shop")] == [7]
    repository.finish_refresh("shop", token, "w", 7, rows=12)
    assert [r.table_id for r in repository.declined_refreshes("shop", "w")] == [8]
    assert repository.declined_refreshes("shop", "v") == repository.pending_refreshes("shop") == []


def test_runs_and_errors(repository: Repository, token: int) -> None:
    repository.start_run("shop", token, "r1", "capture")
    repository.finish_run("shop", token, "r1", "capture", RunStatus.DONE, {"rows": 5, "ü": None})
    repository.start_run("shop", token, "r1", "integrate")
    rows = {row.stage: row for row in repository.runs("shop", "r1")}
    assert (rows["capture"].status, rows["capture"].result) == (RunStatus.DONE, {"rows": 5, "ü": None})
    assert rows["integrate"].status is RunStatus.RUNNING
    error = RepositoryError("m", code="REP-1", table="a.b", at=Position(5), hint="h")
    repository.record_error("shop", "r1", "integrate", error)
    (row,) = repository.errors("shop")
    assert (row.code, row.message, row.table, row.at, row.hint) == ("REP-1", "m", "a.b", "0/5", "h")
    assert repository.error_count("shop") == 1


def test_a_run_whose_process_died_is_lost(repository: Repository) -> None:
    with repository.lock("shop", "a") as lock:
        repository.start_run("shop", lock.token, "r1", "capture")
    assert repository.runs("shop")[0].status is RunStatus.LOST


def test_reopening_changes_nothing(repository: Repository, location: str) -> None:
    with Repository.open(location) as again:
        assert again.channel("shop") is not None


def test_migrations_build_the_tables_that_the_code_uses(repository: Repository) -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(upgrading.__file__).parent / "migrations"))
    assert ScriptDirectory.from_config(config).get_current_head() == HEAD
    database = repository._database
    with database.read() as connection:
        if not database.is_sqlite:
            connection.execute(text(f"set local search_path to {SCHEMA}"))
            connection = connection.execution_options(schema_translate_map=None)
        assert compare_metadata(MigrationContext.configure(connection, opts={"compare_type": True}), metadata) == []


def test_a_newer_repository_is_refused(repository: Repository, location: str) -> None:
    place = "" if repository._database.is_sqlite else f"{SCHEMA}."
    with repository._database.write() as connection:
        connection.execute(text(f"update {place}alembic_version set version_num = '9999'"))
    with pytest.raises(RepositoryError, match=r"(?s)REP-101.*newer version.*9999"):
        Repository.open(location)


def test_failed_migration_leaves_nothing(location: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upgrading, "HEAD", "9999")
    with pytest.raises(Exception, match="9999"):
        Repository.open(location)
    monkeypatch.undo()
    with Repository.open(location) as opened:
        assert opened.channels() == []


def test_an_older_repository_gets_the_new_columns(location: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upgrading, "HEAD", "0001")
    with Repository.open(location) as opened:
        opened.ensure_channel("shop", "f")
    monkeypatch.undo()
    with Repository.open(location) as opened:
        opened.record_error("shop", "r", "capture", Unreachable("away", code="CON-101", target="warehouse"))
        (row,) = opened.errors("shop")
    assert row.is_a(Unreachable)
    assert (row.target, row.message) == ("warehouse", "target warehouse: away")


def test_sqlite_file_is_for_its_owner(tmp_path: Path) -> None:
    file = tmp_path / "home" / "repository.db"
    with Repository.open(f"sqlite:///{file}") as opened:
        opened.ensure_channel("shop", "f")
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in file.parent.iterdir()}
    assert set(modes.values()) == {0o600}
    assert "repository.db-wal" in modes
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    ("location", "kind", "code"),
    [
        ("sqlite:////proc/nope/repository.db", Unreachable, "CON-120"),
        ("sqlite:///", ConfigError, "CFG-106"),
        ("postgresql://me:geheim@127.0.0.1:1/nope", Unreachable, "CON-120"),
        ("mysql://me:geheim@h/d", ConfigError, "CFG-104"),
        ("no such connection", ConfigError, "CFG-104"),
    ],
)
def test_an_unusable_repository_is_a_clear_error(location: str, kind: type[DdlReplError], code: str) -> None:
    with pytest.raises(kind) as caught:
        Repository.open(location)
    assert caught.value.code == code
    assert caught.value.hint
    assert "geheim" not in str(caught.value)


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    file = tmp_path / "repository.db"
    file.write_text("this is not a database, it is text" * 100)
    with pytest.raises(DdlReplError) as caught:
        Repository.open(f"sqlite:///{file}")
    assert "not a database" in str(caught.value)


def test_the_password_is_not_shown(databases: object, pg18: object) -> None:
    location = databases.source  # type: ignore[attr-defined]
    with Repository.open(
        location.replace("@", ":geheim@", 1) if ":" not in location.split("@")[0][13:] else location
    ) as one:
        assert "geheim" not in repr(one) + repr(one._database) + str(one.__dict__)


@pytest.mark.parametrize("location", ["postgresql://me@%2Ftmp%2FPostgres:77/a%20b", "by_id"])
def test_a_repository_behind_a_socket(location: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The location means the same as for a source."""
    told = {"conn_type": "postgres", "login": "me", "host": "/tmp/Postgres", "port": 77, "schema": "a b"}
    monkeypatch.setenv("AIRFLOW_CONN_BY_ID", json.dumps(told))
    url = database_url(location)
    assert (url.username, url.host, url.port, url.database) == ("me", "/tmp/Postgres", 77, "a b")


def test_writing_without_the_lock_is_refused(repository: Repository) -> None:
    with pytest.raises(Fenced, match="LCK-102"):
        repository.set_state("shop", 0, ChannelState.ACTIVE)
    with pytest.raises(Fenced, match="LCK-102"):
        repository.set_state("never heard of", 1, ChannelState.ACTIVE)
