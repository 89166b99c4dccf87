"""This module defines the clients that take changes out of a log, each with its rules."""

from __future__ import annotations

from dataclasses import dataclass, field

from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.config.sections.rule_sets import RuleSets
from airflow_ddlrepl.config.sections.scope import Scope


@dataclass(frozen=True, slots=True)
class Client:
    """A client takes changes out of a log: a channel's capture, one of its targets, or a rewind of one.

    scope: the tables that it may have at all; None: every table. rules: which of their changes it takes.
    """

    scope: Scope | None = None
    rules: RuleSets = field(default_factory=RuleSets)

    @property
    def takes_everything(self) -> bool:
        """Does the client take every change of every table? Then no table's name has to be looked at."""
        return self.scope is None and not self.rules.negative and self.rules.positive is None


def client_at(channel: Channel, place: str) -> Client:
    """Return the client that applies the channel's changes at a target, or in a rewind's area. place: its name."""
    return Client(rules=channel.target(place).rules)
