"""These codes are about GoldenGate's DDL parameters (DDL) and the demo (DEM)."""

from __future__ import annotations

from airflow_ddlrepl.errors.codes.code import Code

# fmt: off
CODES = (
    Code("DDL-101", "There is nothing to evaluate a statement by.",
        "Give `--extract FILE.prm`, `--replicat FILE.prm`, or `--side`."),
    Code("DDL-102", "The statement to evaluate is empty.",
        "Write it in quotes."),
    Code("DDL-103", "DDLERROR of Replicat has discarded a statement that the target refuses.",
        "Run it at the target by hand as far as needed, then `ddlrepl refresh --table`."),
    Code("DDL-104", "A statement can't be written in the target's dialect; rules of DDLERROR name this code.",
        "Write a rule for it in `errors` of `replicat`, or run the statement by hand."),
    Code("DDL-105", "`--dialect` names no dialect that is known.",
        "Write one of those that the hint lists; the target's behind a colon."),
    Code("DEM-101", "A DAG run of the demo failed.",
        "See the logs in the folder that the hint names."),
    Code("DEM-102", "A command of Airflow failed in the demo.",
        "The message has its last lines."),
    Code("DEM-103", "Airflow of the demo has ended.",
        "The message has its last lines."),
    Code("DEM-104", "The backfill of the demo failed.",
        "The message has what its runs said."),
    Code("DEM-105", "Airflow is imported already, with another home.",
        "Call `isolate()` first in a fresh process."),
)
# fmt: on
