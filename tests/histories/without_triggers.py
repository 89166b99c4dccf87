"""Histories with a memory of a source without event triggers: what was altered, only rows and inspections tell.

    python -m tests.histories.without_triggers 18 1-100

goes back through such histories, as tests.histories.rewinds does.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from tests.histories import histories
from tests.histories.rewinds import Rememberer


class InspectingRememberer(Rememberer):
    """As Rememberer."""

    def __init__(self, urls: list[str], folder: Path, options: dict[str, Any]) -> None:
        super().__init__(urls, folder, {**options, "source": {"ddl": "relations"}})


if __name__ == "__main__":
    sys.exit(histories.main(sys.argv[1:], InspectingRememberer))
