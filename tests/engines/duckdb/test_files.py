"""A DuckDB file that can't be used is an error that says why and what to do; nothing of a run is left in it."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from unittest.mock import Mock

import duckdb
import pytest

from airflow_ddlrepl.engines.duckdb.connection.database import explained, path_of, session, transaction
from airflow_ddlrepl.errors import ConfigError, DiskFull, DriverMissing, TargetError, Unreachable

HOLD = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('open', flush=True); sys.stdin.read()"


def at(path: Path) -> str:
    return f"duckdb://{path}"


def test_without_duckdb_s_package_the_error_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(DriverMissing, match="CON-113") as raised, session(at(tmp_path / "a.duckdb")):
        pass
    assert "airflow-ddlrepl[duckdb]" in raised.value.hint


def test_a_file_that_another_process_has_open_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "a.duckdb"
    held = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert held.stdin and held.stdout and held.stdout.readline() == "open\n"
    with pytest.raises(Unreachable, match="another process has the DuckDB file open") as raised, session(at(path), 0.3):
        pass
    assert raised.value.code == "CON-101" and raised.value.retryable
    held.stdin.close()
    with session(at(path), 60) as connection:
        assert connection.execute("SELECT 1").fetchall() == [(1,)]
    held.wait()


def test_readers_open_a_file_together(tmp_path: Path) -> None:
    path = tmp_path / "a.duckdb"
    with session(at(path)) as connection:
        connection.execute("CREATE TABLE t (i INTEGER)")
    read = HOLD.replace("sys.argv[1]", "sys.argv[1], read_only=True")
    held = subprocess.Popen(
        [sys.executable, "-c", read, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert held.stdin and held.stdout and held.stdout.readline() == "open\n"
    with session(at(path), 0.3, is_reader=True) as connection:
        assert connection.execute("SELECT count(*) FROM t").fetchall() == [(0,)]
        with session(at(path), is_reader=True) as other:
            assert other.execute("SELECT count(*) FROM t").fetchall() == [(0,)]
    held.stdin.close()
    held.wait()


@pytest.mark.parametrize("content", [b"no database at all" * 1000, b"\x00" * 8192])
def test_a_file_that_is_no_database_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.duckdb"
    path.write_bytes(content)
    with pytest.raises(TargetError) as raised, session(at(path)):
        pass
    assert raised.value.code == "TGT-111" and not raised.value.retryable
    assert path.read_bytes() == content


def test_a_file_of_a_newer_version_is_refused() -> None:
    """The file's header has a checksum: no test can write one of a version that does not exist yet."""
    text = "Trying to read a database file with version number 99, but we can only read versions between 64 and 67."
    error = explained(duckdb.IOException(text))
    assert isinstance(error, TargetError) and error.code == "TGT-111" and not error.retryable


def test_a_damaged_file_is_told_as_such(tmp_path: Path) -> None:
    path = tmp_path / "a.duckdb"
    with session(at(path)) as connection:
        connection.execute("CREATE TABLE t AS SELECT i, 'x' || i AS n FROM range(100000) AS r(i)")
    whole = bytearray(path.read_bytes())
    for block in range(3 * 4096, len(whole), 4096):
        whole[block + 100 : block + 108] = b"\xff" * 8
    path.write_bytes(bytes(whole))
    with pytest.raises(TargetError, match="Corrupt database file") as raised, session(at(path)):
        pass
    assert raised.value.code == "TGT-111"


def test_a_file_that_was_cut_and_a_directory_are_told_as_such(tmp_path: Path) -> None:
    path, cut = tmp_path / "a.duckdb", tmp_path / "cut.duckdb"
    with session(at(path)) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS i")
    cut.write_bytes(path.read_bytes()[:5000])
    for place in (cut, tmp_path):
        with pytest.raises(TargetError, match=str(place)) as raised, session(at(place)):
            pass
        assert raised.value.code == "TGT-111"
        assert duckdb.__version__ in raised.value.message


@pytest.mark.parametrize("mode", [0o555, 0o777])
def test_a_file_that_this_user_may_not_write_is_named(tmp_path: Path, mode: int) -> None:
    """Root may write everything, so another user tries."""
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    path = folder / "a.duckdb"
    if mode == 0o777:
        with session(at(path)) as connection:
            connection.execute("CREATE TABLE t (i INTEGER)")
        path.chmod(0o444)
    folder.chmod(mode)
    process = multiprocessing.get_context("fork").Process(target=_write_as_nobody, args=(path,))
    process.start()
    process.join()
    shutil.rmtree(folder)
    assert process.exitcode == 0


