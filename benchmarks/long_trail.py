"""The plan of a rewind over a trail of very many segments, some of them with schema changes."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from sqlalchemy import insert, update

from airflow_ddlrepl.engines.postgres.connection.connect import connect
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.model.position import LogKey, Position
from airflow_ddlrepl.repository.channels import CAPTURED
from airflow_ddlrepl.repository.database import Database
from airflow_ddlrepl.repository.stored.tables import positions, segments
from airflow_ddlrepl.trail.checksum import checksum
from airflow_ddlrepl.trail.manifest import Blob, Segment
from airflow_ddlrepl.trail.segments import manifest_path
from airflow_ddlrepl.trail.store import data_folder
from airflow_ddlrepl.trail.transaction_columns import TRANSACTIONS
from benchmarks import ours
from benchmarks.pairs import Seconds
from benchmarks.ratios import Bench, databases
from benchmarks.workload import Kind, change, prepare

SCHEMA_CHANGES = 20
STEP, SPAN = 64, 10  # bytes of log and µs per segment
WANTED = 5.0
FAR_APART = (
    "from airflow_ddlrepl.flow import until; until.CLOCK_MARGIN = 0;"
    " from airflow_ddlrepl.cli.__main__ import main; main()"
)


def plans(bench: Bench, kind: Kind, count: int) -> list[Seconds]:
    """Seconds of `ddlrepl rewind … --plan`, to the middle and to the end of a trail of so many segments.

    Every schema change is captured; between two of them stands one captured segment of row changes again and again,
    at other positions: manifest, transactions and repository row as a capture makes them, but for the row files, which
    a plan has no use for. By a moment: as if the segments were far apart in time, not all of one minute.
    """
    name = f"plan_{kind.name}"
    source, live, past = databases(bench, name, "live", "past")
    prepare(source, kind)
    path = ours.write_channel(bench.folder, name, kind.name, source, live, past)
    with ours.opened(path, bench.runner) as mine:
        mine.activate()
        for number in range(SCHEMA_CHANGES):
            with connect(source) as connection:
                connection.execute(f"ALTER TABLE public.{kind.name} ADD added{number} integer".encode())
            mine.capture()
            low = mine.run.captured()
            change(source, kind, 300, number)
            mine.capture()
            _advance(bench, count // SCHEMA_CHANGES)
            _repeat(mine.run, mine.run.trail.segment(mine.run.epoch, low), count // SCHEMA_CHANGES)
        rows = mine.run.live_segments()
        middle, end = rows[len(rows) // 2], mine.run.captured()
        committed = mine.run.transactions(middle)["committed"][0].as_py()
    moment = datetime.fromtimestamp(committed / 1_000_000, UTC).isoformat()
    bench.say(f"a trail of {len(rows):,} segments stands")
    ways = [
        ("to the middle", str(middle.low), ["-m", "airflow_ddlrepl.cli"]),
        ("to the end", str(end), ["-m", "airflow_ddlrepl.cli"]),
        ("to a moment in the middle", moment, ["-c", FAR_APART]),
    ]
    return [
        Seconds(f"plan of a rewind {what}, {len(rows):,} segments, command line", WANTED, _runs(bench, path, to, how))
        for what, to, how in ways
    ]


def _runs(bench: Bench, path: Path, to: str, how: list[str]) -> tuple[float, ...]:
    return tuple(_plan(path, to, how) for _ in range(bench.pairs))


def _plan(path: Path, to: str, how: list[str]) -> float:
    command = [sys.executable, *how, "rewind", str(path), "--to", to, "--into", "past", "--plan", "--json"]
    started = time.monotonic()
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    seconds = time.monotonic() - started
    assert json.loads(done.stdout)["tables"][0]["changes"], done.stdout
    return seconds


def _advance(bench: Bench, count: int) -> None:
    """The log moves on by what so many segments need, in a database that the channel does not read."""
    with connect(bench.source.dsn()) as connection:
        connection.execute("SELECT pg_logical_emit_message(true, 'bench', repeat('x', %s))", [count * STEP])


def _repeat(run: RunContext, segment: Segment, count: int) -> None:
    """The segment stands so many times more, from the captured position on."""
    first, folder = run.captured(), Path(run.channel.trail) / run.channel.name
    committed = run.trail.transactions(segment)["committed"][-1].as_py()
    size, files = sum(file.size for file in segment.files()), len(list(segment.files()))
    rows = []
    for number in range(count):
        low = Position(first + number * STEP)
        made = _moved(folder, segment, low, committed + number * SPAN)
        text = json.dumps(made.to_json(), separators=(",", ":"))
        (folder / manifest_path(made.epoch, low)).write_text(text)
        row = {name: getattr(made, name) for name in ("channel", "epoch", "low", "high", "rows", "token")}
        told = {"bytes": size, "files": files, "events": 0, "state": "live"}
        rows.append({**row, **told, "created": datetime.fromisoformat(made.created)})
    repository = Database(run.channel.repository)
    with repository.write() as connection:
        connection.execute(insert(segments), rows)
        at = update(positions).where(positions.c.channel == segment.channel, positions.c.kind == CAPTURED)
        connection.execute(at.values(lsn=first + count * STEP))
    repository.close()


def _moved(folder: Path, segment: Segment, low: Position, committed: int) -> Segment:
    """The segment at another position, with one transaction that committed at a moment (µs since 1970)."""
    key, high = LogKey(low, 0), Position(low + STEP)
    files = tuple(replace(file, first=key, last=key) for file in segment.files())
    values = {"lsn": [low], "xid": [1], "committed": [committed], "origin": [None], "changes": [segment.rows]}
    sink = io.BytesIO()
    pq.write_table(pa.table(values, schema=TRANSACTIONS), sink)
    path = folder / data_folder(segment.epoch, segment.low) / f"{low:016x}.parquet"
    path.write_bytes(sink.getvalue())
    blob = Blob(str(path.relative_to(folder)), len(sink.getvalue()), checksum(sink.getvalue()))
    part = replace(segment.parts[0], low=low, high=high, files=files, transactions=blob, control=None, event_count=0)
    return replace(segment, low=low, high=high, parts=(part,))
