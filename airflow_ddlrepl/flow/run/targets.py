"""The targets of a channel during one run are those that answer; of each other one, the run has the error."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.config.sections.location import resolve
from airflow_ddlrepl.config.sections.places import Target, named_in_file
from airflow_ddlrepl.engines import of_targets
from airflow_ddlrepl.engines.target import ServerFacts
from airflow_ddlrepl.engines.target import Target as TargetPort
from airflow_ddlrepl.errors import ConfigError, DdlReplError, TargetError, Unreachable

if TYPE_CHECKING:
    from airflow_ddlrepl.adapt.target_facts import TargetServer

log = logging.getLogger("ddlrepl")
AGAIN_SECONDS = 2
"""A target that did not answer an earlier stage of the run has this long to answer."""


class ChannelTargets:
    """These are the targets of a channel during one run, each connected once until it ends.

    find_reported: returns the targets that an earlier stage of this run has found, and reported, not to answer.
    failed: by name, what is wrong with those that the run leaves out. away: those that an earlier stage has failed for.
    ready: those that are known to be prepared. new: by name, what became of those that were not prepared.
    applies_now: none of them waits by `apply_every` in this run.
    """

    def __init__(self, channel: Channel, find_reported: Callable[[], frozenset[str]]) -> None:
        self.channel = channel
        self.failed: dict[str, DdlReplError] = {}
        self.away: set[str] = set()
        self.ready: set[str] = set()
        self.new: dict[str, str] = {}
        self.applies_now = False
        self._find_reported = find_reported
        self._connected: dict[str, TargetPort] = {}
        self._databases: dict[str, str] = {}

    def answering(self) -> Iterator[Target]:
        """Yield the targets that answer. The error of another one is in `failed`, and the run's end raises it.

        One that an earlier stage of this run has failed for is looked at once more, quickly, and left out without
        another error. Two targets that are one database: only the first is a target (TargetError TGT-105).
        """
        for target in self.channel.targets:
            if target.name in self.failed or target.name in self.away:
                continue
            try:
                self.connected(target.name)
                self._require_own_database(target.name)
            except (Unreachable, ConfigError, TargetError) as error:
                self._leave_out(target.name, error)
                continue
            yield target

    def _leave_out(self, name: str, error: DdlReplError) -> None:
        if isinstance(error, Unreachable) and name in self._reported:
            log.warning("target %s still does not answer, as an earlier stage of this run has said", name)
            self.away.add(name)
            return
        log.error("target %s is left out: %s", name, error)
        self.failed[name] = error.replaced(retryable=False)  # the next run looks again: the others do not wait for it

    @cached_property
    def _reported(self) -> frozenset[str]:
        return self._find_reported()

    def require_own_databases(self) -> None:
        """Raise TargetError TGT-105 when two of the targets that answer are one database."""
        for _ in self.answering():
            pass
        for error in self.failed.values():
            if isinstance(error, TargetError):
                raise error

    def _require_own_database(self, name: str) -> None:
        """Raise TargetError TGT-105 when another target of the channel is the same database.

        It knows one position of a channel: what one target has got, the other would be taken to have. Those for further
        TARGETs of tables have their own.
        """
        if len(self.channel.targets) == 1 or name in self._databases:
            return
        found, own = self.connected(name).database(), named_in_file(name)
        other = next((k for k, there in self._databases.items() if there == found and named_in_file(k) != own), None)
        if other is not None:
            raise TargetError(
                f"targets {other} and {name} are one database",
                code="TGT-105",
                hint="a channel has one target in a database: write a channel of its own for the other one",
            )
        self._databases[name] = found

    def raise_failed(self) -> None:
        """Raise the error of the first target that the run left out; the log has the others."""
        for error in self.failed.values():
            raise error

    def connected(self, name: str) -> TargetPort:
        """Return the target or replay of that name, connected until this run ends.

        Raises Unreachable or ConfigError, which name the target.
        """
        found = self._connected.get(name)
        if found is None or found.is_closed:
            seconds = AGAIN_SECONDS if name in self._reported else None
            try:
                location = resolve(self.channel.place(name).location)
                found = self._connected[name] = of_targets(location).target(self.channel, name, location, seconds)
            except (Unreachable, ConfigError) as error:
                raise about_target(name, error) from None
        return found

    def close(self) -> None:
        """End every connection."""
        for target in self._connected.values():
            target.close()


def about_target(name: str, error: DdlReplError) -> DdlReplError:
    """Return an error with the name of the target that it is about."""
    named = error.replaced(target=name)
    return named.replaced(message=named.message_with_names)


def server_alone(facts: ServerFacts) -> TargetServer:
    """Return what is known of a target's server without the source."""
    from airflow_ddlrepl.adapt.target_facts import TargetServer

    known = (facts.type_system, facts.version, facts.extensions)
    able = (facts.has_collation, facts.has_builtin)
    return TargetServer(*known, *able, computes=facts.traits is not None)
