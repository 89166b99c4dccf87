"""A result file says what a Spark app did, where spark-submit only has an exit code."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.errors.carried import error_from_json, error_to_json
from airflow_ddlrepl.folders import private_folder


@dataclass(frozen=True)
class Outcome:
    """An outcome is the result of a Spark app.

    stage: which app. seconds: how long it took. summary: what the stage did. error: why it failed, or None.
    """

    stage: str
    channel: str
    run_id: str
    seconds: float
    summary: Mapping[str, Any] = field(default_factory=dict)
    error: DdlReplError | None = None

    def write(self, path: Path) -> None:
        """Write the result to a file that only its owner may read; it is there as a whole or not at all."""
        private_folder(path.parent)
        fresh = path.with_name(f"{path.name}.{os.getpid()}")
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(self.to_json(), file, default=str)
        fresh.replace(path)

    @classmethod
    def read(cls, path: Path) -> Outcome | None:
        """Return the result in a file; None when the app left none.

        It was killed, or runs on a machine where this path means another place.
        """
        try:
            return cls.from_json(json.loads(path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return None

    def to_json(self) -> dict[str, Any]:
        """Return the result as JSON values."""
        return {
            "stage": self.stage,
            "channel": self.channel,
            "run": self.run_id,
            "seconds": round(self.seconds, 3),
            "summary": dict(self.summary),
            "error": None if self.error is None else error_to_json(self.error),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Outcome:
        """Return the result that `to_json` wrote."""
        error = data["error"]
        return cls(
            data["stage"],
            data["channel"],
            data["run"],
            data["seconds"],
            data["summary"],
            None if error is None else error_from_json(error),
        )
