"""Histories with a memory in which one session is a superuser's who has switched event triggers off (17 and later).

    python -m tests.histories.silent_sessions 18 1-100

goes back through such histories, as tests.histories.rewinds does.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from tests.histories import histories
from tests.histories.rewinds import Rememberer


class SilentRememberer(Rememberer):
    """As Rememberer."""

    def __init__(self, urls: list[str], folder: Path, options: dict[str, Any]) -> None:
        super().__init__(urls, folder, options)
        self.sessions[0].execute("SET event_triggers = off")


if __name__ == "__main__":
    sys.exit(histories.main(sys.argv[1:], SilentRememberer))
