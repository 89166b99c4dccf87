"""This module defines what is wrong with a condition, and where in its text."""

from __future__ import annotations

from airflow_ddlrepl.errors import RuleError

_HINT = "docs/streams.md lists what a condition can say"
_HINTS = {"RUL-105": "write `1 = 1` for a rule that is always true; a client without a rule set takes everything"}
"""Hints for problems that the list of what a condition can say does not help with, by their codes."""


class ConditionProblem(ValueError):
    """This error is one thing that makes a condition unusable. at: the character of its text, from 0 on."""

    def __init__(self, at: int, text: str, code: str = "RUL-101") -> None:
        super().__init__(at, text, code)
        self.at = at
        self.text = text
        self.code = code

    def located(self, condition: str, of: str = "") -> RuleError:
        """Return the error that a person gets, with line and column of the condition. of: whose condition it is."""
        before = condition[: self.at]
        line, column = before.count("\n") + 1, self.at - (before.rfind("\n") + 1) + 1
        whose = f" of {of}" if of else ""
        return RuleError(
            f"the condition{whose}, line {line}, column {column}: {self.text}",
            code=self.code,
            hint=_HINTS.get(self.code, _HINT),
        )
