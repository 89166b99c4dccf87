"""This module defines what all calls of procedures of Oracle Streams have in common."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field

from airflow_ddlrepl.notation.section import Section, any_case


class Procedure(Section):
    """A procedure call has the procedure's parameters by their names.

    package: of the procedure. outputs: parameters that give a name back; here they say which name that is. is_imported:
    scripts' calls of it are taken, too.
    """

    package: ClassVar[str] = "DBMS_STREAMS_ADM"
    name: ClassVar[str] = ""
    outputs: ClassVar[tuple[str, ...]] = ()
    is_imported: ClassVar[bool] = True

    def __init_subclass__(cls, package: str = "", name: str = "", **rest: Any) -> None:
        """Name the procedure as the class, in lower case; a class whose name begins with `_` is no procedure."""
        super().__init_subclass__(**rest)
        cls.package = package or cls.package
        cls.name = "" if cls.__name__.startswith("_") else name or re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()

    @classmethod
    def parameters(cls) -> list[str]:
        """Return the names of the parameters, in the procedure's order."""
        return list(cls.model_fields)


class StreamsType(StrEnum):
    """A streams type says which kind of client a procedure's rules are for."""

    CAPTURE = "capture"
    SYNC_CAPTURE = "sync_capture"
    APPLY = "apply"
    DEQUEUE = "dequeue"


def _lower(value: Any) -> Any:
    return value.lower() if isinstance(value, str) else value


Type = Annotated[StreamsType, BeforeValidator(_lower), any_case(StreamsType)]
Text = Annotated[str, Field(min_length=1)]
