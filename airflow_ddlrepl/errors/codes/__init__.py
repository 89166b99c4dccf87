"""All codes are listed here, each with its cause and its remedy; `docs/errors.md` is written from the list."""

from __future__ import annotations

from collections.abc import Mapping

from airflow_ddlrepl.errors.codes import (
    adapt,
    apply,
    config,
    cutover,
    integrate,
    repository,
    rules,
    servers,
    source,
    target,
    tools,
    trail,
)
from airflow_ddlrepl.errors.codes.code import Code

FAMILIES: Mapping[str, str] = {
    "ADP": "schema changes at a target",
    "APP": "apps that Spark runs",
    "APL": "apply processes of Oracle Streams",
    "CFG": "channel file, command line, connections",
    "CMP": "comparisons",
    "CON": "servers that do not answer or refuse a login",
    "CTL": "controls and stop positions",
    "CUT": "cut-over",
    "DDL": "GoldenGate's DDL parameters",
    "DEM": "the demo",
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

LISTED: tuple[Code, ...] = (
    *adapt.CODES,
    *apply.CODES,
    *config.CODES,
    *cutover.CODES,
    *integrate.CODES,
    *repository.CODES,
    *rules.CODES,
    *servers.CODES,
    *source.CODES,
    *target.CODES,
    *tools.CODES,
    *trail.CODES,
)
CODES: Mapping[str, Code] = {code.text: code for code in sorted(LISTED, key=lambda code: code.text)}
