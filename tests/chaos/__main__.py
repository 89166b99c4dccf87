"""Kill runs of random channels, everywhere, and count what is lost or there twice.

    python -m tests.chaos 18 --points --kills 300 --histories 5000     what `make chaos` does
    python -m tests.chaos 18 --kills 5 --from 12                       the life of seed 12 again
    python -m tests.chaos 18 --points refresh.chunk                    one fail point

A life of one seed dies five times. Exit code 1 when anything was lost, twice, or not made good.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from airflow_ddlrepl.demo.servers import PrivateServer
from airflow_ddlrepl.failpoint import FAIL_POINTS
from tests.chaos.life import KILLS, Story, killed_anywhere, killed_at
from tests.live.histories import generate, report, script


@dataclass
class Count:
    """What all of it comes to."""

    kills: int = 0
    histories: int = 0
    lost: int = 0
    twice: int = 0
    troubles: int = 0

    def add(self, story: Story) -> None:
        self.kills += len(story.kills)
        self.lost += story.traces.lost
        self.twice += story.traces.twice
        self.troubles += bool(story.trouble)

    def __str__(self) -> str:
        told = f"{self.kills} kills, {self.histories} histories: {self.lost} lost, {self.twice} twice"
        return f"{told}, {self.troubles} NOT MADE GOOD" if self.troubles else told


def stories(server: PrivateServer, points: list[str], kills: int, first: int) -> Iterator[tuple[str, Story]]:
    for number, point in enumerate(points):
        yield f"{point}, seed {first + number}", killed_at(server, first + number, point)
    done, seed = 0, first
    while done < kills:
        story = killed_anywhere(server, seed, min(KILLS, kills - done))
        done += max(len(story.kills), 1)
        yield f"seed {seed}", story
        seed += 1


def play(version: int, points: list[str], kills: int, histories: int, first: int) -> Count:
    count = Count()
    with PrivateServer("source", version) as server:
        for name, story in stories(server, points, kills, first):
            count.add(story)
            said = f"FAILED: {story.trouble}" if story.trouble else "equal"
            print(f"{name}: {'; '.join(story.kills)}: {said}, {story.seconds:.1f} s [{count}]", flush=True)
            if story.trouble:
                print(story.history, flush=True)
        for seed in range(first, first + histories):
            outcome = generate(server, seed)
            count.histories += 1
            count.troubles += bool(outcome.failure)
            print(f"{report(seed, outcome)} [{count}]", flush=True)
            if outcome.failure:
                print(script(seed, outcome), flush=True)
    return count


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__.splitlines()[0])
    parser.add_argument("version", type=int, help="of PostgreSQL: 18 or 15")
    parser.add_argument("--points", nargs="*", metavar="NAME", help="kill at these fail points; without names: at all")
    parser.add_argument("--kills", type=int, default=0, help="at random moments")
    parser.add_argument("--histories", type=int, default=0, help="random histories without a kill")
    parser.add_argument("--from", type=int, default=1, dest="first", metavar="SEED", help="the first seed")
    given = parser.parse_args()
    for name in ("ddlrepl", "alembic"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    points = [] if given.points is None else given.points or list(FAIL_POINTS)
    count = play(given.version, points, given.kills, given.histories, given.first)
    print(count)
    return 1 if count.lost or count.twice or count.troubles else 0


if __name__ == "__main__":
    sys.exit(main())
