"""Which tests with a server take so long that only `make test-thorough` runs them: those of long_tests.txt.

`python -m tests.long_tests LOG` writes that list anew, from what a whole run printed that had the options
`--durations=0 --durations-min=0.3`: three workers on two cores, and nothing else on the machine.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from pathlib import Path

LIST = Path(__file__).with_suffix(".txt")
SECONDS = 3.0
"""From how many seconds on a test is a long one: its longest case, with what is set up and torn down for it."""
STAY = (
    "tests/airflow/test_dag_run.py",
    "tests/flow/run/test_two_runs.py",
    "tests/stories/",
    "tests/house/",
    "tests/docs/",
    "tests/sql/",
)
"""These stay, however long they take: a channel in a DAG, two runs at once, the stories, and what needs no server."""
_LINE = re.compile(r"^([\d.]+)s (?:call|setup|teardown) +(tests/\S+)", re.M)


def function(nodeid: str) -> str:
    """The name of a test without its case, and without the group that pytest-xdist has appended."""
    return re.split(r"[\[@]", nodeid, maxsplit=1)[0]


def names() -> frozenset[str]:
    """The long tests, each `file::function`."""
    return frozenset(LIST.read_text().split())


def found(log: str) -> list[str]:
    """The long tests of a run by its output."""
    seconds: defaultdict[str, float] = defaultdict(float)
    for taken, nodeid in _LINE.findall(log):
        seconds[nodeid] += float(taken)
    return sorted({function(name) for name, taken in seconds.items() if taken >= SECONDS and not name.startswith(STAY)})


if __name__ == "__main__":
    LIST.write_text("\n".join(found(Path(sys.argv[1]).read_text())) + "\n")
