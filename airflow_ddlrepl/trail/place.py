"""A place is the folder of a trail on a local disk or an object store, reached through fsspec.

Local files are private to their owner (0600, folders 0700) and durable when `close` returns.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import IO, Any

from airflow_ddlrepl.config.sections.location import redact
from airflow_ddlrepl.errors import DiskFull, TrailError, Unreachable
from airflow_ddlrepl.trail.checksum import Checksum
from airflow_ddlrepl.trail.local_files import (
    FULL,
    beside,
    disk_space_errors,
    drop_empty_folders,
    link_if_absent,
    listed,
    make_folders,
    sync_folder,
)
from airflow_ddlrepl.trail.manifest import Blob

AT_ONCE = 1 << 16  # what is smaller is written together: thousands of tables have a line and a piece each
_UNSAFE = re.compile(r"[\x00-\x1f\\:*?\[\]]")


class Place:
    """A place is a folder by URL; paths are relative to it and never lead out of it (TRL-105).

    Options and secrets of an object store come from the environment (AWS_…, FSSPEC_…), never the URL.
    """

    def __init__(self, url: str) -> None:
        from fsspec.core import url_to_fs
        from fsspec.implementations.local import LocalFileSystem

        if redact(url) != url:
            raise TrailError(
                f"the trail's URL {redact(url)} holds a password, which would be stored in many places",
                code="TRL-110",
                hint="set the password in the environment instead: AWS_…, FSSPEC_…",
            )
        try:
            self.fs, root = url_to_fs(url, use_listings_cache=False)
        except (ImportError, ValueError) as error:
            raise TrailError(
                f"the trail {redact(url)!r} has no file system in this Python: {redact(str(error))}",
                code="TRL-107",
                hint="for s3:// install s3fs",
            ) from None
        self.root = root.rstrip("/")
        self._checked = ("", "")
        self.is_local = isinstance(self.fs, LocalFileSystem)

    def full(self, path: str) -> str:
        """Return the file system's own path; raise TrailError TRL-105 when it would leave the folder."""
        if path == self._checked[0]:  # piece after piece of one pack
            return self._checked[1]
        parts = path.split("/")
        if not path or any(part in ("", ".", "..") for part in parts) or _UNSAFE.search(path):
            raise TrailError(
                f"{path!r} is not a path inside the trail",
                code="TRL-105",
                hint="the manifest that names it is damaged or was changed: restore it",
            )
        full = f"{self.root}/{path}"
        if self.is_local and not os.path.realpath(full).startswith(os.path.realpath(self.root) + os.sep):
            raise TrailError(f"{path!r} leads out of the trail", code="TRL-105", hint="remove the symbolic link")
        self._checked = (path, full)
        return full

    def create(self, path: str) -> Sink:
        """Open a new file to write; an existing file of that name is replaced."""
        full = self.full(path)
        with store_errors():
            if not self.is_local:
                return Sink(path, self.fs.open(full, "wb"))
            make_folders(os.path.dirname(full))
            handle = os.open(full, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            return Sink(path, os.fdopen(handle, "wb"), folder=os.path.dirname(full))

    def put_if_absent(self, path: str, data: bytes) -> bool:
        """Write the whole file at once; return False, with nothing written, when it exists already."""
        full = self.full(path)
        with store_errors():
            if self.is_local:
                return link_if_absent(full, data)
            try:
                self.fs.pipe_file(full, data, mode="create")
            except FileExistsError:
                return False
            except OSError as error:
                if "PreconditionFailed" in repr(error) or "412" in str(error) or "pre-conditions" in str(error):
                    return False
                raise
            return True

    def replace(self, path: str, data: bytes) -> None:
        """Write the whole file at once; an existing file of that name is replaced."""
        full = self.full(path)
        with store_errors():
            if not self.is_local:
                self.fs.pipe_file(full, data)
                return
            with beside(full, data) as temporary:
                os.replace(temporary, full)

    def read(self, path: str, offset: int | None = None, size: int = 0) -> bytes | None:
        """Return the whole file, or at most `size` bytes of it from an offset on; None when it does not exist."""
        full = self.full(path)
        piece = (None, None) if offset is None else (offset, offset + size)
        with store_errors():
            try:
                return bytes(self.fs.cat_file(full, *piece))
            except FileNotFoundError:
                return None

    def size(self, path: str) -> int | None:
        """Return the file's size in bytes, None when it does not exist."""
        full = self.full(path)
        with store_errors():
            try:
                return int(self.fs.info(full)["size"])
            except FileNotFoundError:
                return None

    def walk(self, folder: str = "") -> dict[str, dict[str, Any]]:
        """Return every file below the folder: its relative path and the file system's facts about it.

        A folder that can't be read is an error: the files in it would be taken for deleted.
        """
        top = self.full(folder) if folder else self.root
        with store_errors():
            try:
                found = listed(top) if self.is_local else self.fs.find(top, detail=True)
            except FileNotFoundError:
                return {}
        prefix = self.root.lstrip("/") + "/"
        return {path.lstrip("/").removeprefix(prefix): info for path, info in sorted(found.items())}

    def remove(self, path: str) -> None:
        """Delete the file where it exists, and the folders that are empty then."""
        full = self.full(path)
        with store_errors(), contextlib.suppress(FileNotFoundError):
            self.fs.rm_file(full)
        if self.is_local:
            drop_empty_folders(PurePosixPath(full).parent, PurePosixPath(self.root))


class Sink:
    """A sink is a file being written that counts and checksums its bytes; `close` makes it durable."""

    def __init__(self, path: str, file: IO[bytes], folder: str | None = None) -> None:
        self.path = path
        self.size = 0
        self.closed = False
        self.abandoned = False
        self._checksum = Checksum()
        self._small: list[bytes] = []
        self._small_size = 0
        self._file = file
        self._folder = folder

    def write(self, data: Any) -> int:
        """Write the bytes of any buffer and return their number."""
        size = memoryview(data).nbytes
        if self.abandoned:  # a Parquet writer that is let go of still writes its footer
            return size
        self.size += size
        if size < AT_ONCE:
            self._small.append(bytes(data))
            self._small_size += size
            if self._small_size >= AT_ONCE:
                self._write_small()
            return size
        self._write_small()
        self._write(data)
        return size

    def _write_small(self) -> None:
        small, self._small, self._small_size = self._small, [], 0
        if small:
            self._write(b"".join(small))

    def _write(self, data: Any) -> None:
        view = memoryview(data).cast("B")
        with store_errors(), self._disk_space(len(view)):
            self._file.write(view)
        self._checksum.update(view)

    def tell(self) -> int:
        """Return how many bytes have been written."""
        return self.size

    def flush(self) -> None:
        """Do nothing: `close` makes the file durable."""

    def writable(self) -> bool:
        """Return True: the file can be written."""
        return True

    def readable(self) -> bool:
        """Return False: the file can't be read."""
        return False

    def seekable(self) -> bool:
        """Return False: bytes are written one after the other."""
        return False

    def close(self) -> None:
        """Close the file; a local one is durable then."""
        if self.closed:
            return
        self.closed = True
        with store_errors(), self._disk_space(self.size), self._file:
            self._write_small()
            if self._folder:
                self._file.flush()
                os.fsync(self._file.fileno())
                sync_folder(self._folder)

    def abandon(self) -> None:
        """Close the file and ignore any error: nobody will read it."""
        self.closed = self.abandoned = True
        with contextlib.suppress(Exception):
            self._file.close()

    def _disk_space(self, wanted: int) -> contextlib.AbstractContextManager[None]:
        if self._folder is None:
            return contextlib.nullcontext()
        return disk_space_errors(self._folder, f"{self._folder}/{os.path.basename(self.path)}", wanted)

    @property
    def blob(self) -> Blob:
        """Return path, size and checksum of the file, as a manifest lists it."""
        return Blob(self.path, self.size, self._checksum.text)


@contextlib.contextmanager
def store_errors() -> Iterator[None]:
    """Turn failures of the trail's store inside the block into errors with a code and a hint."""
    try:
        yield
    except FileNotFoundError as error:
        raise TrailError(
            f"the trail's store does not exist: {error}",
            code="TRL-108",
            hint="create the bucket or folder, or correct `trail` in the channel file; if what it held is lost,"
            " `ddlrepl activate --new-trail` after that",
        ) from error
    except PermissionError as error:
        raise TrailError(
            f"this user may not read or write the trail: {error}",
            code="TRL-109",
            hint="give the user read and write rights there",
        ) from error
    except OSError as error:
        if error.errno in FULL:
            raise _full(error) from error
        raise Unreachable(
            f"the trail does not answer: {error}", code="CON-122", hint="check disk space and network", retryable=True
        ) from error
    except Exception as error:
        if type(error).__module__.split(".")[0] in ("botocore", "aiobotocore", "aiohttp", "s3fs"):
            raise Unreachable(
                f"the trail's object store refuses: {error}",
                code="CON-121",
                hint="check endpoint, bucket and credentials in the environment (AWS_…)",
                retryable=True,
            ) from error
        raise


def _full(error: OSError) -> DiskFull:
    return DiskFull(
        f"the trail's disk is full: {error.strerror}",
        code="DSK-101",
        hint="free space there, or let `retention` in the channel file remove older segments. Nothing was"
        " confirmed to the source: the next run reads the log again",
        retryable=True,
    )
