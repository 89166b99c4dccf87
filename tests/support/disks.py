"""Small disks that really get full."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from airflow_ddlrepl.demo import binaries

PAGE = 4096


@dataclass
class SmallDisk:
    """A file system of its own that holds no more than so many bytes."""

    folder: Path

    @property
    def free(self) -> int:
        """Bytes."""
        return shutil.disk_usage(self.folder).free

    def resize(self, size: int) -> None:
        _mount("-o", f"remount,size={size}", str(self.folder))

    def leave(self, size: int) -> None:
        """Fill it up; so many bytes (whole pages) stay free."""
        filler = self.folder / "filler"
        filler.unlink(missing_ok=True)
        with filler.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, max(self.free - size, PAGE))

    def make_room(self) -> None:
        (self.folder / "filler").unlink(missing_ok=True)


@contextmanager
def small_disk(size: int) -> Iterator[SmallDisk]:
    """A disk of so many bytes that the servers' account may use, too. It is never left out: fails without the right."""
    folder = Path(tempfile.mkdtemp(prefix="ddlrepl-disk-"))
    folder.chmod(0o755)
    try:
        _mount("-t", "tmpfs", "-o", f"size={size},mode=0700", "tmpfs", str(folder))
        try:
            yield SmallDisk(folder)
        finally:
            subprocess.run(["umount", "-l", str(folder)], check=True)
    finally:
        folder.rmdir()


def for_server(disk: SmallDisk, name: str) -> Path:
    """A folder on the disk that belongs to the servers' account."""
    folder = disk.folder / name
    folder.mkdir(mode=0o700)
    account = binaries.account()
    disk.folder.chmod(0o755)
    if account is not None:
        os.chown(folder, account.pw_uid, account.pw_gid)
    return folder


def _mount(*arguments: str) -> None:
    done = subprocess.run(["mount", *arguments], check=False, capture_output=True, text=True)
    if done.returncode:
        pytest.fail(f"tests of a full disk need the right to mount a tmpfs (run them as root): {done.stderr}")
