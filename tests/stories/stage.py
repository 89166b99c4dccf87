"""Play a story: a channel between two databases captures each statement, plans it and brings the target up to it.

What a story expects is read from the plans of the program that the flow would apply, and then the flow applies it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import psycopg
import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.adapt.plan_model import Step, StepKind
from airflow_ddlrepl.adapt.program.program import Program
from airflow_ddlrepl.errors import CannotAdapt, ControlStop
from airflow_ddlrepl.flow.apply.advance import to_the_end
from airflow_ddlrepl.flow.apply.pending_log import pending_log
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.model.position import LogKey
from airflow_ddlrepl.ports.work import InProcess
from tests.stories.story import Story
from tests.support.replica import Replica


@dataclass
class Stage:
    """A story on its channel. spotted, said: the changes that were found, and what is done about them at the target."""

    replica: Replica
    story: Story
    spotted: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def play(self) -> None:
        with psycopg.connect(self.replica.source, autocommit=True) as source:
            source.execute(self.story.old)
            self.replica.activate()
            for statement in self.story.do:
                source.execute(statement)
                with flow.open_channel(self.replica.file, InProcess()) as run:
                    self._follow(run)

    def _follow(self, run: RunContext) -> None:
        """One cycle; then the target equals the source, and nothing is left to do, unless it waits for a person."""
        flow.capture(run)
        program = _program(run)
        self._note(program)
        if program.stop is not None:
            with pytest.raises((ControlStop, CannotAdapt)):
                flow.replicate(run)
            return
        flow.replicate(run)
        assert not _program(run).does_anything
        if self.story.same == "rows":
            report = flow.compare(run)
            assert report.differences == 0, report.text()

    def _note(self, program: Program) -> None:
        """What the plans say. A step that several tables share is run once for their statement."""
        ran: set[tuple[LogKey, Step]] = set()
        for at, plan in [(step.key, step.plan) for step in program.steps if step.plan is not None]:
            self.spotted += plan.changes
            for step in plan.steps:
                if not step.shared or (at, step) not in ran:
                    self.said += _said(step)
                ran.add((at, step))
        if program.stop is not None:
            self.spotted += program.stop.changes
            self.said += [line for step in program.stop.steps for line in _said(step)]


def _program(run: RunContext) -> Program:
    """All that the target has before it."""
    return to_the_end(pending_log(run, "warehouse"))


def _said(step: Step) -> list[str]:
    if step.kind is not StepKind.SQL:
        return [f"{step.kind} {step.code}".strip()]
    own = "(own) " if step.own_transaction else ""
    return [own + statement for statement in step.sql]
