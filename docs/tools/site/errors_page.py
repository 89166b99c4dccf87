"""Write the page of all error codes from the product's code: what happened, what to do, which module says so."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import groupby

from docs.tools.site.error_sites import ROOT, Site, sites

INTRODUCTION = """\
# Errors

Every error has a code that stays the same, a message, and a hint that says what to do. Search for the code here, or
read the hint in the log. ‹…› stands for a name or a value. In Airflow the reason is the XCom `ddlrepl_error` of the
failed task; in a shell `ddlrepl errors CHANNEL.yaml` lists the errors of the last runs.

The exit code of `ddlrepl` is 1 for an error, 2 where a file or an argument can't be used, 3 at a control, and 4 where a
server does not answer.
"""
FAMILIES = {
    "ADP": "schema changes at a target",
    "APL": "apply processes of Oracle Streams",
    "CFG": "channel file, command line, connections",
    "CMP": "comparisons",
    "CON": "servers that do not answer or refuse a login",
    "CTL": "controls and stop positions",
    "CUT": "cut-over",
    "DEM": "the demo",
    "DDL": "GoldenGate's DDL parameters",
    "DSK": "full disks",
    "INT": "rows at a target",
    "LCK": "locks between runs",
    "LIM": "limits of the channel file",
    "MSG": "messages",
    "REF": "refreshes",
    "REP": "the repository",
    "REW": "rewinds",
    "RUL": "rules of Oracle Streams",
    "SPK": "Spark",
    "SQL": "statements that a server refuses",
    "SRC": "the source",
    "TGT": "the target",
    "TRL": "the trail",
}
MEANINGS = {
    "ADP-192": "What a table would use at its target belongs to a role that is not trusted.",
    "APL-109": "A message can't be put into the queue of a destination.",
    "APL-118": "What a table would use at its target belongs to a role that is not trusted.",
    "APL-138": "A target lacks row changes of tables, which no capture has.",
    "CFG-102": "The channel file names an environment variable that is not set.",
    "CFG-136": "The options of a refresh can't be read.",
    "CFG-402": "The installed packages of Spark are of two versions.",
    "DDL-104": "An error rule of GoldenGate's parameters ends the Replicat.",
    "INT-134": "A target can't hold a value of the row: the row is discarded, and stays in the error queue.",
    "INT-153": "A change lost a conflict: it is discarded, and stays in the list until the row changes again.",
    "LIM-101": "The trail holds more bytes than `limits` of the channel file allows.",
    "LIM-102": "The source retains more log for the channel than `limits` of the channel file allows.",
    "RUL-101": "A condition of a rule can't be read.",
    "RUL-132": "A subset rule needs values that a row had before its change, and the log does not have them.",
    "RUL-153": "A transaction sets another tag after changes that a synchronous capture has captured.",
    "RUL-154": "A transformation function of a synchronous capture gives no row LCR.",
    "SRC-114": "Another session reads the channel's replication slot.",
    "SRC-121": "The schema `ddlrepl` at the source, or what is in it, belongs to a role that is not trusted.",
    "SRC-180": "A table of the source can't be read to compare it.",
    "TGT-104": "The schema `ddlrepl` at the target, or what is in it, belongs to a role that is not trusted.",
    "TRL-120": "An option of the change feed has a value that can't be used.",
    "TRL-122": "The shapes that a table had in the change feed's span don't fit into one.",
}
"""What codes mean whose messages come from elsewhere: another error's, a function of a person's file, several steps."""
CONDITION = re.compile(r"^\| `(CUT-\d{3})` \| (.+?) \| (?:yes|no) \|$", re.MULTILINE)


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
        yield f"{_sentence(message) or meanings()[code]}\n"
        if hint:
            yield f"*What to do:* {_sentence(hint)}\n"
        yield f"<small>{', '.join(dict.fromkeys(modules))}</small>\n"


@cache
def meanings() -> dict[str, str]:
    """Return the meanings of codes without a message of their own, also those of a cut-over's conditions."""
    table = (ROOT / "docs" / "cutover.md").read_text(encoding="utf-8")
    conditions = [(code, what.replace("](", "](../")) for code, what in CONDITION.findall(table)]
    return MEANINGS | {
        code: f"A condition of a [cut-over](../cutover.md) is not met: {what}" for code, what in conditions
    }


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
