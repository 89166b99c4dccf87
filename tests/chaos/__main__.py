"""Kill runs of random channels, everywhere, and count what is lost or there twice.

    python -m tests.chaos 18 --points --kills 300 --rewind-kills 100 --histories 5000 --rewinds 1000
                                                                       what `make chaos` does
    python -m tests.chaos 18 --kills 5 --from 12                       the life of seed 12 again: it dies five times
    python -m tests.chaos 18 --rewind-kills 5 --from 12                the same of a life whose rewinds are killed
    python -m tests.chaos 18 --points refresh.chunk                    one fail point
    python -m tests.chaos 18 --histories 1 --from 77                   one random history that nobody kills
    python -m tests.chaos 18 --rewinds 1 --from 77                     the same, and every point of it is gone back to

Exit code 1 when anything was lost, twice, or not made good.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
from dataclasses import dataclass, replace

from airflow_ddlrepl.failpoint import FAIL_POINTS
from tests.chaos.jobs import Done, Job, work_off
from tests.chaos.life import KILLS
from tests.support.crashing import OF_STREAMS

_OF_LAKES = ("ledger.", "lake.", "roll_back.")
ELSEWHERE = ("rewind.", "repair.", "reread.", "isolated.", "cutover.", *_OF_LAKES, *OF_STREAMS)
"""How fail points begin that no cycle of these channels comes to: other tests kill runs there."""


@dataclass
class Count:
    """What all of it comes to."""

    kills: int = 0
    rewinds_killed: int = 0
    histories: int = 0
    lost: int = 0
    twice: int = 0
    troubles: int = 0

    def add(self, done: Done) -> None:
        self.kills += done.kills
        self.rewinds_killed += done.kills if done.job.rewound else 0
        self.histories += done.job.is_history
        self.lost += done.lost
        self.twice += done.twice
        self.troubles += bool(done.trouble)

    def __str__(self) -> str:
        kills = f"{self.kills} kills ({self.rewinds_killed} of rewinds)"
        told = f"{kills}, {self.histories} histories: {self.lost} lost, {self.twice} twice"
        return f"{told}, {self.troubles} NOT MADE GOOD" if self.troubles else told


def wanted(points: list[str], given: argparse.Namespace) -> list[Job]:
    """Every job is reproducible from its seed (and its fail point) alone."""
    first: int = given.first
    jobs = [Job(first + number, point=point) for number, point in enumerate(points)]
    jobs += lives(first, given.kills)
    jobs += [replace(job, rewound=True) for job in lives(first, given.rewind_kills)]
    jobs += [Job(first + n) for n in range(given.histories)]
    return jobs + [Job(first + n, rewound=True) for n in range(given.rewinds)]


def lives(first: int, kills: int) -> list[Job]:
    """So many that all of these kills come to pass."""
    return [Job(first + at // KILLS, kills=min(KILLS, kills - at)) for at in range(0, kills, KILLS)]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("version", type=int, help="of PostgreSQL: 18 or 15")
    said = "kill at these fail points; without names: at all"
    parser.add_argument("--points", nargs="*", metavar="NAME", choices=FAIL_POINTS, help=said)
    parser.add_argument("--kills", type=int, default=0, help="at random moments")
    parser.add_argument("--rewind-kills", type=int, default=0, metavar="KILLS", help="of rewinds, at random moments")
    parser.add_argument("--histories", type=int, default=0, help="random histories without a kill")
    parser.add_argument("--rewinds", type=int, default=0, help="random histories that are gone back through")
    parser.add_argument("--from", type=int, default=1, dest="first", metavar="SEED", help="the first seed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="at once; default: one per core")
    given = parser.parse_args()
    for name in ("ddlrepl", "alembic"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    points = given.points
    if points == []:  # without names
        points = [point for point in FAIL_POINTS if not point.startswith(ELSEWHERE)]
    jobs = wanted(points or [], given)
    count = Count()
    for number, done in enumerate(work_off(given.version, jobs, given.jobs), 1):
        count.add(done)
        print(f"{number} of {len(jobs)}: {done} [{count}]", flush=True)
    print(count)
    return 1 if count.lost or count.twice or count.troubles else 0


if __name__ == "__main__":
    sys.exit(main())
