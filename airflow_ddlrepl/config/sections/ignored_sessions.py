"""This module defines `capture.ignore_sessions`: sessions of the source whose changes no target gets.

HVR calls it IgnoreSessionNames. A log names the replication origin of a transaction and nothing else of its
session: application names and roles are in the log where sessions, or triggers, write them there.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, Any

from pydantic import AfterValidator, Field, model_validator

from airflow_ddlrepl.notation.name_pattern import matches
from airflow_ddlrepl.notation.section import Section

OURS = "ddlrepl"
"""The application names of our own sessions begin with this; at a target they write it into the log themselves."""


class KnownBy(StrEnum):
    """This setting says how the application name of a transaction, or its role, comes into the log.

    messages: sessions write it there. triggers: a trigger on each table does, for the sessions that are ignored.
    """

    MESSAGES = "messages"
    TRIGGERS = "triggers"


class Session(StrEnum):
    """A session is known by one of these: its replication origin, its application name, or its login role."""

    ORIGIN = "origin"
    NAME = "name"
    ROLE = "role"


def _not_empty(pattern: str) -> str:
    if not pattern.strip():
        raise ValueError("an empty pattern matches no session")
    return pattern


SessionPattern = Annotated[str, AfterValidator(_not_empty)]


class IgnoredSessions(Section):
    """The changes of these sessions are not captured; patterns are written as for tables.

    A transaction is ignored as a whole when one statement of it is of such a session.
    """

    origins: tuple[SessionPattern, ...] = Field((), description="replication origins, by their names")
    names: tuple[SessionPattern, ...] = Field((), description="values of application_name")
    roles: tuple[SessionPattern, ...] = Field((), description="roles that log in; not those of SET ROLE")
    known_by: KnownBy | None = Field(None, description="how names and roles of row changes come into the log")

    @model_validator(mode="after")
    def _can_be_known(self) -> IgnoredSessions:
        if self.roles and self.known_by is not KnownBy.TRIGGERS:
            raise ValueError("the log does not have the role of a row change: roles need `known_by: triggers`")
        others = [name for name in self.names if not name.startswith(OURS)]
        if others and self.known_by is None:
            raise ValueError(
                f"the log does not have the application name {others[0]!r} of a row change: set `known_by: triggers`"
                " (a trigger on each table writes it), or `known_by: messages` (the sessions write it)"
            )
        return self

    def __bool__(self) -> bool:
        return bool(self.origins or self.names or self.roles)

    @property
    def has_triggers(self) -> bool:
        """Do triggers at the source write the names and roles into the log?"""
        return self.known_by is KnownBy.TRIGGERS and bool(self.names or self.roles)

    def ignores(self, session: Session, value: str) -> str:
        """Return which setting ignores a session of this origin, name or role, such as `name purge*`; "": none."""
        patterns = {Session.ORIGIN: self.origins, Session.NAME: self.names, Session.ROLE: self.roles}[session]
        found = next((pattern for pattern in patterns if value and matches(pattern, value)), None)
        return "" if found is None else f"{session} {found}"


NO_SESSIONS = IgnoredSessions()


def of_labels(labels: Iterable[str]) -> IgnoredSessions:
    """Return the setting that ignores what earlier settings did, of which `ignores` has returned these texts."""
    found: dict[str, Any] = {"origins": [], "names": [], "roles": [], "known_by": KnownBy.TRIGGERS}
    for label in labels:
        session, _, pattern = label.partition(" ")
        found[f"{session}s"].append(pattern)
    return IgnoredSessions(**found)
