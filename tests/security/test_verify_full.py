"""Source, target and repository by `sslmode=verify-full`: encrypted, or refused; never in the clear."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest

from airflow_ddlrepl.demo.servers import PrivateServer
from airflow_ddlrepl.errors import DdlReplError
from tests.security.support.encrypted_server import Authority, EncryptedServer
from tests.support.replica import Replica, channel_file

ENCRYPTED = """
select count(*) filter (where ssl), count(*) from pg_stat_ssl join pg_stat_activity using (pid)
where application_name like 'ddlrepl%' or pid = pg_backend_pid()
"""


@dataclass
class Place:
    server: EncryptedServer
    authority: Authority

    def url(self, database: str, root: Path | None = None) -> str:
        return f"{self.server.dsn(database)}?sslmode=verify-full&sslrootcert={quote(str(root or self.authority.root))}"


@pytest.fixture(scope="module")
def place(private_server: type[PrivateServer], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    authority = Authority(tmp_path_factory.mktemp("certificates") / "ca")
    with EncryptedServer(authority) as server:
        for name in ("source", "target", "repository"):
            server.create_database(name)
        yield Place(server, authority)


def channel(place: Place, folder: Path, **locations: str) -> Replica:
    urls = {name: place.url(name) for name in ("source", "target", "repository")} | locations
    file = channel_file(folder, urls["source"], urls["target"], repository=urls["repository"])
    return Replica(urls["source"], urls["target"], file)


def test_a_channel_runs_over_verified_connections_alone(place: Place, tmp_path: Path) -> None:
    """The server takes no other: each connection of loads, log, merges and the repository is verified."""
    with pytest.raises(psycopg.OperationalError, match="no encryption"):
        psycopg.connect(f"{place.server.dsn('source')}?sslmode=disable")
    replica = channel(place, tmp_path)
    replica.at_source(
        "create table t (id int primary key, v text)", "insert into t select i from generate_series(1, 900) i"
    )
    replica.activate()
    replica.at_source("alter table t add column n int default 3", "insert into t values (1000, 'x', 4)")
    replica.settle()
    with psycopg.connect(place.url("source")) as connection:
        encrypted, all_of_them = connection.execute(ENCRYPTED).fetchone() or (0, 0)
    assert encrypted == all_of_them > 0


@pytest.mark.parametrize("which", ["source", "target", "repository"])
def test_a_server_of_another_authority_is_refused(place: Place, tmp_path: Path, which: str) -> None:
    other = Authority(tmp_path / "other")
    replica = channel(place, tmp_path, **{which: place.url(which, other.root)})
    with pytest.raises(DdlReplError, match=r"CON-1\d\d.*certificate verify failed") as caught:
        replica.activate()
    assert place.server.password not in str(caught.value)


def test_a_server_of_another_name_is_refused(private_server: type[PrivateServer], tmp_path: Path) -> None:
    authority = Authority(tmp_path / "ca")
    with EncryptedServer(authority, "elsewhere.example") as server:
        for name in ("source", "target", "repository"):
            server.create_database(name)
        with pytest.raises(DdlReplError, match=r"CON-1\d\d.*does not match"):
            channel(Place(server, authority), tmp_path).activate()
