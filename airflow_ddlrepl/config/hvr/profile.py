"""Profiles: what a database system as the source shows of its DDL, as data (`config/profiles/*.yaml`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from airflow_ddlrepl.config.base.section import Section
from airflow_ddlrepl.config.hvr.ddl_table import ROWS, Ddl
from airflow_ddlrepl.errors import ConfigError

FOLDER = Path(__file__).parents[1] / "profiles"

# What a note may depend on besides the settings: things of the statement itself, each with its values.
FACTS = {
    "key": ("none", "unique", "primary"),
    "in_transaction": ("alone", "several"),
    "partitioning": ("other", "single, without OTHERS"),
}
Text = Annotated[str, Field(min_length=1)]


class Effect(StrEnum):
    """What a note does to the statements that it is about.

    refused: AdaptDDL is not possible so. unsupported: the statement is not. impossible: the source does not let it
    happen. unseen: the log does not show it. late: it is noticed at a later event. refresh: the rows come anew.
    continue: they need not. enroll: the source's new layout is noted, and that is all. alter: the target's table
    follows. apply: it arrives as data.
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
    """statements: what it is about. when: only with these settings and facts. source: line of the document, or page."""

    statements: tuple[Ddl, ...] | Literal["all"]
    when: dict[str, str] = {}
    effect: Effect
    text: Text
    source: Text

    def applies_to(self, statement: Ddl, known: Mapping[str, str]) -> bool:
        """For this statement, with these settings and facts?"""
        about = self.statements == "all" or statement in self.statements
        return about and all(known.get(key) == value for key, value in self.when.items())


class Profile(Section):
    """One database system as the source.

    name: of its file. schemes: of URLs, and types of Airflow connections. is_ours: we replicate from it; the others
    tell what HVR does. settings: how it can be captured; the first value of each holds where nothing is said.
    has_identity: a table is told from others by more than its name, so a rename is no drop and create.
    adapts_without_refresh: its log can be read on when a column was added or dropped. shows_defaults: it can be seen
    that a new column has a default. notes: the first that holds decides.
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
        """Every setting with its value. Raises ConfigError CFG-140 for what the database does not know."""
        for key, value in settings.items():
            if value not in self.settings.get(key, ()):
                known = "; ".join(f"{k}: {', '.join(v)}" for k, v in self.settings.items()) or "none"
                raise ConfigError(f"{self.title} has no setting {key}: {value}", code="CFG-140", hint=f"known: {known}")
        return {key: settings.get(key, values[0]) for key, values in self.settings.items()}

    def refusal(self, known: Mapping[str, str]) -> Note | None:
        """Why AdaptDDL can't be used at all with these settings."""
        return next((n for n in self.refusals if n.when.items() <= known.items()), None)

    def knows(self, statement: Ddl) -> bool:
        """Is there such a statement?"""
        return not ROWS[statement].only or self.name in ROWS[statement].only

    @property
    def refusals(self) -> tuple[Note, ...]:
        """What rules out AdaptDDL altogether."""
        return tuple(n for n in self.notes if n.effect is Effect.REFUSED and n.statements == "all")

    def note(self, statement: Ddl, known: Mapping[str, str], effects: Iterable[Effect]) -> Note | None:
        """The first note with one of these effects."""
        wanted = set(effects)
        return next((n for n in self.notes if n.effect in wanted and n.applies_to(statement, known)), None)


@lru_cache(maxsize=1)
def profiles() -> dict[str, Profile]:
    """All profiles by their files' names: ours first, then by title."""
    read = {file.stem: _read(file) for file in FOLDER.glob("*.yaml")}
    return dict(sorted(read.items(), key=lambda item: (not item[1].is_ours, item[1].title.lower())))


def _read(file: Path) -> Profile:
    return Profile.model_validate({"name": file.stem, **_keys(file)})


def _keys(file: Path) -> dict[str, Any]:
    """`like` names the profile that says whatever this one does not; but how a location is spelled."""
    import yaml

    keys: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
    base = keys.pop("like", None)
    return keys if base is None else {**_keys(FOLDER / f"{base}.yaml"), "schemes": (), **keys}


def of_scheme(scheme: str) -> Profile | None:
    """The profile of a database that we can't replicate from, by the scheme of its URL or the type of a connection."""
    bare = scheme.lower().partition("+")[0]
    return next((p for p in profiles().values() if bare in p.schemes and not p.is_ours), None)
