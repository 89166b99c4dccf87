"""This module takes the prompts of SQL*Plus out of a session that somebody has copied as a script."""

from __future__ import annotations

import re

_PROMPT = re.compile(r"[ \t]*SQL>[ \t]?", re.IGNORECASE)
_NUMBER = re.compile(r"[ \t]*(\d+)(?=[ \t]|$)")


def without_prompts(script: str) -> str:
    """Return the script with blanks in place of `SQL>`, and of the numbers of the lines that follow it."""
    lines, expected = [], 0
    for line in script.split("\n"):
        prompt = _PROMPT.match(line)
        number = _NUMBER.match(line) if expected else None
        if prompt:
            line, expected = " " * prompt.end() + line[prompt.end() :], 2
        elif number and int(number[1]) == expected:
            line, expected = " " * number.end() + line[number.end() :], expected + 1
        else:
            expected = 0
        lines.append(line)
    return "\n".join(lines)
