"""A full disk under the trail, the repository or the target: the run fails and says where; nothing is lost by it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl.demo.servers import PrivateServer
from airflow_ddlrepl.engines.postgres.connection.quoting import literal
from airflow_ddlrepl.errors import DdlReplError, DiskFull
from tests.support.attempts import attempt
from tests.support.disks import PAGE, SmallDisk, for_server, small_disk
from tests.support.refusing import ask
from tests.support.replica import Replica, channel_file, run

START = (
    "create table log (what text, n int)",
    "insert into log select 'twice', i % 3 from generate_series(1, 9) i",
    "create table docs (id int primary key, body text)",
)
BODY = "(select string_agg(md5(i::text || x::text || random()::text), '') from generate_series(1, 30) x)"
TRACES = "select what, n, count(*) from log group by 1, 2 order by 1, 2"
MEBIBYTE = 1 << 20


def check_traces(replica: Replica) -> None:
    """Where no key hides it, a change that was lost or applied twice shows."""
    assert ask(replica.source, TRACES) == replica.rows(TRACES)
    left = "select relname from pg_class where relnamespace = 'ddlrepl'::regnamespace and relname ~ '^[rs]_'"
    assert replica.rows(left) == []


def confirmed(replica: Replica) -> list[tuple[Any, ...]]:
    """What the source may forget."""
    return ask(replica.source, "select confirmed_flush_lsn from pg_replication_slots where slot_name = 'ddlrepl_shop'")


def caught(replica: Replica, stage: str = "replicate") -> DdlReplError | None:
    """The error that ends the stage in this process."""
    try:
        getattr(replica, stage)()
    except DdlReplError as error:
        return error
    return None


@pytest.mark.req("XR-09")
def test_the_trail_is_full(databases: Any, tmp_path: Path) -> None:
    """Wherever in a window the room ends: no manifest, no file of it is left, nothing is confirmed."""
    with small_disk(8 * MEBIBYTE) as disk:
        file = channel_file(tmp_path, databases.source, databases.target, trail=f"file://{disk.folder}/trail")
        replica = Replica(databases.source, databases.target, file)
        replica.at_source(*START)
        replica.activate()
        replica.at_source("insert into log values ('first', 1)")
        replica.settle()
        replica.at_source(f"insert into docs select i, {BODY} from generate_series(1, 100) i")
        replica.at_source("alter table docs add column more int", "insert into log values ('once', 1), ('twice', 1)")
        before, stood = confirmed(replica), _files(disk)
        errors = []
        for pages in (0, 1, 2, 3, 4, 8, 16, 20, 22, 24, 26):
            disk.leave(pages * PAGE)
            error = caught(replica)
            if error is None:
                break
            errors.append(error)
            assert isinstance(error, DiskFull) and error.code == "DSK-101" and error.retryable
            assert f"{disk.folder}/trail" in error.message and "are free" in error.message
            assert "retention" in error.hint
            assert ("of log in this window" in error.message) == ("/segments/" not in error.message)
            assert confirmed(replica) == before
            assert _files(disk) == stood
        assert len(errors) >= 4
        disk.make_room()
        replica.settle()
        check_traces(replica)


def _files(disk: SmallDisk) -> set[str]:
    """Everything on the disk, half-written files too."""
    return {str(p) for p in disk.folder.rglob("*") if p.is_file() and p.name != "filler"}


@pytest.mark.req("XR-09")
def test_the_repository_is_full(databases: Any, tmp_path: Path) -> None:
    """Its SQLite file can't grow: at whatever record that is, the next run makes it good."""
    with small_disk(8 * MEBIBYTE) as disk:
        place = {"repository": f"sqlite:///{disk.folder}/repository.db"}
        replica = Replica(
            databases.source, databases.target, channel_file(tmp_path, databases.source, databases.target, **place)
        )
        replica.at_source(*START)
        assert attempt("activate", replica.file) is None
        errors = []
        for number, pages in enumerate((0, 1, 9, 16, 24, 32, 48)):
            replica.at_source(
                f"insert into log values ('once', {number}), ('twice', 1)",
                f"alter table docs add column c{number} int default {number}",
                f"create table made_{number} (n int)",
                f"insert into made_{number} values (1), (1)",
            )
            before = confirmed(replica)
            disk.leave(pages * PAGE)
            error = attempt("replicate", replica.file)
            disk.make_room()
            if error is None:
                continue
            errors.append(error)
            assert isinstance(error, DiskFull) and error.code == "DSK-102" and error.retryable
            assert str(disk.folder) in error.message and "are free" in error.message and "free space" in error.hint
            if pages == 0:
                assert confirmed(replica) == before
        assert len(errors) >= 3
        replica.settle()
        check_traces(replica)


@pytest.fixture(scope="module")
def server(private_server: type[PrivateServer]) -> Iterator[PrivateServer]:
    with private_server("source", 18, {"max_wal_size": "64MB", "min_wal_size": "32MB"}) as made:
        yield made


@pytest.mark.req("XR-09")
def test_the_target_is_full(server: PrivateServer, tmp_path: Path) -> None:
    """In a refresh, in integrate and in adapt: all or nothing at the target."""
    with small_disk(24 * MEBIBYTE) as disk:
        run(server.dsn(), f"create tablespace small location {literal(str(for_server(disk, 'data')))}")
        run(server.dsn(), "create database full_target tablespace small")
        source, target = server.create_database("full_source"), server.dsn("full_target")
        replica = Replica(source, target, channel_file(tmp_path, source, target))
        replica.at_source(*START, f"insert into docs select i, {BODY} from generate_series(1, 20000) i")
        _full(replica, "activate", "are loaded")
        disk.resize(64 * MEBIBYTE)
        replica.activate()
        replica.check_equal()

        disk.leave(2 * MEBIBYTE)
        replica.at_source(
            "insert into log values ('once', 1), ('twice', 1), ('twice', 1)",
            f"insert into docs select i, {BODY} from generate_series(20001, 24000) i",
        )
        before, stood = _position(replica), replica.rows(TRACES)
        _full(replica, "replicate", "of row files")
        assert (_position(replica), replica.rows(TRACES)) == (before, stood)
        disk.make_room()
        replica.settle()
        check_traces(replica)

        replica.at_source("alter table docs alter id type bigint", "insert into log values ('once', 2)")
        disk.leave(2 * MEBIBYTE)
        before = _position(replica)
        _full(replica, "replicate")
        assert _position(replica) == before
        disk.make_room()
        replica.settle()
        check_traces(replica)
        for name in ("full_target", "full_source"):
            server.drop_database(name)
        run(server.dsn(), "drop tablespace small")


def _full(replica: Replica, stage: str, needed: str = "") -> None:
    error = caught(replica, stage)
    assert isinstance(error, DiskFull) and error.code == "DSK-103" and error.retryable, error
    assert "the target" in error.message and "No space left on device" in error.message and needed in error.message
    assert "free space" in error.hint


def _position(replica: Replica) -> list[tuple[Any, ...]]:
    return replica.rows("select lsn from ddlrepl.position")
