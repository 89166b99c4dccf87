"""Write at both ends of two channels for a while: `python -m tests.flow.both_directions [SECONDS] [SEED]`."""

from __future__ import annotations

import logging
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from airflow_ddlrepl.demo.servers import PrivateServer
from tests.conftest import Databases
from tests.flow.both_directions.random_writers import CONFLICTS, TABLES, Writers, require_equal
from tests.flow.both_directions.there_and_back import there_and_back


def main(seconds: int = 60, seed: int = 1) -> int:
    """Print how many changes there were and how their conflicts were decided; fail where both ends differ."""
    logging.getLogger("ddlrepl").setLevel(logging.ERROR)
    conflicts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder, PrivateServer() as server:
        writers = Writers(there_and_back(Databases(server), Path(folder), *TABLES, **CONFLICTS), random.Random(seed))
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for _ in range(writers.random.randint(1, 4)):
                writers.write(writers.random.randint(10, 200))
                for told in writers.pair.turns():
                    conflicts += told.conflicts
            writers.alter()
        require_equal(writers.pair)
    print(f"seed {seed}, changes: {dict(writers.done)}")
    for what, count in sorted(conflicts.items()):
        print(f"{count:6} {what}")
    return 0 if conflicts else 1


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:3])))
