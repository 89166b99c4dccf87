"""Print the demo's output: progress while it runs, and one short table at the end."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from airflow_ddlrepl.demo.backfill_check import BackfillCheck
from airflow_ddlrepl.demo.lake.check import LakeCheck
from airflow_ddlrepl.demo.rewind_check import RewindCheck
from airflow_ddlrepl.demo.steps import Step
from airflow_ddlrepl.demo.suspension_check import SuspensionCheck
from airflow_ddlrepl.flow.pipelines import INTEGRATING

STAGES = tuple(one.name for one in INTEGRATING.cycle)


class Watch:
    """A watch shows progress: a bar in a terminal, and plain lines elsewhere.

    It writes to its own copy of standard error, so that standard output can go to a log file meanwhile.
    """

    def __init__(self, steps: Sequence[Step], counted: int) -> None:
        """steps: `begin` is called for each. counted: how far `step` will count within the one that is counted."""
        self._started = time.monotonic()
        self._file = os.fdopen(os.dup(sys.stderr.fileno()), "w", encoding="utf-8", errors="replace")
        self._console = Console(file=self._file)
        self._bar: Progress | None = None
        self._begun, self._steps = 0, steps
        longest = max((step.seconds for step in steps if step.is_counted), default=0)
        self._worth = longest / counted
        if self._console.is_terminal:
            columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
            # Not through rich: output that goes to a log file must not come back to the terminal.
            self._bar = Progress(
                *columns, TimeElapsedColumn(), console=self._console, redirect_stdout=False, redirect_stderr=False
            )
            self._task = self._bar.add_task("starting", total=sum(step.seconds for step in steps))

    def __enter__(self) -> Self:
        if self._bar:
            self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._bar:
            self._bar.stop()
        self._file.close()

    def pause(self) -> None:
        """End the bar: what is printed from now on are lines."""
        if self._bar:
            self._bar.stop()
            self._bar = None

    def say(self, text: str) -> None:
        """Print one line that stays."""
        elapsed = time.monotonic() - self._started
        line = f"[{int(elapsed) // 60}:{int(elapsed) % 60:02d}] {text}"
        if self._bar:
            self._bar.console.print(line, markup=False, highlight=False)
        else:
            print(line, file=self._file, flush=True)

    def begin(self, text: str) -> None:
        """Print the next step of the demo, with its number."""
        self._begun += 1
        self.say(f"step {self._begun} of {len(self._steps)}: {text}")
        if self._bar:
            done = sum(step.seconds for step in self._steps[: self._begun - 1])
            self._bar.update(self._task, description=text, completed=done)

    def doing(self, text: str) -> None:
        """Show the work that runs right now; a line of its own only where there is no bar."""
        if self._bar:
            self._bar.update(self._task, description=text)
        else:
            self.say(text)

    def step(self, amount: int = 1) -> None:
        """Advance the bar."""
        if self._bar:
            self._bar.advance(self._task, amount * self._worth)


@dataclass(frozen=True)
class CycleReport:
    """A cycle report is the result of one cycle: revisions, rows written, what each stage returned and its duration.

    revisions: how many ran. written: rows written meanwhile. returned, seconds: by stage.
    """

    revisions: int
    written: int
    returned: Mapping[str, Mapping[str, Any]]
    seconds: Mapping[str, float]

    def stage(self, name: str) -> Mapping[str, Any]:
        """Return the result of the stage's task; empty when it had nothing to do."""
        return next((value or {} for task, value in self.returned.items() if task.startswith(name)), {})

    def stage_seconds(self, name: str) -> float:
        """Return how long the stage's task took."""
        return sum(value for task, value in self.seconds.items() if task.startswith(name))

    @property
    def captured(self) -> int:
        """Return how many rows were captured."""
        return int(self.stage("capture").get("rows", 0))

    @property
    def ddl(self) -> Counter[str]:
        """Return how many DDL statements were captured, by kind."""
        return Counter(self.stage("capture").get("ddl", {}))

    @property
    def changes(self) -> Counter[str]:
        """Return how many schema changes adapt carried out, by kind."""
        return Counter(self.stage("adapt").get("changes", {}))

    @property
    def applied(self) -> Counter[str]:
        """Return how many rows were inserted, updated and deleted at the target, by adapt and by integrate.

        Adapt applies those before a schema change. "changes" counts the single changes before they are folded.
        """
        return Counter(self.stage("adapt").get("rows", {})) + Counter(self.stage("integrate").get("rows", {}))

    @property
    def refreshes(self) -> dict[str, str]:
        """Return the tables that were loaded again, with the reasons."""
        refresh = self.stage("refresh")
        reasons = {**self.stage("adapt").get("refreshes", {}), **refresh.get("reasons", {})}
        return {table: str(reasons.get(table, "")) for table in {**reasons, **refresh.get("tables", {})}}

    def line(self) -> str:
        """Return the cycle as one line of text."""
        ddl, applied = sum(self.ddl.values()), self.applied["changes"]
        times = " ".join(f"{name} {self.stage_seconds(name):.0f}s" for name in STAGES)
        refreshed = f", refreshed {', '.join(sorted(self.refreshes))}" if self.refreshes else ""
        return f"{self.captured:,} rows and {ddl} DDL statements captured, {applied:,} applied{refreshed}; {times}"


