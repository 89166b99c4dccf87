"""debezium-server-iceberg as a process: its settings, its start, and what it takes until a commit has a row.

The distribution is a directory with `*runner.jar` and `lib/`, as its project's own has them.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

import psutil
from pyiceberg.manifest import DataFileContent
from pyiceberg.table import StaticTable
from pyiceberg.table.snapshots import Snapshot

from airflow_ddlrepl.engines.postgres.connection.connect import connect
from benchmarks.lake.place import Took

NAME = "peer"
"""Of its slot, its publication, its topics and its namespace."""
MEMORY = "4g"
OPENED = "--add-opens=java.base/java.lang=ALL-UNNAMED"
"""What Quarkus asks for on Java 24 and newer."""
PATIENCE, OFTEN = 3600.0, 0.1
LOOKS = "a directory with *runner.jar and lib/ in it; docs/performance.md says how it is built"

# Whole batches, and no more columns than it needs itself: `op` tells a deletion. Offsets are in a file, because a table
# of them would be one more commit for each batch.
SETTINGS = {
    "debezium.sink.type": "iceberg",
    "debezium.sink.iceberg.catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog",
    "debezium.sink.iceberg.catalog-name": NAME,
    "debezium.sink.iceberg.table-namespace": NAME,
    "debezium.sink.iceberg.upsert": "true",
    "debezium.sink.iceberg.upsert-keep-deletes": "false",
    "debezium.source.connector.class": "io.debezium.connector.postgresql.PostgresConnector",
    "debezium.source.plugin.name": "pgoutput",
    "debezium.source.publication.name": NAME,
    "debezium.source.publication.autocreate.mode": "disabled",
    "debezium.source.slot.name": NAME,
    "debezium.source.topic.prefix": NAME,
    "debezium.source.message.prefix.exclude.list": ".*",
    "debezium.source.snapshot.mode": "initial",
    "debezium.source.decimal.handling.mode": "precise",
    "debezium.source.time.precision.mode": "isostring",
    "debezium.source.max.batch.size": "50000",
    "debezium.source.max.queue.size": "150000",
    "debezium.source.snapshot.fetch.size": "50000",
    "debezium.source.offset.storage": "org.apache.kafka.connect.storage.FileOffsetBackingStore",
    "debezium.source.offset.flush.interval.ms": "0",
    "debezium.format.value": "connect",
    "debezium.format.key": "connect",
    "debezium.transforms": "unwrap",
    "debezium.transforms.unwrap.type": "io.debezium.transforms.ExtractNewRecordState",
    "debezium.transforms.unwrap.add.fields": "op",
    "debezium.transforms.unwrap.delete.tombstone.handling.mode": "rewrite",
    "quarkus.http.host": "127.0.0.1",
    "quarkus.http.port": "0",
    "quarkus.management.host": "127.0.0.1",
    "quarkus.management.port": "0",
    "quarkus.log.level": "INFO",
    "quarkus.log.console.json": "false",
}


@dataclass(frozen=True)
class DebeziumServer:
    """A server that is installed for one table. catalog: the database of its Iceberg catalog."""

    distribution: Path
    java: str
    folder: Path
    source: str
    catalog: str
    table: str

    def install(self) -> None:
        """Write its settings, and make its publication."""
        (self.folder / "config").mkdir(parents=True)
        path = self.folder / "config" / "application.properties"
        path.touch(mode=0o600)
        path.write_text("".join(f"{name}={value}\n" for name, value in self._settings().items()))
        with connect(self.source) as connection:
            connection.execute(f"CREATE PUBLICATION {NAME} FOR TABLE public.{self.table}".encode())

    def _settings(self) -> dict[str, str]:
        source, catalog = urlsplit(self.source), urlsplit(self.catalog)
        return {
            **SETTINGS,
            "debezium.sink.iceberg.uri": f"jdbc:postgresql://{catalog.hostname}:{catalog.port}{catalog.path}",
            "debezium.sink.iceberg.jdbc.user": unquote(catalog.username or ""),
            "debezium.sink.iceberg.jdbc.password": unquote(catalog.password or ""),
            "debezium.sink.iceberg.warehouse": f"file://{self.folder}/warehouse",
            "debezium.source.database.hostname": source.hostname or "",
            "debezium.source.database.port": str(source.port),
            "debezium.source.database.user": unquote(source.username or ""),
            "debezium.source.database.password": unquote(source.password or ""),
            "debezium.source.database.dbname": source.path[1:],
            "debezium.source.table.include.list": f"public.{self.table}",
            "debezium.source.offset.storage.file.filename": str(self.folder / "offsets"),
        }

    @contextmanager
    def running(self) -> Iterator[subprocess.Popen[bytes]]:
        """Yield its process, and end it orderly: it stores its offsets."""
        (runner,) = self.distribution.glob("*runner.jar")
        command = [self.java, f"-Xmx{MEMORY}", OPENED, "-cp", f"{runner}:{self.distribution / 'lib'}/*"]
        with (self.folder / "log").open("ab") as log:
            process = subprocess.Popen(
                [*command, "io.debezium.server.Main"], cwd=self.folder, stdout=log, stderr=subprocess.STDOUT
            )
            try:
                yield process
            finally:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(60)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()

    def catch_up(self, key: int, *, is_warm: bool = False) -> Took:
        """Return what it takes from its start to the commit that has a row with this key, or one below it.

        The clock stops when that snapshot was made, as its metadata say; processor time when it is seen, soon after.
        Ending the process counts for nothing. is_warm: its start counts for nothing, either, until it reads the log.
        """
        started, before = time.time(), 0.0
        with self.running() as process:
            if is_warm:
                self._wait_until_it_reads(process)
                used = psutil.Process(process.pid).cpu_times()
                started, before = time.time(), used.user + used.system
            seen = ""
            for now in self._pointers(process):
                if now != seen and (snapshot := _has(now, key)):
                    used = psutil.Process(process.pid).cpu_times()
                    self._wait_for_offsets(process)
                    assert self.pointer() == now, "there was a commit after the one with the last row"
                    return snapshot.timestamp_ms / 1000 - started, used.user + used.system - before
                seen = now
        raise AssertionError(f"{NAME} has not caught up in {PATIENCE:.0f} s:\n{self.log()}")

    def pointer(self) -> str:
        """Return where the table's metadata are now; empty: there is no table."""
        with connect(self.catalog) as connection:
            if connection.execute(b"SELECT to_regclass('iceberg_tables')").fetchone() == (None,):
                return ""
            name = f"{NAME}_public_{self.table}"
            query = "SELECT metadata_location FROM iceberg_tables WHERE table_namespace = %s AND table_name = %s"
            row = connection.execute(query, [NAME, name]).fetchone()
        return str(row[0]) if row else ""

    def written(self) -> int:
        """Return how many rows its table's files have, those deleted since included: all of them after a first load."""
        pointer = self.pointer()
        snapshot = StaticTable.from_metadata(pointer).current_snapshot() if pointer else None
        return int((snapshot.summary or {}).get("total-records") or 0) if snapshot else 0

    def _pointers(self, process: subprocess.Popen[bytes]) -> Iterator[str]:
        """Yield where the table's metadata are, again and again. Raises AssertionError when the process ends."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if process.poll() is not None:
                raise AssertionError(f"{NAME} has ended:\n{self.log()}")
            yield self.pointer()
            time.sleep(OFTEN)

    def _wait_until_it_reads(self, process: subprocess.Popen[bytes]) -> None:
        query = "SELECT active FROM pg_replication_slots WHERE slot_name = %s"
        with connect(self.source) as connection:
            while process.poll() is None and connection.execute(query, [NAME]).fetchone() != (True,):
                time.sleep(OFTEN / 10)

    def _wait_for_offsets(self, process: subprocess.Popen[bytes]) -> None:
        """Wait until its slot has been told of the last batch: so it does not read it again the next time."""
        query = "SELECT confirmed_flush_lsn::text FROM pg_replication_slots WHERE slot_name = %s"
        with connect(self.source) as connection:
            before, calm = None, 0
            while calm < 10 and process.poll() is None:
                now = connection.execute(query, [NAME]).fetchone()
                calm = calm + 1 if now == before else 0
                before = now
                time.sleep(0.2)

    def log(self) -> str:
        """Return the end of what it said."""
        return (self.folder / "log").read_text(errors="replace")[-4000:]


def _has(metadata: str, key: int) -> Snapshot | None:
    """Return the newest snapshot when it added a file with a key that is not above this one.

    Only the bounds in its manifests are read, no rows.
    """
    table = StaticTable.from_metadata(metadata)
    snapshot, field = table.current_snapshot(), table.schema().find_field("id").field_id
    if snapshot is None:
        return None
    for manifest in snapshot.manifests(table.io):
        if manifest.added_snapshot_id == snapshot.snapshot_id:
            for entry in manifest.fetch_manifest_entry(table.io):
                low = (entry.data_file.lower_bounds or {}).get(field)
                is_rows = entry.data_file.content == DataFileContent.DATA
                if is_rows and low is not None and int.from_bytes(low, "little", signed=True) <= key:
                    return snapshot
    return None


def is_distribution(folder: Path | None) -> bool:
    """Tell whether this is what `LOOKS` says."""
    return folder is not None and len(list(folder.glob("*runner.jar"))) == 1 and (folder / "lib").is_dir()


def java_program(home: Path | None) -> str:
    """Return the program of a Java home; without one that of JAVA_HOME, or the one on the path."""
    given = home or os.environ.get("JAVA_HOME")
    return str(Path(given) / "bin" / "java") if given else "java"
