"""This module is a Hadoop catalog as a catalog that changes one table at a time: its tables are folders of a disk.

A table's pointer is the newest of its files `v1.metadata.json`, `v2.metadata.json`, …; who makes the next one has
written to the table. Where a table's other files are is said in these, so that a table that is renamed gets another
folder for these files alone.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import re
import secrets
from dataclasses import dataclass
from pathlib import Path

from airflow_ddlrepl.engines.lake.catalog.piecewise.port import Metadata, OneByOne
from airflow_ddlrepl.engines.lake.connection.conflicts import name_taken, written_meanwhile
from airflow_ddlrepl.engines.lake.connection.files import MADE
from airflow_ddlrepl.engines.lake.connection.single_catalog import OF_FOLDERS
from airflow_ddlrepl.engines.lake.connection.warehouse import file_refusals
from airflow_ddlrepl.model.names import TableName

_VERSION = re.compile(r"v(\d+)\.(?:gz\.)?metadata\.json(?:\.gz)?")
_HINT = "version-hint.text"
"""The file in which readers look first: it has the number of the newest version, or of an earlier one."""
_USED = "ddlrepl-last-version.text"
"""The file that has the last number of a table that we have removed: the next one of its name begins behind it.

So a program that has the earlier one open can't take the next one's files for later versions of it.
"""
_COMPRESSED = ("gzip", "gz")
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class HadoopCatalog(OneByOne):
    """A Hadoop catalog is a folder. warehouse: its path."""

    warehouse: str
    names = re.compile(rf"(?!\.|{OF_FOLDERS})[^/\\:\x00-\x1f]{{1,200}}")
    rule = f"in a Hadoop catalog it is a folder, without / \\ and :, and does not begin by a dot or {OF_FOLDERS}"

    def find(self, name: TableName) -> str | None:
        with file_refusals(name):
            newest = max(_versions(self._folder(name)), default=None)
        return None if newest is None else str(newest[1])

    def kinds(self) -> dict[TableName, str]:
        with file_refusals():
            schemas = [one for one in _folders(Path(self.warehouse)) if not one.name.startswith(OF_FOLDERS)]
            tables = [one for schema in schemas for one in _folders(schema) if _versions(one / "metadata")]
        return {TableName(one.parent.name, one.name): "table" for one in tables}

    def add(self, name: TableName, path: str, metadata: Metadata) -> None:
        folder = self._folder(name)
        with file_refusals(name):
            folder.mkdir(parents=True, exist_ok=True)
            if _versions(folder) or not _has_made(folder, _used(folder) + 1, metadata):
                raise name_taken(name)

    def swap(self, name: TableName, base: str, path: str, metadata: Metadata) -> None:
        found = _VERSION.fullmatch(Path(base).name)
        with file_refusals(name):
            if found is None or not Path(base).exists():
                raise written_meanwhile(name)
            if not _has_made(Path(base).parent, int(found[1]) + 1, metadata):
                raise written_meanwhile(name)

    def drop(self, name: TableName, last: str) -> None:
        folder = self._folder(name)
        with file_refusals(name):
            there = sorted(_versions(folder))
            if not there or str(there[-1][1]) != last:
                raise written_meanwhile(name)
            _write(folder / _USED, str(there[-1][0]).encode())
            _remove(folder / _HINT)
            for _, one in there:  # a reader finds the newest one until the end
                _remove(one)
            if _versions(folder):
                raise written_meanwhile(name)

    def remove_old(self, name: TableName, before: float) -> int:
        folder = self._folder(name)
        with file_refusals(name):
            if not (there := sorted(_versions(folder))):
                return 0
            number, newest = there[-1]
            _write(folder / _HINT, str(number).encode())  # it may name one that goes
            named = {Path(one["metadata-file"]).name for one in _content(newest).get("metadata-log", ())}
            left = [*(one for _, one in there[:-1] if one.name not in named), *folder.glob(f"*{MADE}")]
            old = [one for one in left if _is_older(one, before)]
            for one in old:
                _remove(one)
        return len(old)

    def require_able(self) -> None:
        with file_refusals():
            _folders(Path(self.warehouse))

    def _folder(self, name: TableName) -> Path:
        return Path(self.warehouse, name.schema, name.name, "metadata")


def _folders(of: Path) -> list[Path]:
    return sorted(one for one in of.iterdir() if one.is_dir()) if of.is_dir() else []


def _versions(folder: Path) -> list[tuple[int, Path]]:
    """Return the versions of a table, with the number of each."""
    found = [(_VERSION.fullmatch(one.name), one) for one in folder.iterdir()] if folder.is_dir() else []
    return [(int(match[1]), one) for match, one in found if match]


def _used(folder: Path) -> int:
    """Return the last number that a table of this name has had before."""
    with contextlib.suppress(FileNotFoundError):
        return int((folder / _USED).read_text())
    return 0


def _is_older(path: Path, before: float) -> bool:
    with contextlib.suppress(FileNotFoundError):  # an Iceberg writer has removed it
        return path.stat().st_mtime < before
    return False


def _content(path: Path) -> Metadata:
    text = path.read_bytes()
    found: Metadata = json.loads(gzip.decompress(text) if text.startswith(_GZIP) else text)
    return found


def _has_made(folder: Path, number: int, metadata: Metadata) -> bool:
    """Make a version of a table, unless there is one of this number, or the table is gone; say whether it was made."""
    if any(there >= number for there, _ in _versions(folder)):
        return False
    text, ending = json.dumps(dict(metadata)).encode(), "metadata.json"
    if metadata.get("properties", {}).get("write.metadata.compression-codec", "").lower() in _COMPRESSED:
        text, ending = gzip.compress(text), "gz.metadata.json"
    made = folder / f"{secrets.token_hex(8)}{MADE}"
    try:
        made.write_bytes(text)
        os.link(made, folder / f"v{number}.{ending}")
    except (FileExistsError, FileNotFoundError):
        return False
    finally:
        made.unlink(missing_ok=True)
    _write(folder / _HINT, str(number).encode())
    return True


def _write(path: Path, text: bytes) -> None:
    """Write a small file whole; Hadoop's checksum of an earlier one would refuse it."""
    made = path.with_name(f"{path.name}.{secrets.token_hex(4)}{MADE}")
    made.write_bytes(text)
    _checksum(path).unlink(missing_ok=True)
    made.replace(path)


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)
    _checksum(path).unlink(missing_ok=True)


def _checksum(path: Path) -> Path:
    return path.with_name(f".{path.name}.crc")
