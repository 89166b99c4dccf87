"""This module replaces `${VAR}` in a channel file by the environment variable's value, which must be set."""

from __future__ import annotations

import os
import re
from pathlib import Path

from airflow_ddlrepl.errors import ConfigError

_VARIABLE = re.compile(r"\$\$\{|\$\{([^}]*)\}?")
SHORTEST = 3
"""A value with fewer characters is no secret, and would be found in any message."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def problems(text: str) -> list[str]:
    """Return why the variables of a text can't be replaced, one sentence each; empty when they can."""
    names = [m.group(1) for m in _VARIABLE.finditer(text) if m.group(1) is not None]
    found = []
    for name in names:
        if not _NAME.fullmatch(name):
            found.append("${…} has to hold the name of an environment variable; write $${ for a literal ${")
        elif name not in os.environ:
            found.append(f"environment variable {name} is not set")
    return found


def expand(text: str) -> str:
    """Return the text with every `${VAR}` replaced by its value, and `$${` by `${`. Raises ConfigError CFG-102."""
    found = problems(text)
    if found:
        raise ConfigError(
            "; ".join(found), code="CFG-102", hint="export the variable where ddlrepl, Airflow's workers and Spark run"
        )
    return _VARIABLE.sub(lambda m: "${" if m.group(1) is None else os.environ[m.group(1)], text)


def values_in(text: str) -> dict[str, str]:
    """Return the values that the variables of a text have, with their names."""
    names = {m.group(1) for m in _VARIABLE.finditer(text) if m.group(1) is not None}
    return {os.environ[name]: name for name in names if os.environ.get(name)}


def without_values(message: str, text: str) -> str:
    """Return a message about a text without the values of its variables: their names stand there."""
    for value, name in sorted(values_in(text).items(), key=lambda one: -len(one[0])):
        for shown in dict.fromkeys((value, repr(value)[1:-1], value.strip(), value.lower(), value.upper())):
            if len(shown) >= SHORTEST:
                message = message.replace(shown, f"${{{name}}}")
    return message


def home() -> Path:
    """Return the folder where repository and trail lie by default: $DDLREPL_HOME, else ~/.ddlrepl."""
    return Path(os.environ.get("DDLREPL_HOME") or "~/.ddlrepl").expanduser().absolute()
