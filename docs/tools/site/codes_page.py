"""Write docs/errors.md from the list of codes: `python -m docs.tools.site.codes_page`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import groupby

from airflow_ddlrepl import errors
from airflow_ddlrepl.errors.codes import CODES, FAMILIES
from airflow_ddlrepl.errors.codes.code import Code
from docs.tools.product_code import ROOT
from docs.tools.site.error_sites import sites

PAGE = ROOT / "docs" / "errors.md"
INTRODUCTION = """\
# Errors

Search for the code of an error here. The hint in the log says more of the case at hand.

- In Airflow the reason is the XCom `ddlrepl_error` of the failed task.
- In a shell `ddlrepl errors CHANNEL.yaml` lists the errors of the last runs.
- The exit code of `ddlrepl` is 1 for an error, 2 where a file or an argument can't be used, 3 at a control, and 4 where
  a server does not answer.
- Your own Python catches an error by its class, which `airflow_ddlrepl.errors` has. A code is for people and logs.

This page is written from the list in `airflow_ddlrepl/errors/codes/`.
"""


def page() -> str:
    """Return the page as Markdown."""
    families = groupby(CODES.values(), key=lambda code: code.text[:3])
    return "\n".join([INTRODUCTION, *(line for family, found in families for line in _family(family, found))])


@cache
def kinds() -> dict[str, list[str]]:
    """Return the classes that each code is raised with, where that is seen at the place itself."""
    found: dict[str, set[str]] = {}
    for site in sites():
        if site.kind in errors.__all__:
            found.setdefault(site.code, set()).add(site.kind)
    return {code: sorted(names) for code, names in found.items()}


def _family(family: str, found: Iterator[Code]) -> Iterator[str]:
    yield f"## {family}: {FAMILIES[family]}\n"
    for code in found:
        yield f"### {code.text}\n\n{code.cause}\n\n*What to do:* {code.remedy}\n"
        if names := kinds().get(code.text):
            yield f"<small>{', '.join(f'`{name}`' for name in names)}</small>\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
