"""This module decides which statements an apply process runs at its target: none that carries code or rights by itself.

A statement of the source's users is run with the rights of the target's role. What carries code or rights is left out
unless the channel file names its kind; then a role of the object's schema runs it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from airflow_ddlrepl.config.sections.streams import ApplyTarget
from airflow_ddlrepl.ddl.sql.statement_code import Carried, Code, carried, without
from airflow_ddlrepl.engines.abilities.lcr_target import RunAs
from airflow_ddlrepl.errors import ApplyError
from airflow_ddlrepl.streams.messages import DdlLcr, MessageClass
from airflow_ddlrepl.streams.queue.ddl.one_object import why_not_one

LEFT_OUT = "it is left out: "
PART_LEFT_OUT = "a part of it is left out: "
_NEEDED = frozenset(("TABLE", "DOMAIN"))
"""Objects that rows need: a statement about them is not left out, but waits in the error queue."""


@dataclass(frozen=True, slots=True)
class AllowedCode:
    """This is which kinds of code the channel file names for a target. run_as: roles, by schema."""

    kinds: frozenset[Code] = frozenset()
    run_as: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, target: ApplyTarget) -> AllowedCode:
        """Return what the section of a target says."""
        return cls(frozenset(target.code), target.run_as)

    def allowed(self, lcr: DdlLcr) -> tuple[DdlLcr | None, str]:
        """Return what of a statement comes to the target (None: nothing), and why the rest is left out.

        Of an ALTER TABLE only those actions are left out that carry what the file does not name: rows need the others.
        """
        found = carried(lcr.text) if lcr.text else Carried()
        if found.never:
            return None, f"{LEFT_OUT}{found.never}"
        missing = found.kinds - self.kinds
        rest = without(lcr.text, missing)
        still = carried(rest).kinds - self.kinds if rest else missing
        if still and not (still == {Code.EXPRESSION} and lcr.command.rpartition(" ")[2] in _NEEDED):
            return None, f"{LEFT_OUT}{_carries(missing)}"
        if rest == lcr.text:
            return lcr, ""
        return replace(lcr, text=rest), f"{PART_LEFT_OUT}{_carries(missing - still)}"

    def required(self, lcr: DdlLcr) -> RunAs | None:
        """Return who runs a statement that carries code; None: it carries none.

        Raises ApplyError APL-115 where the channel file does not name what it carries, APL-117 where the text of an
        application's LCR is not one statement about what the LCR names.
        """
        if lcr.message_class is not MessageClass.CAPTURED and (why := why_not_one(lcr)):
            raise ApplyError(
                f"the text of {lcr.command} {lcr.owner}.{lcr.name} is not one statement about that object: {why}",
                code="APL-117",
                table=f"{lcr.owner}.{lcr.name}",
                hint="enqueue one LCR for each object and command; or change the schema at the source itself",
            )
        found = carried(lcr.text) if lcr.text else Carried()
        missing = sorted(found.kinds - self.kinds)
        if found.never or missing:
            raise ApplyError(
                f"{lcr.command} {lcr.owner}.{lcr.name} can't run: {found.never or _calls(missing)}",
                code="APL-115",
                table=f"{lcr.owner}.{lcr.name}",
                hint="read it (`ddlrepl errors show`); then run what you want of it by hand, and delete the error"
                + (f"; or name {', '.join(missing)} in `code` of the target, and retry" if missing else ""),
            )
        return RunAs(found.kinds, self.run_as) if found.kinds else None


NO_CODE = AllowedCode()


def _calls(missing: list[Code]) -> str:
    if missing == [Code.EXPRESSION]:
        return "an expression in it calls a function or operator that may do more than compute a value"
    return f"{_carries(missing)} that the channel file does not name"


def _carries(kinds: Collection[Code]) -> str:
    return f"it carries code or rights ({', '.join(sorted(kinds))})"
