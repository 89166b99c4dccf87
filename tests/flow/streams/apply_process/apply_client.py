"""An apply client whose queue is a list of transactions, for tests of what it does at a real target."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from airflow_ddlrepl.engines.postgres.apply_lcrs.target import PostgresLcrTarget
from airflow_ddlrepl.flow.streams.apply_process.apply_feed import Done, FeedApply
from airflow_ddlrepl.flow.streams.apply_process.apply_rules import ApplyRules
from airflow_ddlrepl.flow.streams.apply_process.error_queue import retry
from airflow_ddlrepl.flow.streams.apply_process.handlers import Handlers
from airflow_ddlrepl.model.position import LogKey, Position
from airflow_ddlrepl.streams.calls.section import StreamsParameters
from airflow_ddlrepl.streams.condition.names import NameCase
from airflow_ddlrepl.streams.messages import Message
from airflow_ddlrepl.streams.procedures.environment import Environment
from airflow_ddlrepl.streams.procedures.run import environment_of
from airflow_ddlrepl.streams.queue.custom_functions import CustomFunctions
from airflow_ddlrepl.streams.queue.reader import Queued, QueuedTransaction
from airflow_ddlrepl.streams.rules.client import Client, ClientKind
from tests.postgres.apply_lcrs.applying import FENCE, lcr_target

CREATED = {"create_apply": {"apply_name": "apply_hr", "queue_name": "q"}}
FEED = "capture"


def environment(*calls: dict[str, Any], **sections: Any) -> Environment:
    parameters = StreamsParameters.model_validate({"calls": list(calls), **sections})
    return environment_of(parameters, NameCase.LOWER)


def transactions(*messages: Sequence[Message], start: int = 100) -> list[QueuedTransaction]:
    """One transaction for each list, at 100, 110 and so on."""
    found = []
    for place, of_one in enumerate(messages):
        lsn = start + 10 * place
        incoming = [Queued(LogKey(lsn, n), one, one, key_columns=("id",)) for n, one in enumerate(of_one)]
        found.append(QueuedTransaction(lsn, place + 1, 1000 * lsn, "", incoming))
    return found


@dataclass
class ApplyClient:
    """calls: of the client besides its creation. functions: by name, of this process."""

    location: str
    calls: tuple[dict[str, Any], ...] = ()
    functions: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    sections: Mapping[str, Any] = field(default_factory=dict)

    @property
    def rules(self) -> ApplyRules:
        of = environment(CREATED, *self.calls, **self.sections)
        client: Client = of.clients[ClientKind.APPLY, "apply_hr"]
        return ApplyRules(client, of.apply_settings("apply_hr"), Listed(dict(self.functions)), "dbs1")

    def handlers(self, rules: ApplyRules) -> Handlers:
        return Handlers("apply_hr", rules.settings, rules.functions, lambda lcr, _: lcr)

    def run(self, queue: list[QueuedTransaction]) -> Done:
        """One run of the client over its queue."""
        rules = self.rules
        rules.require_functions()
        parallelism = rules.settings.parallelism
        with lcr_target(self.location) as target, target.sessions(FENCE, parallelism) as opened:
            at = target.positions("apply_hr").get(FEED)
            session, *others = opened.sessions
            feed = FeedApply(session, rules, self.handlers(rules), FEED, 1, "dbs1", others)
            feed.run(queue, at.position if at else Position(0), Position(0))
            return feed.done

    def retry(self) -> list[int]:
        """Run everything in the error queue again."""
        with self.target() as target, target.session(FENCE) as session:
            return list(retry(session, lambda _: self.handlers(self.rules), target.errors()))

    @contextmanager
    def target(self) -> Iterator[PostgresLcrTarget]:
        with lcr_target(self.location) as target:
            yield target

    @property
    def position(self) -> int:
        with self.target() as target:
            found = target.positions("apply_hr").get(FEED)
            return int(found.position) if found else 0

    @property
    def waiting(self) -> list[tuple[int, str, int | None]]:
        """Of each transaction in the error queue: messages, code, which one failed."""
        with self.target() as target:
            return [(one.messages, one.failed.code, one.failed.number) for one in target.errors()]


class Listed(CustomFunctions):
    """Functions of the test itself, in place of those that are imported."""

    def __init__(self, given: dict[str, Callable[..., Any]]) -> None:
        super().__init__()
        object.__setattr__(self, "given", given)

    def function(self, name: str) -> Callable[..., Any]:
        given: dict[str, Callable[..., Any]] = self.given  # type: ignore[attr-defined]
        return given[name] if name in given else super().function(name)
