"""How many DDL statements a second go through the pipelines of GoldenGate's Extract and Replicat, on one core."""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

from airflow_ddlrepl.goldengate.extract import extract
from airflow_ddlrepl.goldengate.prm.importing import read_extract, read_parameter_file, read_replicat
from airflow_ddlrepl.goldengate.record import Outcome, Record
from airflow_ddlrepl.goldengate.replicat import replicate
from airflow_ddlrepl.sql.dialect import Dialect

MAPS, CLAUSES, TIMES_MORE = 200, 100, 10
LINES, ROUNDS = 10_000, 10
STATEMENTS = (
    "CREATE TABLE app{0}.orders_{1} (id bigint PRIMARY KEY, customer int REFERENCES app{0}.customers, note text)",
    "ALTER TABLE app{0}.orders_{1} ADD COLUMN amount numeric(12,2) DEFAULT 0 /* change {1} */",
    "CREATE INDEX orders_{1}_i ON app{0}.orders_{1} (customer, amount) -- for reports",
    "ALTER TABLE app{0}.orders_{1} RENAME TO archived_{1}",
    "COMMENT ON COLUMN app{0}.orders_{1}.note IS 'what was said'",
    "DROP TABLE IF EXISTS app{0}.tmp_{1}",
    "GRANT SELECT ON app{0}.orders_{1} TO reader",
    "CREATE ROLE reader_{1}",
)


def extract_file(entries: int) -> str:
    """A parameter file of an Extract with so many TABLEs, and INCLUDE and EXCLUDE clauses."""
    clauses = "".join(f"  EXCLUDE OBJNAME app{n}.tmp_* OPTYPE CREATE,\n" for n in range(entries // 2))
    clauses += "".join(f"  INCLUDE MAPPED OBJNAME app{n}.*,\n" for n in range(entries // 2))
    tables = "".join(f"TABLE app{n}.*;\n" for n in range(2 * entries))
    rest = "  INCLUDE OTHER OPTYPE CREATE, EXCLUDE INSTR 'vacuum'\nDDLSUBST 'reports' WITH 'report'\n"
    return f"EXTRACT e\nDDL\n{clauses}{rest}{tables}"


def replicat_file(entries: int) -> str:
    """A parameter file of a Replicat with twice so many MAPs, and INCLUDE and EXCLUDE clauses."""
    clauses = "".join(f"  EXCLUDE OBJNAME dw{n}.tmp_* OPTYPE DROP,\n" for n in range(entries // 2))
    clauses += "".join(f"  INCLUDE MAPPED OBJNAME dw{n}.* OBJTYPE TABLE,\n" for n in range(entries // 2))
    maps = "".join(f"MAP app{n}.*, TARGET dw{n}.*;\n" for n in range(2 * entries))
    return f"REPLICAT r\nDDL\n{clauses}  INCLUDE ALL\nDDLERROR DEFAULT IGNORE\n{maps}"


def evaluated(folder: Path, entries: int, count: int) -> tuple[list[float], int]:
    """Statements a second in each of ten rounds, and how many statements get to the target."""
    (folder / "e.prm").write_text(extract_file(entries))
    (folder / "r.prm").write_text(replicat_file(entries))
    source, target = read_extract(folder / "e.prm"), read_replicat(folder / "r.prm")
    texts = [STATEMENTS[n % len(STATEMENTS)].format(n % (entries // 3), n) for n in range(count)]
    rates, run, each = [], 0, max(1, count // ROUNDS)
    for start in range(0, count, each):
        started = time.process_time()
        for text in texts[start : start + each]:
            for one in extract(Record(text, Dialect.POSTGRES), source):
                if one.outcome is Outcome.WRITTEN:
                    run += sum(found.outcome is Outcome.RUNS for found in replicate(Record(one.record.text), target))
        rates.append(len(texts[start : start + each]) / (time.process_time() - started))
    return rates, run


def load(folder: Path) -> float:
    """Seconds in which a parameter file of 10,000 lines is read."""
    file = folder / "long.prm"
    file.write_text("REPLICAT r\n" + "".join(f"MAP app.t{n}, TARGET dw.t{n};\n" for n in range(LINES)))
    started = time.process_time()
    read_parameter_file(file)
    return time.process_time() - started


def measure(count: int) -> None:
    """Print statements a second with few and many entries, and seconds of loading."""
    with tempfile.TemporaryDirectory(prefix="ddlrepl-bench-") as name:
        for entries in (CLAUSES, CLAUSES * TIMES_MORE):
            rates, run = evaluated(Path(name), entries, count)
            spread = " ".join(f"{rate:,.0f}" for rate in (min(rates), statistics.median(rates), max(rates)))
            print(f"{entries} clauses, {2 * entries} names a side: min median max {spread} statements/s, {run:,} run")
        print(f"a parameter file of {LINES:,} lines: {load(Path(name)):.2f} s")
