"""A target with the parameters of a Replicat: what becomes of each DDL statement there, also when it is refused."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from time import sleep

from airflow_ddlrepl.adapt.plan.ddl_replay import BY_REPLICAT
from airflow_ddlrepl.adapt.plan_model import Omission, Step, StepKind, TablePlan
from airflow_ddlrepl.adapt.target_facts import Refusal
from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.config.sections.channel_at import ChannelAt
from airflow_ddlrepl.errors import AlterRefused
from airflow_ddlrepl.flow.mapping.tableless import is_for_replicats, is_tableless
from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.goldengate.ddl_errors import Answer, Handling, response_to
from airflow_ddlrepl.goldengate.parameters.clauses import DdlScope
from airflow_ddlrepl.goldengate.parameters.mapping import target_of
from airflow_ddlrepl.goldengate.parameters.replicat import ReplicatParameters
from airflow_ddlrepl.goldengate.replicat import Replicated, replicated
from airflow_ddlrepl.model.change import Event
from airflow_ddlrepl.model.position import LogKey, Position
from airflow_ddlrepl.model.record import StatementDiscarded
from airflow_ddlrepl.model.table_state import TableState

_EXHAUSTED = 2**31
_PASSED_OVER = (Handling.IGNORE, Handling.DISCARD)


@dataclass
class TargetReplicat:
    """A Replicat evaluates the DDL statements of a target's pending log, and decides about those that are refused.

    put_aside: the statements that DDLERROR has discarded, by their places in the log.
    """

    parameters: ReplicatParameters
    channel: Channel
    put_aside: dict[LogKey, StatementDiscarded] = field(default_factory=dict)
    _known: dict[LogKey, Replicated] = field(default_factory=dict)

    @classmethod
    def of(cls, at: ChannelAt) -> TargetReplicat | None:
        """Return the Replicat of a target or replay; None: it has none."""
        parameters = at.place.replicat
        return cls(parameters, at.channel) if parameters is not None else None

    def evaluated(self, events: Iterable[Event]) -> list[Event]:
        """Evaluate the statements of the log; return the events, those marked that are discarded."""
        return [self._evaluated(event) for event in events]

    def statement(self, event: Event) -> Replicated | None:
        """Return what Replicat has made of an event's statement; None: there is none, or it has not run anywhere."""
        return self._known.get(event.key)

    def runs_alone(self, event: Event) -> bool:
        """Is an event's statement about no table that MAP lists? Replicat runs it with the names that it has."""
        known = self._known.get(event.key)
        names = [*(table.name for table in event.tables), *(name for _, name in event.dropped)]
        is_mapped = known is None or known.record.scope is DdlScope.MAPPED
        is_further = self.parameters.is_further
        return not (is_mapped or is_further or any(target_of(name, self.parameters) for name in names))

    def runs_without_table(self, event: Event, ours: Container[int]) -> bool:
        """Does Replicat run a statement that is about none of these tables, or tell that it is left out?

        Also one that Extract discards is told, at the first TARGET.
        """
        if not is_tableless(event, ours) or not is_for_replicats(event, self.channel):
            return False
        known = self._known.get(event.key)
        if known is None:
            return bool(event.discarded) and not self.parameters.is_further
        return not known.is_elsewhere

    def error_response(self, at: LogKey, code: str, tries: int) -> Answer | None:
        """Return how to go on behind a statement that the target has refused; None: no statement was evaluated there.

        code: of the target's error, or of ours. tries: how often it has been run.
        """
        known = self._known.get(at)
        return response_to(known.record, code, tries, self.parameters) if known is not None else None

    def passed_over(self, event: Event, stop: TablePlan, refused: Mapping[tuple[int, LogKey], Refusal]) -> Event | None:
        """Return the event as one that is discarded, where DDLERROR goes on behind the refused plan; None: it ends.

        refused: what the target has refused so far.
        """
        step = next((step for step in stop.steps if step.kind is StepKind.REFUSE), None)
        if step is None or step.policy != BY_REPLICAT or event.discarded:  # a refusal that is not about a text counts
            return None
        code = next((one.code for (_, key), one in refused.items() if key == event.key and one.code), step.code)
        found = self.error_response(event.key, code, _EXHAUSTED)
        if found is None or found.handling not in _PASSED_OVER:
            return None
        text = self._known[event.key].record.text
        if found.handling is Handling.DISCARD:
            self.put_aside[event.key] = StatementDiscarded(
                str(stop.name), text, code, step.why, Position(event.key.lsn)
            )
        return replace(event, discarded=f"DDLERROR {code}: {found.handling.upper()}: {step.why}")

    def _evaluated(self, event: Event) -> Event:
        found = replicated(event, self.parameters)
        if found is None:
            return event
        self._known[event.key] = found
        return replace(event, discarded=found.why) if found.why else event


def wait(run: RunContext, found: Answer) -> None:
    """Wait before a statement is tried again, as RETRYDELAY says, as long as this run has the channel."""
    log.warning("%s, in %s seconds", found.why, found.delay)
    for _ in range(found.delay):
        run.check_lock()
        sleep(1)


def code_of(error: AlterRefused) -> str:
    """Return the code that rules of DDLERROR name: the server's SQLSTATE; without one, our code."""
    return error.sqlstate or error.code


def with_discard(found: TablePlan, before: TableState | None, event: Event, replicat: TargetReplicat) -> TablePlan:
    """Return the plan of a table with a warning that a statement is discarded, also where no shape would change."""
    ours = replicat.statement(event) if event.discarded else None
    is_told = any(step.omits is Omission.CHANGE for step in found.steps)
    if ours is None or is_told or (ours.is_elsewhere and before is None):
        return found
    step = Step(StepKind.WARN, f"{event.tag}: {event.discarded}", policy=event.discarded, omits=Omission.CHANGE)
    return replace(found, steps=(*found.steps, step))
