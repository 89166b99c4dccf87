"""Which tests take long: those with a server of long_tests.txt are thorough ones, the others are not in `make unit`.

`python -m tests.long_tests LOG` writes that list anew, from what a whole run printed that had the options
`--durations=0 --durations-min=0.3`: three workers on two cores, and nothing else on the machine. With `--unit` it
writes the list of those without a server, long_unit_tests.txt, from what `make unit` printed with these options.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from pathlib import Path

LIST = Path(__file__).with_suffix(".txt")
UNIT_LIST = LIST.with_name("long_unit_tests.txt")
SECONDS = 2.5
"""From how many seconds on a test is a long one: its longest case, with what is set up and torn down for it."""
UNIT_SECONDS = 0.5
"""The same for tests without a server."""
STAY = (
    "tests/airflow/test_dag_run.py",
    "tests/flow/run/test_two_runs.py",
    "tests/stories/",
    "tests/house/",
    "tests/docs/",
)
"""These stay, however long they take: a channel in a DAG, two runs at once, the stories, and what the house asserts."""
_LINE = re.compile(r"^([\d.]+)s (?:call|setup|teardown) +(tests/\S+)", re.M)


def function(nodeid: str) -> str:
    """The name of a test without its case, and without the group that pytest-xdist has appended."""
    return re.split(r"[\[@]", nodeid, maxsplit=1)[0]


def names() -> frozenset[str]:
    """The long tests, each `file::function`."""
    return frozenset((*LIST.read_text().split(), *UNIT_LIST.read_text().split()))


def found(log: str, least: float = SECONDS) -> list[str]:
    """The tests of a run that took `least` seconds and more, by its output."""
    seconds: defaultdict[str, float] = defaultdict(float)
    for taken, nodeid in _LINE.findall(log):
        seconds[nodeid] += float(taken)
    return sorted({function(name) for name, taken in seconds.items() if taken >= least and not name.startswith(STAY)})


if __name__ == "__main__":
    *unit, log = sys.argv[1:]
    into, least = (UNIT_LIST, UNIT_SECONDS) if unit == ["--unit"] else (LIST, SECONDS)
    into.write_text("\n".join(found(Path(log).read_text(), least)) + "\n")
