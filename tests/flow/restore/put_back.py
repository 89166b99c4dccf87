"""Copies of what a channel has, to be put back later: the files of a server, a repository, a trail."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from airflow_ddlrepl.demo.servers import PrivateServer
from airflow_ddlrepl.errors import DdlReplError
from tests.support.replica import Replica, channel_file

TABLE = ("create table t (id int primary key, v text)", "insert into t values (1, 'a')")


@dataclass
class Places:
    """A channel whose source and target have a server each, so that each can be put back alone."""

    source: PrivateServer
    target: PrivateServer
    replica: Replica
    folder: Path

    def server(self, name: str) -> PrivateServer:
        return {"source": self.source, "target": self.target}[name]

    def copy(self, name: str) -> Path:
        """A copy of the files, as a backup has them; a server is stopped for it."""
        kept = self.folder / f"copy of {name}"
        shutil.rmtree(kept, ignore_errors=True)
        if name in ("source", "target"):
            server = self.server(name)
            server.stop()
            _copied(server.data, kept)
            server.start()
        elif name == "trail":
            _copied(self.folder / "trail", kept)
        else:
            kept.mkdir()
            for file in self.folder.glob("repository.db*"):
                shutil.copy2(file, kept / file.name)
        return kept

    def put_back(self, name: str) -> None:
        kept = self.folder / f"copy of {name}"
        if name in ("source", "target"):
            server = self.server(name)
            server.stop()
            shutil.rmtree(server.data)
            _copied(kept, server.data)
            server.start()
        elif name == "trail":
            shutil.rmtree(self.folder / "trail")
            _copied(kept, self.folder / "trail")
        else:
            for file in self.folder.glob("repository.db*"):
                file.unlink()
            for file in kept.iterdir():
                shutil.copy2(file, self.folder / file.name)


def _copied(folder: Path, to: Path) -> None:
    """With owners and rights, which a server insists on."""
    import os

    shutil.copytree(folder, to, symlinks=True)
    for path in (folder, *folder.rglob("*")):
        facts = path.lstat()
        os.chown(to / path.relative_to(folder), facts.st_uid, facts.st_gid, follow_symlinks=False)


@contextmanager
def places(folder: Path, version: int = 18, **sections: Any) -> Iterator[Places]:
    """An active channel with one table that has one row, between servers of this version."""
    with PrivateServer("source", version) as source, PrivateServer("target", version) as target:
        locations = (source.create_database("shop"), target.create_database("shop"))
        replica = Replica(*locations, channel_file(folder, *locations, **sections))
        replica.at_source(*TABLE)
        replica.activate()
        replica.replicate()
        yield Places(source, target, replica, folder)


def refused(replica: Replica, code: str, tries: int = 2) -> DdlReplError:
    """Each run is refused with this error, however often it is tried."""
    found: DdlReplError | None = None
    for _ in range(tries):
        try:
            replica.replicate()
        except DdlReplError as error:
            assert error.code == code, f"{error.code}: {error}"
            found = error
        else:
            raise AssertionError(f"{code} was expected, and the run went on")
    assert found is not None
    return found
