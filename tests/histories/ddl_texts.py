"""Plays a history on a channel that replays the text of its DDL. What is refused, the next run adapts.

python -m tests.histories.ddl_texts 18 1-100
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import yaml

from airflow_ddlrepl.errors import DdlReplError
from tests.histories import histories
from tests.histories.player import Player
from tests.support.refusing import reason

REFUSED = ("ADP-150", "ADP-151", "ADP-152", "ADP-153")


class Replaying(Player):
    """Every table is replayed, but in a run after a refusal: it stops the target, whose tables are all adapted then."""

    def __init__(self, urls: list[str], folder: Path, options: dict[str, Any]) -> None:
        super().__init__(urls, folder, options)
        self.adapting = yaml.safe_load(self.replica.file.read_text())["adapt_ddl"]
        self._replay(True)

    def _act(self, what: str) -> None:
        try:
            super()._act(what)
        except DdlReplError as error:
            if reason(error) not in REFUSED:
                raise
            self._replay(False)
            super()._act(what)
            self._replay(True)

    def _replay(self, is_replayed: bool) -> None:
        data = yaml.safe_load(self.replica.file.read_text())
        data["replay_ddl"] = [{"tables": ["*.*"]}] if is_replayed else []
        data["targets"] = [{**target, "on_error": "stop"} for target in data["targets"]]
        data["adapt_ddl"] = [] if is_replayed else self.adapting
        self.replica.file.write_text(yaml.safe_dump(data))


if __name__ == "__main__":
    sys.exit(histories.main(sys.argv[1:], Replaying))
