"""This module finds what only some kinds of database can do, and refuses by its name what one can't.

An engine's class has the classes of its abilities among its bases, and writes nothing for the others:

    if (place := find(target, HasSequences)) is not None: …
    able(target, HasSequences).sequences.write(plan, fence)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeVar

from airflow_ddlrepl.errors import Unsupported
from airflow_ddlrepl.model.names import TableName


@dataclass(frozen=True, slots=True)
class Lack:
    """A lack is the refusal of a kind of database that does not have an ability."""

    what: str
    """What it is of this kind of database, as the rest of a sentence: "has no sequences"."""
    hint: str
    code: str = "ADP-195"


class Ability:
    """An ability is something that a stage may ask of a source, a target, an engine, or a part of one."""

    lack: ClassVar[Lack]


SomeAbility = TypeVar("SomeAbility", bound=Ability)


def find(place: object, ability: type[SomeAbility]) -> SomeAbility | None:
    """Return what was asked as what has the ability; None where it does not have it."""
    return place if isinstance(place, ability) else None


def able(
    place: object,
    ability: type[SomeAbility],
    who: str = "this kind of database",
    table: TableName | None = None,
) -> SomeAbility:
    """Return what was asked as what has the ability. Raises Unsupported, ADP-195 or the ability's own code.

    who: begins the error's sentence. table: which needs the ability.
    """
    if isinstance(place, ability):
        return place
    raise Unsupported(f"{who} {ability.lack.what}", code=ability.lack.code, table=table, hint=ability.lack.hint)
