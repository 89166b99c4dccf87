"""A profile says, as data (`hvr/profiles/*.yaml`), what a source database shows of its DDL."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from airflow_ddlrepl.errors import ConfigError
from airflow_ddlrepl.hvr.ddl_table import ROWS, Ddl
from airflow_ddlrepl.hvr.version import SINCE, is_older
from airflow_ddlrepl.notation.section import Section

FOLDER = Path(__file__).with_name("profiles")

# What a note may depend on besides the settings: things of the statement itself, each with its values.
FACTS = {
    "key": ("none", "unique", "primary"),
    "in_transaction": ("alone", "several"),
    "partitioning": ("other", "single, without OTHERS"),
}
HVR_VERSION = "hvr_version"
HVR_VERSIONS = ("6.2.5/2", "6.2.5/0", "6.2.0/0")
"""The versions of HVR that a decision can be for, newest first: AdaptDDL has changed with them."""
Text = Annotated[str, Field(min_length=1)]


class Effect(StrEnum):
    """An effect is what a note changes about its statements.

    refused: AdaptDDL is not possible. unsupported: the statement is not supported. impossible: the source prevents it.
    unseen: the log does not show it. late: it is noticed at a later event. refresh: the rows are loaded again.
    continue: they are not. enroll: only the source's new layout is enrolled. alter: the target's table follows.
    apply: it arrives as data.
    """

    REFUSED = "refused"
    UNSUPPORTED = "unsupported"
    IMPOSSIBLE = "impossible"
    UNSEEN = "unseen"
    LATE = "late"
    REFRESH = "refresh"
    CONTINUE = "continue"
    ENROLL = "enroll"
    ALTER = "alter"
    APPLY = "apply"


class Note(Section):
    """A note is a deviation of one source database from HVR's DDL table.

    statements: which it is about. when: it applies only with these settings and facts. source: line of the document, or
    page.
    """

    statements: tuple[Ddl, ...] | Literal["all"]
    when: dict[str, str] = {}
    effect: Effect
    text: Text
    source: Text

    def applies_to(self, statement: Ddl, known: Mapping[str, str]) -> bool:
        """Return whether the note is for this statement, with these settings and facts."""
        about = self.statements == "all" or statement in self.statements
        return about and all(known.get(key) == value for key, value in self.when.items())


class Profile(Section):
    """A profile describes one database system as the source.

    name: its file's name. schemes: of URLs, and types of Airflow connections. is_ours: we replicate from it; the others
    document what HVR does. settings: how it can be captured; the first value of each is the default.
    has_identity: a table's identity survives a rename. adapts_without_refresh: its log can be read on after a
    column was added or dropped. shows_defaults: a new column's default can be seen. notes: the first that applies
    decides.
    """

    name: Text
    title: Text
    schemes: tuple[str, ...] = ()
    is_ours: bool = False
    settings: dict[str, Annotated[tuple[str, ...], Field(min_length=2)]] = {}
    has_identity: bool = False
    adapts_without_refresh: bool
    refresh_source: Text
    shows_defaults: bool
    defaults_source: Text
    notes: tuple[Note, ...] = ()

    @model_validator(mode="after")
    def _conditions_are_known(self) -> Profile:
        if FACTS.keys() & self.settings:
            raise ValueError(f"these are no settings: {', '.join(FACTS)}")
        for note in self.notes:
            for key, value in note.when.items():
                if value not in {**FACTS, **self.settings}.get(key, ()):
                    raise ValueError(f"no such setting or value: {key}: {value}")
        return self

    def with_defaults(self, settings: Mapping[str, str]) -> dict[str, str]:
        """Return every setting with its value. Raises ConfigError CFG-140 for one that the database lacks."""
        possible = self.settings if self.is_ours else {**self.settings, HVR_VERSION: HVR_VERSIONS}
        for key, value in settings.items():
            if value not in possible.get(key, ()):
                known = "; ".join(f"{k}: {', '.join(v)}" for k, v in possible.items()) or "none"
                raise ConfigError(f"{self.title} has no setting {key}: {value}", code="CFG-140", hint=f"known: {known}")
        return {key: settings.get(key, values[0]) for key, values in possible.items()}

    def lacks(self, policy: str, known: Mapping[str, str]) -> bool:
        """Return whether HVR's version, one of the settings, is older than a policy."""
        version = known.get(HVR_VERSION, HVR_VERSIONS[0])
        return policy in SINCE and is_older(version, SINCE[policy])

    def refusal(self, known: Mapping[str, str]) -> Note | None:
        """Return the note why AdaptDDL can't be used at all with these settings; None: it can."""
        return next((n for n in self.refusals if n.when.items() <= known.items()), None)

    def knows(self, statement: Ddl) -> bool:
        """Return whether the database has this kind of statement."""
        return not ROWS[statement].only or self.name in ROWS[statement].only

    @property
    def refusals(self) -> tuple[Note, ...]:
        """Return the notes that rule out AdaptDDL for all statements."""
        return tuple(n for n in self.notes if n.effect is Effect.REFUSED and n.statements == "all")

    def note(self, statement: Ddl, known: Mapping[str, str], effects: Iterable[Effect]) -> Note | None:
        """Return the first note with one of these effects that applies; None: there is none."""
        wanted = set(effects)
        return next((n for n in self.notes if n.effect in wanted and n.applies_to(statement, known)), None)


@lru_cache(maxsize=1)
def profiles() -> dict[str, Profile]:
    """Return all profiles by the names of their files, ours first, then by title."""
    read = {file.stem: Profile.model_validate({"name": file.stem, **_keys(file)}) for file in FOLDER.glob("*.yaml")}
    return dict(sorted(read.items(), key=lambda item: (not item[1].is_ours, item[1].title.lower())))


def _keys(file: Path) -> dict[str, Any]:
    """Return the keys of a profile's file; `like` names another file, whose keys it takes except for `schemes`."""
    import yaml

    keys: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
    base = keys.pop("like", None)
    return keys if base is None else {**_keys(FOLDER / f"{base}.yaml"), "schemes": (), **keys}


def of_scheme(scheme: str) -> Profile | None:
    """Return the profile of a database that we don't replicate from, by URL scheme or connection type; or None."""
    bare = scheme.lower().partition("+")[0]
    return next((p for p in profiles().values() if bare in p.schemes and not p.is_ours), None)
