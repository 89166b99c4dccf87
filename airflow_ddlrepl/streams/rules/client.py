"""This module defines the five kinds of clients that take messages by rules, and which rules each may have."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from airflow_ddlrepl.errors import RuleError
from airflow_ddlrepl.streams.messages import DdlLcr, Message, MessageClass, UserMessage
from airflow_ddlrepl.streams.rules.rule import RuleSet


class ClientKind(StrEnum):
    """A client's kind says what it does with the messages that it takes; the values are those of `streams_type`."""

    CAPTURE = "capture"
    SYNC_CAPTURE = "sync_capture"
    PROPAGATION = "propagation"
    APPLY = "apply"
    DEQUEUE = "dequeue"

    @property
    def words(self) -> str:
        """Return the kind in words."""
        return _TITLES[self]


_TITLES = {
    ClientKind.CAPTURE: "capture process",
    ClientKind.SYNC_CAPTURE: "synchronous capture",
    ClientKind.PROPAGATION: "propagation",
    ClientKind.APPLY: "apply process",
    ClientKind.DEQUEUE: "messaging client",
}


@dataclass(slots=True)
class Client:
    """A client takes messages by its rule sets. A rule set that is None is not there; that differs from an empty one.

    queue: that it reads from, or captures into. destination: of a propagation.
    """

    name: str
    kind: ClientKind
    positive: RuleSet | None = None
    negative: RuleSet | None = None
    queue: str = ""
    destination: str = ""

    def __post_init__(self) -> None:
        if self.negative is not None:
            self.attach(self.negative, is_positive=False)

    @property
    def words(self) -> str:
        """Return the client in words: what it is, and its name."""
        return f"{self.kind.words} {self.name}"

    def attach(self, rules: RuleSet, *, is_positive: bool) -> None:
        """Give the client a rule set in place of the one that it has.

        Raises RuleError RUL-110 for a negative one of a synchronous capture, RUL-111 for one with subset rules.
        """
        if is_positive:
            self.positive = rules
            return
        if self.kind is ClientKind.SYNC_CAPTURE:
            raise RuleError(
                f"synchronous capture {self.name} can't have a negative rule set",
                code="RUL-110",
                hint="leave the tables that it shall not capture out of its positive rule set",
            )
        require_no_subsets(rules, self)
        self.negative = rules

    def require_ready(self) -> None:
        """Raise RuleError RUL-110 for a synchronous capture without a positive rule set.

        Raises RUL-125 where a function of a rule gives many messages for one, and the client captures none.
        """
        if self.kind is ClientKind.SYNC_CAPTURE and self.positive is None:
            raise RuleError(
                f"synchronous capture {self.name} has no positive rule set",
                code="RUL-110",
                hint="add_table_rules or add_subset_rules make one",
            )
        if self.kind in (ClientKind.CAPTURE, ClientKind.SYNC_CAPTURE) or self.positive is None:
            return
        for rule in self.positive.rules.values():
            if rule.action.is_array_function:
                raise RuleError(
                    f"rule {rule.name} is used by {self.words}, which takes one message for one",
                    code="RUL-125",
                    hint="transform into many messages at a capture",
                )

    def refusal(self, message: Message) -> str:
        """Return why a client of this kind can't have such a message at all; empty when it can."""
        captured = isinstance(message, UserMessage) or message.message_class is not MessageClass.CAPTURED
        match self.kind:
            case ClientKind.CAPTURE if isinstance(message, UserMessage):
                return "a capture process captures no user messages"
            case ClientKind.SYNC_CAPTURE if isinstance(message, UserMessage | DdlLcr):
                return "a synchronous capture captures row changes alone"
            case ClientKind.APPLY if message.message_class is MessageClass.BUFFERED:
                return "an apply process takes no buffered messages"
            case ClientKind.DEQUEUE if not captured or message.message_class is not MessageClass.PERSISTENT:
                return f"a messaging client takes persistent messages alone, and this is {message.message_class}"
        return ""


def require_no_subsets(rules: RuleSet, client: Client) -> None:
    """Raise RuleError RUL-111 when a rule of a negative rule set is a subset rule."""
    for rule in rules.rules.values():
        if rule.action.subset is not None:
            raise RuleError(
                f"rule set {rules.name} has the subset rule {rule.name}, and is the negative one of {client.words}",
                code="RUL-111",
                hint="rows could not be migrated: put subset rules into a positive rule set",
            )
