"""What a version of the product has stored of a channel, taken once and laid down again between fresh servers.

Run with the code of a version, from its checkout, this takes its state:

    python -m tests.flow.upgrades.stored_state FOLDER

A state is one SQL text of the source's database and one of the target's, as pg_dump writes them for pg_upgrade, so that
each table has the id again that it had; one of the repository; and the trail. What names a server or a folder is
`{source}`, `{target}` (`connect.identity`) and `{folder}` in it.
"""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from airflow_ddlrepl.demo.servers import PrivateServer
from airflow_ddlrepl.engines.postgres.connection.connect import connect, identity
from tests.support.replica import Replica, channel_file

BEGIN = (
    "create type mood as enum ('good', 'bad')",
    "create table orders (id int primary key, note text default 'x', feels mood)",
    "insert into orders select i, 'order ' || i, 'good' from generate_series(1, 20) i",
    "create table log (what text, n numeric(10, 2))",
    "insert into log values ('twice', 1), ('twice', 1)",
    "create table tree (id int, v text) partition by range (id)",
    "create table leaf partition of tree for values from (0) to (100)",
    "insert into tree values (1, 'a')",
    "create table keyless (a int, b int generated always as (a + 1) stored)",
)
APPLIED = (
    "alter table orders add column price int default 7",
    "insert into orders (id, note) values (100, 'applied')",
    "alter table log rename column what to said",
)
CAPTURED = (
    "insert into orders (id, note, price) values (200, 'captured', 1)",
    "alter table orders drop column feels",
    "update orders set note = 'changed' where id < 4",
    "delete from log",
    "insert into tree values (50, 'b')",
)
FILES_OF_LOG = 5
"""So far behind the beginning of a log, nothing of the channel is where a fresh server makes its databases."""

TRANSACTIONS = """
create procedure pass() language plpgsql as $$
begin
    for i in 1 .. 4000 loop
        perform pg_current_xact_id();
        commit;
    end loop;
end
$$
"""
"""Servers that states were taken from have used fewer ids: an older one would count as loaded already."""

PUBLICATION = "update ddlrepl.channel set publication_id = (select oid from pg_publication where pubname = publication)"
"""Only its id can't be chosen."""


def take(folder: Path) -> None:
    """Store the state of a channel that has captured more than its target has, on the oldest server."""
    with PrivateServer("source", 15) as server:
        source, target = server.create_database("shop"), server.create_database("warehouse")
        replica = Replica(source, target, channel_file(folder, source, target))
        replica.at_source(*["select pg_logical_emit_message(false, 'x', 'x'), pg_switch_wal()"] * FILES_OF_LOG, *BEGIN)
        replica.activate()
        replica.at_source(*APPLIED)
        replica.replicate()
        replica.at_source(*CAPTURED)
        replica.capture()
        names = {_identity(source): "{source}", _identity(target): "{target}", str(folder): "{folder}"}
        for name, dsn in (("source", source), ("target", target)):
            (folder / f"{name}.dump").write_text(_dump(server, dsn))
        with closing(sqlite3.connect(folder / "repository.db")) as database:
            text = "\n".join(database.iterdump()) + "\n"
        for found, name in names.items():
            text = text.replace(found, name)
        (folder / "repository.dump").write_text(text)
    for file in (*folder.glob("repository.db*"), replica.file):
        file.unlink()


def _identity(dsn: str) -> str:
    with connect(dsn) as connection:
        return identity(connection)


def _dump(server: PrivateServer, dsn: str) -> str:
    program = str(server._programs / "pg_dump")
    done = subprocess.run([program, "--binary-upgrade", "--inserts", dsn], check=True, capture_output=True, text=True)
    return re.sub(r"^\\.*\n", "", done.stdout, flags=re.MULTILINE)


@contextmanager
def laid_down(state: Path, folder: Path, version: int) -> Iterator[Replica]:
    """The state between databases of a fresh server, whose log goes on where what was captured ends."""
    with PrivateServer("source", version) as server:
        source, target = server.create_database("shop"), server.create_database("warehouse")
        _as_pg_upgrade(server, {source: state / "source.dump", target: state / "target.dump"})
        yield _with_log(state, folder, source, target)


def _as_pg_upgrade(server: PrivateServer, texts: dict[str, Path]) -> None:
    """Only a server that is being upgraded lets somebody choose the ids of tables."""
    programs, chosen = server._programs, server.data.with_name("upgrading")
    chosen.mkdir(mode=0o755)
    script = chosen / "postgres"
    script.write_text(f'#!/bin/sh\nexec "{programs}/postgres" -b "$@"\n')
    script.chmod(0o755)
    server.stop()
    server._programs = chosen
    server.start()
    for dsn, text in texts.items():
        command = [str(programs / "psql"), "-qX", "-v", "ON_ERROR_STOP=1", "-o", os.devnull, "-f", str(text), dsn]
        subprocess.run(command, check=True, env={"PATH": os.defpath})
    server.stop()
    server._programs = programs
    server.start()


def _with_log(state: Path, folder: Path, source: str, target: str) -> Replica:
    shutil.copytree(state / "trail", folder / "trail")
    text = (state / "repository.dump").read_text()
    for name, found in (("{source}", _identity(source)), ("{target}", _identity(target)), ("{folder}", str(folder))):
        text = text.replace(name, found)
    with closing(sqlite3.connect(folder / "repository.db")) as database:
        database.executescript(text)
        ((captured,),) = database.execute("select lsn from positions where kind = 'captured'").fetchall()
    with connect(source) as connection:
        for statement in (TRANSACTIONS, "call pass()", "drop procedure pass"):
            connection.execute(statement)
        connection.execute(PUBLICATION)
        connection.execute("select pg_create_logical_replication_slot('ddlrepl_shop', 'pgoutput')")
        past = "select pg_current_wal_insert_lsn() > '0/0'::pg_lsn + %s"
        while connection.execute(past, [captured]).fetchall() != [(True,)]:
            connection.execute("select pg_logical_emit_message(false, 'x', 'x'), pg_switch_wal()")
    return Replica(source, target, channel_file(folder, source, target))


if __name__ == "__main__":
    take(Path(sys.argv[1]))
