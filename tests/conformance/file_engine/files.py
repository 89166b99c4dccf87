"""The files of one target: its tables, and what it knows of a channel. Every write is one file that is replaced."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from airflow_ddlrepl.engines.target_state import Fence
from airflow_ddlrepl.errors import Fenced
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import LogKey
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.table_state import TableState, TableStatus

Row = dict[str, str | None]
"""Values by column id; JSON has texts for keys."""


@dataclass
class TableFile:
    """A table: its shape, its rows, and up to where in the log of an epoch they are."""

    shape: Table
    rows: list[Row]
    epoch: int = 0
    position: LogKey | None = None

    def to_json(self) -> dict[str, Any]:
        position = list(self.position) if self.position else None
        return {"shape": self.shape.to_json(), "rows": self.rows, "epoch": self.epoch, "position": position}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> TableFile:
        position = LogKey(*data["position"]) if data["position"] else None
        return cls(Table.from_json(data["shape"]), data["rows"], data["epoch"], position)


@dataclass
class State:
    """What a target knows of a channel. positions: of tables, as the changes of their shapes have left them."""

    data: dict[str, Any]

    @classmethod
    def new(cls, lsn: int, fence: Fence) -> State:
        empty: dict[str, Any] = {"states": {}, "positions": {}, "outbox": [], "number": 0, "entry": None}
        return cls({"lsn": lsn, "epoch": fence.epoch, "token": fence.token, **empty})

    def put(self, states: dict[int, TableState], gone: list[int]) -> None:
        """An orphaned table whose name a live one has is forgotten."""
        known: dict[str, Any] = self.data["states"]
        for table_id, state in states.items():
            known[str(table_id)] = state.to_json()
        for table_id in gone:
            known.pop(str(table_id), None)
        live = [one["name"] for one in known.values() if one["state"] != TableStatus.ORPHANED.value]
        for key, one in list(known.items()):
            if one["state"] == TableStatus.ORPHANED.value and one["name"] in live:
                del known[key]

    def place(self, positions: dict[int, LogKey]) -> None:
        self.data["positions"] |= {str(i): list(key) for i, key in positions.items()}

    def leave(self, records: list[dict[str, Any]]) -> None:
        for record in records:
            self.data["number"] += 1
            self.data["outbox"].append([self.data["number"], record])

    def table_states(self) -> dict[int, TableState]:
        return {int(i): TableState.from_json(one) for i, one in self.data["states"].items()}


class Files:
    """root: the folder of the target. holder: under which name the channel's state is kept."""

    def __init__(self, root: Path, holder: str) -> None:
        self.root, self.holder = root, holder
        for folder in ("tables", "shadows"):
            (root / folder).mkdir(parents=True, exist_ok=True)

    # -- tables

    def path(self, name: TableName) -> Path:
        return self.root / "tables" / json.dumps(list(name)).replace("/", "%2F")

    def read(self, name: TableName) -> TableFile | None:
        path = self.path(name)
        return TableFile.from_json(json.loads(path.read_text())) if path.exists() else None

    def write(self, name: TableName, table: TableFile) -> None:
        replace_file(self.path(name), table.to_json())

    def look(self, name: TableName) -> str:
        path = self.path(name)
        return path.read_text() if path.exists() else ""

    # -- rules

    def rules(self) -> dict[int, str]:
        """By id of a table, a text that no value of its rows may be."""
        path = self.root / "rules"
        return {int(i): text for i, text in json.loads(path.read_text()).items()} if path.exists() else {}

    def put_rules(self, rules: dict[int, str]) -> None:
        replace_file(self.root / "rules", rules)

    # -- the state

    @property
    def _state(self) -> Path:
        return self.root / f"{self.holder}.state"

    def state(self) -> State | None:
        return State(json.loads(self._state.read_text())) if self._state.exists() else None

    @contextmanager
    def locked(self) -> Iterator[None]:
        """One process writes at a time."""
        with (self.root / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    @contextmanager
    def writing(self, fence: Fence | None) -> Iterator[State]:
        """What is made of the state inside the `with` is written at its end, all or nothing. Raises Fenced LCK-102."""
        with self.locked():
            state = self.state()
            assert state is not None
            if fence is not None:
                self._check(state, fence)
            yield state
            self.put_state(state)

    def put_state(self, state: State) -> None:
        replace_file(self._state, state.data)

    def forget(self) -> None:
        self._state.unlink(missing_ok=True)

    def _check(self, state: State, fence: Fence) -> None:
        if state.data["epoch"] != fence.epoch or state.data["token"] > fence.token:
            raise Fenced(
                f"another run of channel {self.holder} has been at this target",
                code="LCK-102",
                hint="nothing was written; run again",
                retryable=True,
            )
        state.data["token"] = fence.token


def replace_file(path: Path, data: Any) -> None:
    """The whole new file under the name, or the old one, whenever this dies."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    temporary.write_text(json.dumps(data))
    temporary.replace(path)
