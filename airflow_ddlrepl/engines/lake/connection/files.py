"""This module is the port of a lake's files: on a disk that all processes share, or in an object store.

A path is a text as Iceberg's metadata has it. A file is there when it is whole: who is killed leaves none.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from airflow_ddlrepl.config.sections.location import redact
from airflow_ddlrepl.engines.lake.connection.conflicts import driver_missing
from airflow_ddlrepl.errors import Unreachable

MADE = ".made"
"""So the name of a file of a disk ends as long as it is not whole."""


class Files(ABC):
    """The files of one warehouse."""

    is_read_by_spark: bool
    """Can Spark's own reader of Parquet read the files? Iceberg's always can."""

    @property
    def properties(self) -> Mapping[str, str]:
        """Return what Iceberg is to know to read and write the files, in Java and in Python; a secret may be in it."""
        return {}

    @abstractmethod
    def creating(self, path: str) -> AbstractContextManager[IO[bytes]]:
        """Write a file inside the `with`, in place of any other; it is there when the `with` ends well."""

    @abstractmethod
    def open(self, path: str) -> IO[bytes]:
        """Open a file to read it, in any order. Raises FileNotFoundError."""

    @abstractmethod
    def inside(self, folder: str) -> list[str]:
        """Return the paths of the files and folders of a folder, sorted; none where there is no such folder."""

    @abstractmethod
    def remove(self, path: str) -> None:
        """Remove a file, or a folder with all that is in it, where there is one."""

    @abstractmethod
    def copy(self, old: str, new: str) -> None:
        """Have a file under a second path, too."""

    def read(self, path: str) -> bytes:
        """Return a whole file. Raises FileNotFoundError."""
        with self.open(path) as file:
            return file.read()


class DiskFiles(Files):
    """Files of a disk, with paths that begin by a slash; some begin by `file:`."""

    is_read_by_spark = True

    @contextmanager
    def creating(self, path: str) -> Iterator[IO[bytes]]:
        at = _on_disk(path)
        at.parent.mkdir(parents=True, exist_ok=True)
        made = at.with_name(f"{at.name}.{os.getpid()}{MADE}")
        try:
            with made.open("wb") as file:
                yield file
        except BaseException:
            made.unlink(missing_ok=True)
            raise
        made.replace(at)

    def open(self, path: str) -> IO[bytes]:
        return _on_disk(path).open("rb")

    def inside(self, folder: str) -> list[str]:
        at = _on_disk(folder)
        return sorted(map(str, at.iterdir())) if at.is_dir() else []

    def remove(self, path: str) -> None:
        at = _on_disk(path)
        if at.is_dir():
            shutil.rmtree(at, ignore_errors=True)
        else:
            at.unlink(missing_ok=True)

    def copy(self, old: str, new: str) -> None:
        at = _on_disk(new)
        at.parent.mkdir(parents=True, exist_ok=True)
        try:
            at.hardlink_to(_on_disk(old))
        except OSError:  # a file system without hard links
            shutil.copyfile(_on_disk(old), at)


def _on_disk(path: str) -> Path:
    return Path(re.sub(r"^file:(//)?(?=/)", "", path))


@dataclass(frozen=True, slots=True)
class StoreFiles(Files):
    """Files of an object store that speaks S3, with paths as s3://bucket/prefix/file.

    What a location does not say, the environment says to Python and Java alike (AWS_…). endpoint: the store's URL;
    without one it is Amazon's. key: the id of the access key.
    """

    endpoint: str = ""
    region: str = ""
    key: str = ""
    secret: str = field(default="", repr=False)
    token: str = field(default="", repr=False)
    is_read_by_spark = False

    @property
    def properties(self) -> Mapping[str, str]:
        found = {
            "io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
            "py-io-impl": "pyiceberg.io.fsspec.FsspecFileIO",
            "s3.endpoint": self.endpoint,
            "s3.path-style-access": "true" if self.endpoint else "",
            "client.region": self.region,
            "s3.access-key-id": self.key,
            "s3.secret-access-key": self.secret,
            "s3.session-token": self.token,
        }
        return {name: value for name, value in found.items() if value}

    @property
    def login(self) -> Mapping[str, str]:
        """Return PyIceberg's properties by which it signs requests to other services as the store's user."""
        named = {"region": self.region, "access-key-id": self.key, "secret-access-key": self.secret}
        return {f"client.{name}": value for name, value in {**named, "session-token": self.token}.items()}

    @contextmanager
    def creating(self, path: str) -> Iterator[IO[bytes]]:
        with store_errors():
            file = self._store.open(path, "wb")
            try:
                yield file
            except BaseException:
                with contextlib.suppress(Exception):
                    file.discard()
                file.closed = True  # else it would be written when Python forgets it
                raise
            file.close()

    def open(self, path: str) -> IO[bytes]:
        with store_errors():
            found: IO[bytes] = self._store.open(path, "rb")
            return found

    def inside(self, folder: str) -> list[str]:
        with store_errors():
            try:
                found = self._store.ls(folder, detail=False)
            except FileNotFoundError:
                return []
        return sorted(f"s3://{one}" for one in found)

    def remove(self, path: str) -> None:
        with store_errors(), contextlib.suppress(FileNotFoundError):
            self._store.rm(path, recursive=True)

    def copy(self, old: str, new: str) -> None:
        with store_errors():
            self._store.copy(old, new)

    def read(self, path: str) -> bytes:
        with store_errors():
            return bytes(self._store.cat_file(path))

    @property
    def _store(self) -> Any:
        """Return the store's file system of this process."""
        import fsspec

        login = {"key": self.key, "secret": self.secret, "token": self.token, "endpoint_url": self.endpoint}
        region = {"region_name": self.region} if self.region else {}
        said = {name: value for name, value in login.items() if value}
        return fsspec.filesystem("s3", **said, client_kwargs=region, use_listings_cache=False)


_STORES = ("botocore", "aiobotocore", "aiohttp", "s3fs")


def is_of_store(error: BaseException) -> bool:
    """Is it an error of a driver of an object store?"""
    return type(error).__module__.partition(".")[0] in _STORES


@contextmanager
def store_errors() -> Iterator[None]:
    """Raise Unreachable CON-123 for what an object store refuses inside the `with`, or does not answer.

    Raises DriverMissing CON-113 where there is no driver for it.
    """
    try:
        yield
    except FileNotFoundError:
        raise
    except ImportError as error:
        raise driver_missing("object stores", "s3", error) from None
    except Exception as error:
        if isinstance(error, OSError) or is_of_store(error):
            raise store_refusal(error) from None
        raise


def store_refusal(error: object) -> Unreachable:
    """Return the error of an object store that does not answer, or refuses. error: what it says."""
    return Unreachable(
        f"the object store of a lake's warehouse refuses, or does not answer: {redact(' '.join(str(error).split()))}",
        code="CON-123",
        hint="check endpoint, bucket and credentials of the location, or in the environment (AWS_…); what was not"
        " committed is not seen, and the next run does it again",
        retryable=True,
    )
