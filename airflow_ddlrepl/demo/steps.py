"""What the demo does, step by step, and about how long each step takes on two cores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Size:
    """A size says how much a demo does.

    first: how many of Airflow's revisions run before the channel is activated. cycles: to the last revision. rows: of
    a table in one round of writing. is_backfilled: a scheduler replays all of it at the end.
    """

    cycles: int = 12
    rows: int = 6
    first: int = 0
    is_backfilled: bool = True


FULL = Size()
QUICK = Size(cycles=2, rows=3, first=92, is_backfilled=False)
REVISIONS = 124


@dataclass(frozen=True)
class Step:
    """A step of the demo. seconds: about how long it takes. is_counted: the bar moves within it, too."""

    what: str
    seconds: int
    is_counted: bool = False


def steps(size: Size, *, by_dag: bool, has_page: bool, is_file: bool = False) -> list[Step]:
    """Return the steps of a demo of this size. by_dag: each cycle is a run of Airflow's DAG, with Spark.

    is_file: the target is a file, which no server is asked about, and no rewind is built in.
    """
    left = REVISIONS - size.first
    cycle = 14 if by_dag else 3
    before = f"{size.first} migrations of Airflow's database; " if size.first else ""
    how = "one run of the channel's Airflow DAG each" if by_dag else "in this process"
    found = [
        Step("start two private PostgreSQL servers" + (" and an Airflow" if by_dag else ""), 12 if by_dag else 3),
        Step(f"{before}activate the channel", 8 if size.first else 3),
        Step(
            f"{size.cycles} cycles: {left} migrations with rows between them, {how}",
            size.cycles * cycle + left // 4,
            True,
        ),
    ]
    if not is_file:
        found.append(Step("let the target refuse a row of one table: the others go on, and it catches up", 2 * cycle))
    found.append(Step("compare every table, column and row of source and target", 5))
    if is_file:
        return found
    rewinds = "rewind to earlier moments in an empty database, and compare"
    found.append(Step(rewinds, 8 if size.first else 30))
    if by_dag and size.is_backfilled:
        found.append(Step("backfill: a real scheduler replays all of it in two intervals, compared again", 150))
    if has_page:
        found.append(Step("start an Airflow with the demo's channels to look at, until Ctrl-C", 45))
    return found


def announcement(found: list[Step]) -> Iterator[str]:
    """Yield the lines that say what comes, before anything is done."""
    yield "The demo takes a real application's database, Airflow's own, through its real migrations and replicates it."
    yield f"It takes about {spelled(sum(step.seconds for step in found))}; everything lies in a folder of its own."
    width = max(len(step.what) for step in found)
    for number, step in enumerate(found, 1):
        yield f"  {number}  {step.what.ljust(width)}  about {spelled(step.seconds)}"


def spelled(seconds: int) -> str:
    """Return a duration in words: 40 seconds, 2 minutes."""
    if seconds < 90:
        return f"{-(-seconds // 5) * 5} seconds"
    return f"{round(seconds / 60)} minutes"
