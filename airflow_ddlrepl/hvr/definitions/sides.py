"""Find out which locations of an HVR channel are its source and its targets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from airflow_ddlrepl.errors import ConfigError
from airflow_ddlrepl.hvr.definitions.definition import ALL, HvrDefinition

_SOURCES, _TARGETS = ("SOURCE", "SRC"), ("TARGET", "TGT", "TRG")


@dataclass(frozen=True, slots=True)
class Sides:
    """The sides of a channel are its source location and its targets, by their names in HVR.

    targets: the name of the target in the channel file, by location. guessed: locations that no action names.
    """

    source: str
    targets: dict[str, str]
    groups: dict[str, tuple[str, ...]]
    guessed: tuple[str, ...] = ()

    def reaches(self, scope: str) -> set[str]:
        """Return the locations of an action with this scope: a group, a location, or `*`."""
        if scope == ALL:
            return {self.source, *self.targets}
        return set(self.groups.get(scope, (scope,)))

    def places(self, scope: str) -> list[str]:
        """Return the lists of actions in the channel file that a scope means; empty name: the channel's own."""
        reached, both = self.reaches(scope), {self.source, *self.targets}
        if reached >= both:
            return [""]
        return [place for place in (self.source, *self.targets) if place in reached]

    def target_names(self, scope: str) -> tuple[str, ...]:
        """Return the targets that an action with this scope is for, by their names in the channel file."""
        reached = self.reaches(scope)
        return tuple(name for location, name in self.targets.items() if location in reached)


def sides_of(definition: HvrDefinition) -> Sides:
    """Return the sides of a channel: it captures from its source, and integrates into its targets.

    Raises ConfigError CFG-142 when it has several sources, or a location on both sides.
    """
    groups = dict(definition.groups)
    captures = list(dict.fromkeys(_locations(definition, "Capture", _SOURCES)))
    integrates = list(dict.fromkeys(_locations(definition, "Integrate", _TARGETS)))
    if len(captures) > 1:
        raise ConfigError(
            f"the HVR channel captures from several locations: {', '.join(captures)}",
            code="CFG-142",
            hint="a channel here has one source: import one file for each, with the actions of one location",
        )
    guessed = tuple(name for name, found in (("source", captures), ("target", integrates)) if not found)
    source, targets = (captures or ["source"])[0], integrates or ["target"]
    if source in targets:
        raise ConfigError(
            f"the HVR channel captures from {source} and integrates into it",
            code="CFG-142",
            hint="a channel here goes one way: import one file for each direction",
        )
    return Sides(source, {location: _target_name(location) for location in targets}, groups, guessed)


def _locations(definition: HvrDefinition, action: str, usual: tuple[str, ...]) -> Iterator[str]:
    """Return the locations with this action; when nobody has it, those of the group that usually does."""
    scopes = [one.locations for one in definition.actions if one.name == action and one.locations != ALL]
    named = {one.locations for one in definition.actions} | definition.groups.keys()
    for scope in scopes or [name for name in usual if name in named]:
        yield from definition.groups.get(scope) or (scope,)


def _target_name(location: str) -> str:
    name = re.sub(r"[^A-Za-z0-9_-]", "_", location)[:40]
    return name if name[:1].isalpha() else f"t{name}"[:40]
