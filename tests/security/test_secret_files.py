"""Files with passwords end with the process that made them, also when that is killed; others can't open them."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from airflow_ddlrepl.spark.session import secret_file
from airflow_ddlrepl.spark.session.secret_file import private_file

SECRET = "geheim-0815"
HOLDS_ONE = f"""
import sys, time
from airflow_ddlrepl.spark.session import secret_file
if sys.argv[1] == "disk":
    secret_file._in_memory = lambda text: None
with secret_file.private_file({SECRET!r}, ".conf") as path:
    print(path, flush=True)
    time.sleep(600)
"""


def killed_while_it_holds_one(folder: Path, where: str) -> Path:
    """A process makes a secret file, another one reads it, then the first is killed with SIGKILL."""
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDS_ONE, where],
        stdout=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(folder)},
    )  # fmt: skip
    assert holder.stdout is not None
    path = Path(holder.stdout.readline().strip())
    read = subprocess.run(["cat", str(path)], capture_output=True, text=True, check=True)
    assert read.stdout == SECRET and stat.S_IMODE(path.stat().st_mode) == 0o600
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    return path


def files_with_the_secret(folder: Path) -> list[Path]:
    return [file for file in folder.rglob("*") if file.is_file() and SECRET in file.read_text(errors="replace")]


def test_a_killed_process_leaves_no_file_with_a_secret(tmp_path: Path) -> None:
    path = killed_while_it_holds_one(tmp_path, "memory")
    assert not path.exists() and files_with_the_secret(tmp_path) == []


def test_where_files_are_on_disk_the_next_process_removes_those_of_killed_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = killed_while_it_holds_one(tmp_path, "disk")
    assert files_with_the_secret(tmp_path) == [path]
    monkeypatch.setattr(secret_file, "_in_memory", lambda text: None)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with private_file("another", ".conf") as mine, private_file("a third", ".conf") as other:
        assert not path.exists()
        assert mine.read_text() == "another" and other.read_text() == "a third", "a running process keeps its own"
        assert stat.S_IMODE(mine.stat().st_mode) == 0o600
    assert not mine.exists() and not other.exists()


def test_another_user_can_not_open_a_secret_file() -> None:
    if os.getuid() != 0:
        pytest.fail("this test switches to another user: run the tests as root")
    with private_file(SECRET, ".conf") as path:
        for tried in (path, Path(str(path).replace("/fd/", "/../self/fd/"))):
            read = subprocess.run(["cat", str(tried)], capture_output=True, text=True, user="nobody")
            assert read.returncode != 0 and SECRET not in read.stdout


def test_a_secret_file_is_read_as_often_as_needed_and_closed_with_its_block() -> None:
    open_before = len(os.listdir("/proc/self/fd"))
    with private_file(SECRET * 100_000, ".conf") as path:
        assert path.read_text() == path.read_text() == SECRET * 100_000
    assert len(os.listdir("/proc/self/fd")) == open_before
    assert not path.exists()
