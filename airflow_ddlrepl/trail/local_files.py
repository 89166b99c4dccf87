"""Local files of a trail are private to their owner, durable, and never half written."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import uuid
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from airflow_ddlrepl.failpoint import reach

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextlib.contextmanager
def disk_space_errors(folder: str, path: str, wanted: int) -> Iterator[None]:
    """Add the file, the bytes to write and the free space to a "disk full" error of a write inside the block."""
    try:
        yield
    except OSError as error:
        if error.errno not in FULL:
            raise
        free = shutil.disk_usage(folder).free
        what = f"{os.strerror(error.errno or 0)}: {wanted} bytes do not fit into {path}, {free} are free"
        raise OSError(error.errno, what) from error


def make_folders(path: str) -> None:
    """Make the folders that are missing, each private to the owner."""
    if os.path.isdir(path):
        return
    parent = os.path.dirname(path)
    make_folders(parent)
    with contextlib.suppress(FileExistsError):
        os.mkdir(path, 0o700)
        sync_folder(parent)


def link_if_absent(full: str, data: bytes) -> bool:
    """Write a durable file unless one of that name is there; return whether it was written."""
    with beside(full, data) as temporary:
        try:
            os.link(temporary, full)
        except FileExistsError:
            return False
    return True


@contextlib.contextmanager
def beside(full: str, data: bytes) -> Iterator[str]:
    """Yield a durable temporary file with the data in the same folder; what the block does with it is durable."""
    folder = os.path.dirname(full)
    make_folders(folder)
    temporary = f"{full}.{uuid.uuid4().hex}.tmp"
    with disk_space_errors(folder, full, len(data)):
        _write_new(temporary, data)
    reach("trail.temporary")
    try:
        yield temporary
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
    sync_folder(folder)


def _write_new(path: str, data: bytes) -> None:
    """Write a new durable file; on an error, leave none."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        os.unlink(path)
        raise


def listed(top: str) -> dict[str, dict[str, Any]]:
    """Return every file below a folder, unlike `find` of fsspec with an error for a folder that can't be read."""
    found: dict[str, dict[str, Any]] = {}
    for folder, _, names in os.walk(top, onerror=_unless_gone):
        for name in names:
            path = os.path.join(folder, name)
            with contextlib.suppress(FileNotFoundError):
                facts = os.lstat(path)
                found[path] = {"size": facts.st_size, "mtime": facts.st_mtime}
    return found


def _unless_gone(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise error


def sync_folder(path: str) -> None:
    """Make the names in a folder durable."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def drop_empty_folders(folder: PurePosixPath, root: PurePosixPath) -> None:
    """Remove a folder and those above it, up to the root, as long as they are empty."""
    while folder != root and root in folder.parents:
        try:
            os.rmdir(folder)
        except OSError:
            return
        folder = folder.parent
