"""The other side of every ratio: PostgreSQL's own programs."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

from airflow_ddlrepl.demo import binaries
from airflow_ddlrepl.engines.postgres.connection.connect import connect
from airflow_ddlrepl.engines.postgres.connection.quoting import literal, quote
from airflow_ddlrepl.engines.postgres.log.read_range import ranges
from airflow_ddlrepl.model.position import Position
from benchmarks.workload import Kind, has_mark

PATIENCE = 600.0


def program(name: str) -> str:
    return str(Path(binaries.directory(18)) / name)


def without_password(dsn: str) -> tuple[str, dict[str, str]]:
    """The URL as it may stand on a command line, and the environment that brings the password."""
    secret = urlsplit(dsn).password or ""
    return dsn.replace(f":{secret}@", "@", 1), {**os.environ, "PGPASSWORD": unquote(secret)}


def make_slot(dsn: str, slot: str) -> None:
    with connect(dsn) as connection:
        connection.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [slot])


def receive(dsn: str, slot: str, publication: str, until: Position) -> float:
    """Seconds that pg_recvlogical takes to read the slot up to a position into /dev/null, in binary format."""
    place, environment = without_password(dsn)
    command = [program("pg_recvlogical"), "-d", place, "--slot", slot, "--start"]
    command += ["-f", os.devnull, "--no-loop", "-F", "0"]
    options = {"proto_version": "1", "publication_names": quote(publication), "binary": "true"}
    for name, value in options.items():
        command += ["-o", f"{name}={value}"]
    started = time.monotonic()
    command.append(f"--endpos={until}")
    subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE, env=environment)
    return time.monotonic() - started


def decode(dsn: str, slot: str, publication: str, low: Position, high: Position, count: int) -> float:
    """Seconds in which the server itself decodes the log, cut into so many ranges, one session each, and counts."""
    cuts = ranges(low, high, count, 1)
    started = time.monotonic()
    with ThreadPoolExecutor(len(cuts)) as pool:
        list(pool.map(lambda cut: _decode(dsn, slot, publication, *cut), cuts))
    return time.monotonic() - started


def _decode(dsn: str, slot: str, publication: str, low: Position, high: Position) -> None:
    copy = f"limit_{low:x}"
    with connect(dsn) as here:
        here.execute("SET work_mem = '256MB'; SET logical_decoding_work_mem = '256MB'")
        here.execute("SELECT pg_copy_logical_replication_slot(%s, %s, true)", [slot, copy])
        here.execute(
            "SELECT pg_replication_slot_advance(%s, %s::pg_lsn) FROM pg_replication_slots"
            " WHERE slot_name = %s AND confirmed_flush_lsn < %s::pg_lsn",
            [copy, str(low), copy, str(low)],
        )
        options = ["proto_version", "1", "publication_names", quote(publication), "messages", "true", "binary", "true"]
        here.execute(
            "SELECT count(*) FROM pg_logical_slot_peek_binary_changes(%s, %s::pg_lsn, NULL, VARIADIC %s::text[])",
            [copy, str(high), options],
        )
        here.execute("SELECT pg_drop_replication_slot(%s)", [copy])


def copy_across(source: str, target: str, kind: Kind, processes: int) -> float:
    """Seconds for `psql COPY … TO STDOUT (binary) | psql COPY … FROM STDIN (binary)`, so many at once, and the key."""
    table = f"public.{quote(kind.name)}"
    with connect(target) as there:
        there.execute(f"DROP TABLE IF EXISTS {table}".encode())
        there.execute(kind.create.encode())
        there.execute(f"ALTER TABLE {table} DROP CONSTRAINT {quote(kind.name + '_pkey')}".encode())
    with connect(source) as here:
        row = here.execute("SELECT pg_relation_size(%s::regclass) / 8192 + 1", [table]).fetchone()
    pages = int(row[0]) if row else 1
    started = time.monotonic()
    cuts = [pages * n // processes for n in range(processes + 1)]
    pipes = [_pipe(source, target, table, low, high) for low, high in pairwise(cuts)]
    for pipe in pipes:
        if pipe.wait(PATIENCE):
            raise RuntimeError("psql COPY failed")
    with connect(target) as there:
        there.execute(f"ALTER TABLE {table} ADD PRIMARY KEY (id)".encode())
    return time.monotonic() - started


def read_both(sides: Sequence[str], kind: Kind) -> float:
    """Seconds for `psql COPY … TO STDOUT` of a table on each side, all at once, to /dev/null."""
    out = f"COPY public.{quote(kind.name)} TO STDOUT"
    started = time.monotonic()
    readers = []
    for side in sides:
        place, environment = without_password(side)
        command = [program("psql"), "-X", "-q", "-v", "ON_ERROR_STOP=1", place, "-c", out]
        readers.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment))
    codes = [reader.wait(PATIENCE) for reader in readers]
    if any(codes):
        raise RuntimeError("psql COPY failed")
    return time.monotonic() - started


def _pipe(source: str, target: str, table: str, low: int, high: int) -> subprocess.Popen[bytes]:
    where = f"ctid >= '({low},0)'::tid AND ctid < '({high},0)'::tid"
    out = f"COPY (SELECT * FROM {table} WHERE {where}) TO STDOUT (FORMAT binary)"
    into = f"COPY {table} FROM STDIN (FORMAT binary)"
    psql = [program("psql"), "-X", "-q", "-v", "ON_ERROR_STOP=1"]
    here, ours = without_password(source)
    there, theirs = without_password(target)
    reader = subprocess.Popen([*psql, here, "-c", out], stdout=subprocess.PIPE, env=ours)
    writer = subprocess.Popen([*psql, there, "-c", into], stdin=reader.stdout, env=theirs)
    if reader.stdout is not None:
        reader.stdout.close()
    return writer


class Subscription:
    """A native subscription that is switched on only while it is measured."""

    def __init__(self, source: str, target: str, kind: Kind, publication: str, slot: str) -> None:
        self.target, self.kind, self.name = target, kind, f"native_{kind.name}"
        options = f"slot_name = {quote(slot)}, create_slot = false, copy_data = false, enabled = false, binary = true"
        with connect(target) as there:
            there.execute(kind.create.encode())
            there.execute(
                f"CREATE SUBSCRIPTION {quote(self.name)} CONNECTION {literal(source)}"
                f" PUBLICATION {quote(publication)} WITH ({options})".encode()
            )

    def apply(self, until_mark: int) -> float:
        """Seconds from switching it on until the marked row is there."""
        with connect(self.target) as there:
            started = time.monotonic()
            there.execute(f"ALTER SUBSCRIPTION {quote(self.name)} ENABLE".encode())
            while not has_mark(there, self.kind, until_mark):
                if time.monotonic() - started > PATIENCE:
                    raise RuntimeError("the native subscription does not arrive")
                time.sleep(0.02)
            seconds = time.monotonic() - started
            there.execute(f"ALTER SUBSCRIPTION {quote(self.name)} DISABLE".encode())
        return seconds

    def drop(self) -> None:
        """Leaves the slot to the source's end."""
        with connect(self.target) as there:
            there.execute(f"ALTER SUBSCRIPTION {quote(self.name)} DISABLE".encode())
            there.execute(f"ALTER SUBSCRIPTION {quote(self.name)} SET (slot_name = NONE)".encode())
            there.execute(f"DROP SUBSCRIPTION {quote(self.name)}".encode())
