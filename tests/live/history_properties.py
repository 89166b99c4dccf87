"""Plays a history on a channel whose file gives columns other names, and says otherwise now and then."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from airflow_ddlrepl.errors import CannotAdapt
from tests.live.history_player import Player

SWAPPED = {"a": "b", "b": "a", "x y": "order", "id": "nr"}
ABSENT: dict[str, str | None] = {"a": "A b", "c": None, "Ä%s": None, 'q"t': "c"}
ALL_OTHERS = {"z" * 63: "z", "id": "x y", "x y": "id"}
SAID: list[dict[str, str | None]] = [{}, {**SWAPPED}, ABSENT, {**ALL_OTHERS}, {**SWAPPED, "c": None}]
IMPOSSIBLE = ("ADP-141", "ADP-142", "ADP-143")


class Renaming(Player):
    """Every few acts of the channel its file changes. What asks for the impossible is taken back."""

    def __init__(self, urls: list[str], folder: Path, options: dict[str, Any]) -> None:
        super().__init__(urls, folder, options)
        self.acts = 0
        self.said: dict[str, str | None] = {}
        self._say_of_columns(SAID[1])

    def called(self, column: str) -> str | None:
        return self.said.get(column, column)

    def _act(self, what: str) -> None:
        self.acts += 1
        if self.acts % 2:
            self._say_of_columns(SAID[self.acts // 2 % len(SAID)])
        try:
            super()._act(what)
        except CannotAdapt as error:
            if error.code not in IMPOSSIBLE:
                raise
            self._say_of_columns({})
            super()._act(what)

    def _say_of_columns(self, said: dict[str, str | None]) -> None:
        self.said = said
        data = yaml.safe_load(self.replica.file.read_text())
        data["column_properties"] = [
            {"columns": '"' + column.replace('"', '""') + '"', **({"absent": True} if name is None else {"name": name})}
            for column, name in said.items()
        ]
        self.replica.file.write_text(yaml.safe_dump(data))
