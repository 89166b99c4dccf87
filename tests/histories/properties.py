"""Plays a history on a channel whose file gives columns other names, and says otherwise now and then.

    python -m tests.histories.properties 18 1-100

goes back through such histories, as tests.histories.rewinds does.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from airflow_ddlrepl.errors import DdlReplError
from tests.histories import histories
from tests.histories.player import Player
from tests.histories.rewinds import Memory, Rememberer
from tests.support.refusing import reason

SWAPPED = {"a": "b", "b": "a", "x y": "order", "id": "nr"}
ABSENT: dict[str, str | None] = {"a": "A b", "c": None, "Ä%s": None, 'q"t': "c"}
ALL_OTHERS = {"z" * 63: "z", "id": "x y", "x y": "id"}
SAID: list[Mapping[str, str | None]] = [{}, SWAPPED, ABSENT, ALL_OTHERS, {**SWAPPED, "c": None}]
IMPOSSIBLE = ("ADP-141", "ADP-142", "ADP-143")


class Renaming(Player):
    """Every few acts of the channel its file changes. What asks for the impossible is taken back."""

    def __init__(self, urls: list[str], folder: Path, options: dict[str, Any]) -> None:
        super().__init__(urls, folder, options)
        self.acts = 0
        self.naming = 0
        self._say_of_columns(1)

    def called(self, column: str) -> str | None:
        return SAID[self.naming].get(column, column)

    def _act(self, what: str) -> None:
        self.acts += 1
        if self.acts % 2:
            self._say_of_columns(self.acts // 2 % len(SAID))
        try:
            super()._act(what)
        except DdlReplError as error:
            if reason(error) not in IMPOSSIBLE:
                raise
            self._say_of_columns(0)
            super()._act(what)

    def _say_of_columns(self, naming: int) -> None:
        self.naming = naming
        data = yaml.safe_load(self.replica.file.read_text())
        data["column_properties"] = [
            {"columns": '"' + column.replace('"', '""') + '"', **({"absent": True} if name is None else {"name": name})}
            for column, name in SAID[naming].items()
        ]
        self.replica.file.write_text(yaml.safe_dump(data))


class RenamingRememberer(Renaming, Rememberer):
    """Goes back to every point under the names that hold at the end."""

    namings: Sequence[Mapping[str, str | None]] = SAID

    def possible(self, memory: Memory, into: str) -> set[str]:
        try:
            return super().possible(memory, into)
        except DdlReplError as error:
            if reason(error) not in IMPOSSIBLE:
                raise
            self._say_of_columns(0)
            return super().possible(memory, into)


if __name__ == "__main__":
    sys.exit(histories.main(sys.argv[1:], RenamingRememberer))