@dataclass
class DemoReport:
    """A demo report is the result of the whole demo.

    differences: lines, empty when source and target are equal, and so is every rewind.
    """

    cycles: list[CycleReport] = field(default_factory=list)
    tables: int = 0
    columns: int = 0
    rows: int = 0
    differences: list[str] = field(default_factory=list)
    rewinds: list[RewindCheck] = field(default_factory=list)
    suspended: SuspensionCheck | None = None
    backfilled: BackfillCheck | None = None
    lake: LakeCheck | None = None
    seconds: float = 0.0

    @property
    def revisions(self) -> int:
        """Return how many revisions ran."""
        return sum(cycle.revisions for cycle in self.cycles)

    def add_rewind(self, done: RewindCheck) -> None:
        """Add a rewind and its differences."""
        self.rewinds.append(done)
        self.differences += [f"before {done.expected.revision}: {line}" for line in done.diff.differences]

    def add_backfill(self, done: BackfillCheck) -> None:
        """Add the backfill and its differences."""
        self.backfilled = done
        self.differences += [f"backfilled: {line}" for line in done.diff.differences]

    def add_lake(self, done: LakeCheck) -> None:
        """Add what the readers of a lake saw, and the differences of each."""
        self.lake = done
        self.differences += [f"read by {name}: {line}" for name, found in done.differences.items() for line in found]

    def add_suspension(self, done: SuspensionCheck) -> None:
        """Add the check of a suspended table, and what was wrong with it."""
        self.suspended = done
        self.differences += done.differences

    def refreshes(self) -> list[tuple[int, str, str]]:
        """Return the refreshes as (cycle, table, reason)."""
        return [(n, *pair) for n, cycle in enumerate(self.cycles, 1) for pair in sorted(cycle.refreshes.items())]

    def lines(self) -> list[tuple[str, str]]:
        """Return the rows of the short table: a name and a value each."""
        refreshed = self.refreshes()
        applied: Counter[str] = sum((c.applied for c in self.cycles), Counter())
        spent = [(name, sum(c.stage_seconds(name) for c in self.cycles)) for name in STAGES]
        return [
            ("cycles", f"{len(self.cycles)}"),
            ("revisions of Airflow", f"{self.revisions}"),
            ("DDL statements captured", _spelled(sum((c.ddl for c in self.cycles), Counter()))),
            ("schema changes applied", _spelled(sum((c.changes for c in self.cycles), Counter()))),
            (
                "rows written (committed)",
                f"{sum(c.written for c in self.cycles):,} and what cascades and revisions did",
            ),
            ("rows captured", f"{sum(c.captured for c in self.cycles):,}"),
            ("rows applied", f"{applied.pop('changes', 0):,}, net {_spelled(applied)}"),
            ("tables refreshed", f"{len(refreshed)}" + "".join(f"\n{t} (cycle {n}): {why}" for n, t, why in refreshed)),
            ("time per stage", ", ".join(f"{name} {seconds:.0f} s" for name, seconds in spent)),
            ("compared", f"{self.tables} tables, {self.columns} columns, {self.rows:,} rows"),
            *([("read by", self.lake.line()), ("as it was", self.lake.past)] if self.lake else []),
            ("suspended and recovered", self.suspended.line() if self.suspended else ""),
            ("gone back to", "\n".join(done.line() for done in self.rewinds)),
            ("backfilled", self.backfilled.line() if self.backfilled else "not in this demo"),
            ("differences", "\n".join([str(len(self.differences)), *self.differences[:20]])),
            ("whole demo", f"{self.seconds / 60:.1f} minutes"),
        ]

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return {
            "cycles": [
                {"revisions": c.revisions, "written": c.written, "returned": c.returned, "seconds": c.seconds}
                for c in self.cycles
            ],
            "refreshes": self.refreshes(),
            "tables": self.tables,
            "rows": self.rows,
            "suspended": self.suspended.said if self.suspended else None,
            "lake": asdict(self.lake) if self.lake else None,
            "rewinds": [asdict(done.diff) | {"revision": done.expected.revision} for done in self.rewinds],
            "backfilled": asdict(self.backfilled.diff) if self.backfilled else None,
            "differences": self.differences,
            "seconds": round(self.seconds, 1),
        }


def _spelled(counts: Mapping[str, int]) -> str:
    parts = ", ".join(f"{count:,} {name}" for name, count in Counter(counts).most_common())
    return f"{sum(counts.values()):,}" + (f": {parts}" if parts else "")


def show(lines: Iterable[tuple[str, str]]) -> None:
    """Print the short table to standard output."""
    table = Table(show_header=False, show_lines=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in lines:
        table.add_row(name, value)
    console = Console(width=None if sys.stdout.isatty() else 110)
    console.print(table, markup=False, highlight=False)
