"""`${VAR}` in a channel file: read from the environment, never guessed."""

from __future__ import annotations

import os
import re
from pathlib import Path

from airflow_ddlrepl.errors import ConfigError

_VARIABLE = re.compile(r"\$\$\{|\$\{([^}]*)\}?")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def problems(text: str) -> list[str]:
    """What keeps the text's variables from being read; empty when nothing does."""
    names = [m.group(1) for m in _VARIABLE.finditer(text) if m.group(1) is not None]
    found = []
    for name in names:
        if not _NAME.fullmatch(name):
            found.append("${…} has to hold the name of an environment variable; write $${ for a literal ${")
        elif name not in os.environ:
            found.append(f"environment variable {name} is not set")
    return found


def expand(text: str) -> str:
    """The text with every `${VAR}` replaced by its value; `$${` stands for `${`. Raises ConfigError CFG-102."""
    found = problems(text)
    if found:
        raise ConfigError(
            "; ".join(found), code="CFG-102", hint="export the variable where ddlrepl, Airflow's workers and Spark run"
        )
    return _VARIABLE.sub(lambda m: "${" if m.group(1) is None else os.environ[m.group(1)], text)


def home() -> Path:
    """Where repository and trail lie by default: $DDLREPL_HOME, else ~/.ddlrepl."""
    return Path(os.environ.get("DDLREPL_HOME") or "~/.ddlrepl").expanduser().absolute()
