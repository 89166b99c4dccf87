"""This module defines the clients that take changes out of a log, each with its rules."""

from __future__ import annotations

from dataclasses import dataclass, field

from airflow_ddlrepl.config.sections.channel_at import ChannelAt
from airflow_ddlrepl.config.sections.places import RuleSets
from airflow_ddlrepl.config.sections.scope import Scope
from airflow_ddlrepl.goldengate.parameters.replicat import ReplicatParameters


@dataclass(frozen=True, slots=True)
class Client:
    """A client takes changes out of a log: a channel's capture, one of its targets, or a rewind of one.

    scope: the tables that it may have at all; None: every table. rules: which of their changes it takes. replicat: it
    has the tables that these parameters' MAP lists; None: every table.
    """

    scope: Scope | None = None
    rules: RuleSets = field(default_factory=RuleSets)
    replicat: ReplicatParameters | None = None

    @property
    def takes_everything(self) -> bool:
        """Does the client take every change of every table? Then no table's name has to be looked at."""
        return self.scope is None and self.replicat is None and not self.rules.negative and self.rules.positive is None


def client_at(at: ChannelAt) -> Client:
    """Return the client that applies the channel's changes at a target, or in a rewind's area."""
    return Client(rules=at.place.rules, replicat=at.place.replicat)
