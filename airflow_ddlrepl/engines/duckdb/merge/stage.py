"""This module stages changes: it reads one table's rows from the trail and nets them, in a task of any process.

A few rows travel back to the driver as they are; many wait in a file beside the database. Nothing is opened there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from airflow_ddlrepl.engines.duckdb.connection.database import staging_folder
from airflow_ddlrepl.engines.duckdb.types.type_system import DUCK_TYPES
from airflow_ddlrepl.errors import RowsRefused, identified
from airflow_ddlrepl.integrate.netting.equality import KeyColumn
from airflow_ddlrepl.integrate.netting.images import net_images
from airflow_ddlrepl.integrate.netting.net_changes import NetRows, net
from airflow_ddlrepl.integrate.read_changes import StageReader
from airflow_ddlrepl.integrate.stage_task import StageTask
from airflow_ddlrepl.integrate.steps.ignored_kinds import without_ignored
from airflow_ddlrepl.model.settings.row_kind import RowKind
from airflow_ddlrepl.trail.store import Trail

MOST_INLINE = 1 << 20
"""So many bytes of a task's rows travel without a file."""
KINDS = ("deletes", "moves", "updates", "inserts", "images")


@dataclass(frozen=True)
class Staged:
    """Staged rows are what one task's changes come to. key: ids of its columns; none of a table without one.

    rows: by kind, as an Arrow stream of bytes, or the path of a file with it. Columns are named by the column's id: a
    value as `a1`, one before the change as `b1`, and as `h1` whether there is a value. counts: by kind. read: how many
    changes that was. ignored, outside: how many were left out, by kind, and by the target's condition.
    """

    key: tuple[int, ...] = ()
    rows: Mapping[str, bytes | Path] = field(default_factory=dict, repr=False)
    counts: Mapping[str, int] = field(default_factory=dict)
    read: int = 0
    ignored: Mapping[RowKind, int] = field(default_factory=dict)
    outside: int = 0

    def table(self, kind: str) -> pa.Table:
        """Return the rows of one kind."""
        found = self.rows[kind]
        source = pa.memory_map(str(found)) if isinstance(found, Path) else pa.py_buffer(found)
        return pa.ipc.open_stream(source).read_all()


def stage_all(tasks: Sequence[StageTask]) -> list[Staged]:
    """Stage several tasks one after the other; errors as `stage`."""
    return [stage(task) for task in tasks]


def stage(task: StageTask) -> Staged:
    """Stage one task. Raises RowsRefused INT-103 (key not in the rows), INT-111, TrailError for damaged files."""
    with identified({str(task.target_name): task.table.id}):
        return _stage(task)


def _stage(task: StageTask) -> Staged:
    _refuse(task)
    ids = {column.name: column.id for column in task.table.columns}
    there = {column.id for column in task.target.columns}
    layout = task.files[0].columns if task.files else ()
    names = [column.name for column in layout]
    wanted = [name for name in names if name in ids and ids[name] in there]
    encodings = {column.name: column.encoding for column in layout}
    key = [
        KeyColumn(c.name, DUCK_TYPES.equality(c, encodings.get(c.name, ""), task.table.types))
        for c in task.table.key_columns()
    ]
    changes = StageReader(task, DUCK_TYPES, key, wanted, names).read(Trail(task.trail_url, task.channel))
    read, key_ids = changes.num_rows, tuple(ids[one.name] for one in key)
    changes, left_out = without_ignored(changes, task.ignored)
    if not changes.num_rows:
        return Staged(key_ids, read=read, ignored=left_out)
    if missing := {one.name for one in key} - set(wanted):
        raise RowsRefused(
            f"key columns are missing in the rows or the target: {', '.join(sorted(missing))}",
            code="INT-103",
            table=task.target_name,
            hint="refresh the table, or keep its key columns in the target",
        )
    tables = _by_kind(net(changes, names, key, wanted)) if key else {"images": _images(changes, wanted, task)}
    renamed = {kind: _by_id(table, ids) for kind, table in tables.items() if table.num_rows}
    counts = {kind: table.num_rows for kind, table in renamed.items()}
    return Staged(key_ids, _stored(task, renamed), counts, read, left_out)


def _refuse(task: StageTask) -> None:
    """Raise RowsRefused where the channel file asks for what is not done here."""
    asked = {
        "restrict": bool(task.condition),
        "transform": task.transform is not None,
        "conflicts": task.conflicts is not None,
    }
    for section in (name for name, is_asked in asked.items() if is_asked):
        raise RowsRefused(
            f"a DuckDB target takes rows as they are, without `{section}`",
            code="INT-120",
            table=task.target_name,
            hint=f"leave `{section}` out for this target",
        )


def _by_kind(rows: NetRows) -> dict[str, pa.Table]:
    return {"deletes": rows.deletes, "moves": rows.moves, "updates": rows.updates, "inserts": rows.inserts}


def _images(changes: pa.Table, wanted: Sequence[str], task: StageTask) -> pa.Table:
    try:
        return net_images(changes, wanted)
    except ValueError:
        raise RowsRefused(
            "an update or delete has no old row, and the table has no key",
            code="INT-111",
            table=task.target_name,
            hint="ALTER TABLE … REPLICA IDENTITY FULL at the source, and refresh the table",
        ) from None


def _by_id(rows: pa.Table, ids: Mapping[str, int]) -> pa.Table:
    return rows.rename_columns(
        [name if name == "copies" else f"{name[0]}{ids[name[2:]]}" for name in rows.column_names]
    )


def _stored(task: StageTask, tables: Mapping[str, pa.Table]) -> dict[str, bytes | Path]:
    """Return the rows as bytes, or write them to files where they are many."""
    is_small = sum(table.nbytes for table in tables.values()) <= MOST_INLINE
    found: dict[str, bytes | Path] = {}
    for kind, table in tables.items():
        if is_small:
            sink = pa.BufferOutputStream()
            _write(sink, table)
            found[kind] = sink.getvalue().to_pybytes()
        else:
            folder = staging_folder(task.dsn)
            folder.mkdir(exist_ok=True)
            path = folder / f"{task.stage_name}_{kind}.arrow"
            with pa.OSFile(str(path), "wb") as file:
                _write(file, table)
            found[kind] = path
    return found


def _write(sink: pa.NativeFile, table: pa.Table) -> None:
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
