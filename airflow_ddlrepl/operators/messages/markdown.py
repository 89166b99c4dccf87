"""Write Markdown for Airflow's pages: names and statements of a source are shown letter by letter, never as markup.

Airflow's UI shows tables, and code of a named language as a block; code without a language becomes one run-on line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from urllib.parse import quote, urlparse

from airflow.sdk.configuration import conf

from airflow_ddlrepl.visible import visible

MARKUP = re.compile(r"([\\`*_\[\]<>#|~&:@])")
MARKUP_AT_START = re.compile(r"^(\d*)([-+=.)])")
ADDRESS = re.compile(r"://|www\.|@", re.IGNORECASE)
"""What a word has that some readers of Markdown take for a link, also where its characters are escaped."""


def plain(text: object) -> str:
    """Return the text in one line, with all that Markdown would take for markup escaped, and addresses as code."""
    words = visible(" ".join(str(text).split())).split(" ")
    line = " ".join(code(word) if ADDRESS.search(word) else MARKUP.sub(r"\\\1", word) for word in words)
    return MARKUP_AT_START.sub(r"\1\\\2", line)


def bold(text: object) -> str:
    """Return the text in bold."""
    shown = plain(text)
    return f"**{shown}**" if shown else ""


def code(text: object) -> str:
    """Return the text in one line of code, also for a cell of a table (where `|` ends a cell even in code).

    Behind a backslash a pipe stands outside of the code: some readers take two backslashes there for one.
    """
    return "\\|".join(
        _code(part.replace("|", "\\|")) for part in re.split(r"(?<=\\)\|", visible(" ".join(str(text).split())))
    )


def _code(line: str) -> str:
    line = line.strip()
    if not line:
        return ""
    fence = "`" * (_longest_run(line) + 1)
    return f"{fence} {line} {fence}" if line.startswith("`") or line.endswith("`") else f"{fence}{line}{fence}"


def block(text: str, language: str = "text") -> str:
    """Return the text as a block of code of this language: sql, yaml, text."""
    text = visible(text)
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; the cells are Markdown already."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def link(text: str, *path: str) -> str:
    """Return a link to a page of this Airflow, e.g. `link("its log", "dags", dag_id, "runs", run_id)`."""
    return f"[{plain(text)}]({page(*path)})"


def page(*path: str) -> str:
    """Return the address of a page of this Airflow, below the path of `[api] base_url`."""
    prefix = urlparse(conf.get("api", "base_url", fallback="") or "").path.rstrip("/")
    return "/".join([prefix, *(quote(part, safe="") for part in path)])


def _longest_run(text: str) -> int:
    """Return how many backticks follow each other at most."""
    return max((len(run) for run in re.findall("`+", text)), default=0)


def dag_id(channel: str, kind: str) -> str:
    """Return the id of a channel's DAG: replicate, enroll, rewind, controls, …"""
    return f"ddlrepl__{channel}__{kind}"
