"""Write the page of all messages of errors from the product's code: with their hints, and which module says so."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import groupby

from airflow_ddlrepl.errors.codes import CODES, FAMILIES
from docs.tools.site.error_sites import Site, sites

INTRODUCTION = """\
# Messages of errors

Every message that the product has, by its code, with its hint and the module that says it. ‹…› stands for a name or a
value. [Errors](../errors.md) has what each code means.
"""


@cache
def page() -> str:
    """Return the page as Markdown."""
    families = groupby(sites(), key=lambda site: site.code[:3])
    return "\n".join([INTRODUCTION, *(line for family, found in families for line in _family(family, list(found)))])


def _family(family: str, found: list[Site]) -> Iterator[str]:
    yield f"## {family}: {FAMILIES[family]}\n"
    for code, places in groupby(found, key=lambda site: site.code):
        yield f"### {code}\n"
        yield from _code(code, list(places))


def _code(code: str, places: list[Site]) -> Iterator[str]:
    texts: dict[tuple[str, str], list[str]] = {}
    for site in places:
        texts.setdefault((site.message, site.hint), []).append(f"`{site.module}`")
    for (message, hint), modules in texts.items():
        yield f"{_sentence(message) or CODES[code].cause}\n"
        if hint:
            yield f"*What to do:* {_sentence(hint)}\n"
        yield f"<small>{', '.join(dict.fromkeys(modules))}</small>\n"


def _sentence(text: str) -> str:
    """Return a text of the code as one paragraph of Markdown, with a capital letter and a full stop."""
    flat = " ".join(text.split())
    if not flat:
        return ""
    parts = flat.split("`")
    escaped = [part if n % 2 and n < len(parts) - 1 else _escaped(part) for n, part in enumerate(parts)]
    shown = "`".join(escaped)
    return f"{shown[0].upper()}{shown[1:]}" + ("" if shown[-1] in ".;:?" else ".")


def _escaped(text: str) -> str:
    return re.sub(r"([*_<>\[\]#|\\])", r"\\\1", text)