def _write_as_nobody(path: Path) -> None:
    os.setuid(65534)
    with pytest.raises(Unreachable, match=str(path)) as raised, session(at(path)):
        pass
    assert "Permission denied" in raised.value.message and "may write the file" in raised.value.hint


def test_a_folder_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(Unreachable, match="No such file or directory"), session(at(tmp_path / "none" / "a.duckdb")):
        pass


@pytest.mark.parametrize("location", ["duckdb://a.duckdb", "duckdb:///", "duckdb://host/a.duckdb"])
def test_a_location_without_an_absolute_path_is_refused(location: str) -> None:
    with pytest.raises(ConfigError) as raised:
        path_of(location)
    assert raised.value.code == "CFG-104"


def test_a_transaction_that_fails_leaves_nothing(tmp_path: Path) -> None:
    with session(at(tmp_path / "a.duckdb")) as connection:
        connection.execute("CREATE TABLE t (i INTEGER)")
        with pytest.raises(ZeroDivisionError), transaction(connection):
            connection.execute("INSERT INTO t VALUES (1)")
            connection.execute("ALTER TABLE t ADD COLUMN j INTEGER")
            raise ZeroDivisionError
        assert connection.execute("SELECT count(*) FROM duckdb_columns() WHERE table_name = 't'").fetchall() == [(1,)]
        assert connection.execute("SELECT count(*) FROM t").fetchall() == [(0,)]


def test_a_full_disk_is_told_as_such() -> None:
    error = explained(duckdb.IOException("Could not write all bytes to file: No space left on device"))
    assert isinstance(error, DiskFull) and error.code == "DSK-103" and error.retryable
    memory = explained(duckdb.OutOfMemoryException("failed to offload data block"))
    assert isinstance(memory, DiskFull) and "its memory" in memory.hint
    assert explained(ValueError("no error of DuckDB")) is None


def test_sessions_share_an_instance_and_leave_the_file_to_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, started = tmp_path / "a.duckdb", Mock(side_effect=duckdb.connect)
    monkeypatch.setattr(duckdb, "connect", started)
    for number in range(3):
        with session(at(path)) as connection:
            connection.execute("CREATE OR REPLACE TABLE t AS SELECT ? AS i", [number])
        done = subprocess.run([sys.executable, "-c", HOLD, str(path)], input="", capture_output=True, text=True)
        assert done.stdout == "open\n", done.stderr
    assert started.call_count == 1


def test_a_forked_process_opens_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.duckdb"
    with session(at(path)) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS i")
    if not (child := os.fork()):
        with session(at(path)) as connection:
            connection.execute("INSERT INTO t VALUES (2)")
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    with session(at(path)) as connection:
        assert connection.execute("SELECT sum(i) FROM t").fetchall() == [(3,)]


def test_a_session_that_writes_waits_for_those_that_read(tmp_path: Path) -> None:
    path = tmp_path / "a.duckdb"
    with session(at(path)) as connection:
        connection.execute("CREATE TABLE t (i INTEGER)")
    with session(at(path), is_reader=True), pytest.raises(Unreachable, match="CON-101"), session(at(path), 0.3):
        pass
    with session(at(path), 0.3) as connection:
        connection.execute("INSERT INTO t VALUES (1)")


def test_a_schema_may_have_the_name_of_the_file(tmp_path: Path) -> None:
    with session(at(tmp_path / "shop.duckdb")) as connection:
        connection.execute('CREATE SCHEMA shop; CREATE TABLE "shop"."t" AS SELECT 1 AS i')
        assert connection.execute('SELECT i FROM "shop"."t"').fetchall() == [(1,)]


def test_after_an_error_the_file_is_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "a.duckdb"
    with pytest.raises(ZeroDivisionError), session(at(path)) as connection, transaction(connection):
        connection.execute("CREATE TABLE t (i INTEGER)")
        raise ZeroDivisionError
    with session(at(path)) as connection:
        assert connection.execute("SELECT count(*) FROM duckdb_tables()").fetchall() == [(0,)]
