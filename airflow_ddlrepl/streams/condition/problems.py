"""This module defines what is wrong with a condition, and where in its text."""

from __future__ import annotations

from airflow_ddlrepl.errors import RuleError

_HINT = "docs/streams.md lists what a condition can say"


class ConditionProblem(ValueError):
    """This error is one thing that makes a condition unusable. at: the character of its text, from 0 on.

    hint: what helps where the list of what a condition can say does not.
    """

    def __init__(self, at: int, text: str, code: str = "RUL-101", hint: str = _HINT) -> None:
        super().__init__(at, text, code, hint)
        self.at = at
        self.text = text
        self.code = code
        self.hint = hint

    def located(self, condition: str, of: str = "") -> RuleError:
        """Return the error that a person gets, with line and column of the condition. of: whose condition it is."""
        before = condition[: self.at]
        line, column = before.count("\n") + 1, self.at - (before.rfind("\n") + 1) + 1
        whose = f" of {of}" if of else ""
        return RuleError(
            f"the condition{whose}, line {line}, column {column}: {self.text}",
            code=self.code,
            hint=self.hint,
        )


class OtherKindOfLcr(ConditionProblem):
    """A condition calls a function of the other kind of LCR: a rule for these can't call it (RUL-106)."""
