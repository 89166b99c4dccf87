"""All values of a table of a lake beside the source's: Spark reads the lake's rows, DuckDB compares.

DuckDB reads a table with many equality deletes for hours. As a program, `python -m benchmarks.lake.values METADATA`
prints how many rows a table has, with `--out DIR` it writes them as Parquet: a process of its own, whose Spark is
nobody else's and has ended when the next thing is measured.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import duckdb
from pyspark.sql import DataFrame

from airflow_ddlrepl.engines.lake.connection.session import lake_session
from benchmarks.lake.place import location
from benchmarks.peers import program, without_password
from benchmarks.workload import Kind

CATALOG = "spark.sql.catalog.default_iceberg"
"""The catalog that a path is loaded through; by itself it would be one of Hive."""


def export(dsn: str, kind: Kind, file: Path) -> None:
    """Write the source's rows as CSV."""
    place, environment = without_password(dsn)
    out = f"COPY public.{kind.name} TO STDOUT (FORMAT csv)"
    with file.open("wb") as rows:
        command = [program("psql"), "-X", "-q", "-v", "ON_ERROR_STOP=1", place, "-c", out]
        subprocess.run(command, check=True, stdout=rows, env=environment)


def differences(kind: Kind, file: Path, metadata: str) -> tuple[int, dict[str, int]]:
    """Return the lake's rows, and how many differ, for each column that differs anywhere; `*`: more or fewer rows.

    file: CSV of the source's rows. metadata: where those of the lake's table are. A row that is missing at one side
    differs in its key.
    """
    types = {"id": "bigint", **{name: type_ for name, type_, _ in kind.columns}}
    columns = ", ".join(f"'{name}': '{type_}'" for name, type_ in types.items())
    unlike = (f"count(*) FILTER (a.{name} IS DISTINCT FROM CAST(b.{name} AS {type_}))" for name, type_ in types.items())
    with tempfile.TemporaryDirectory(prefix="ddlrepl-bench-") as folder, closing(duckdb.connect()) as duck:
        _read(metadata, "--out", f"{folder}/rows")
        duck.execute("SET TimeZone = 'UTC'")
        duck.execute(f"CREATE TABLE a AS FROM read_csv('{file}', header = false, columns = {{{columns}}})")
        duck.execute(f"CREATE TABLE b AS FROM read_parquet('{folder}/rows/*.parquet')")
        joined = duck.execute(f"SELECT {', '.join(unlike)} FROM a FULL JOIN b ON a.id = b.id").fetchone() or ()
        mine, its = duck.execute("SELECT (SELECT count(*) FROM a), (SELECT count(*) FROM b)").fetchone() or (0, 0)
    found = {**dict(zip(types, joined, strict=True)), "*": abs(its - mine)}
    return its, {name: number for name, number in found.items() if number}


def count(metadata: str) -> int:
    """Return how many rows a table of a lake has."""
    return int(_read(metadata))


def _read(*arguments: str) -> str:
    done = subprocess.run([sys.executable, "-m", __name__, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


def main() -> None:
    parser = argparse.ArgumentParser(prog=f"python -m {__spec__.name}", description=__doc__)
    parser.add_argument("metadata")
    parser.add_argument("--out", default="", metavar="DIR")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ddlrepl-bench-") as folder:
        rows = _rows(given.metadata, Path(folder))
        if given.out:
            rows.write.parquet(given.out)
        else:
            print(rows.count())
        rows.sparkSession.stop()


def _rows(metadata: str, folder: Path) -> DataFrame:
    """Return a table's rows, those deleted left out. folder: of a lake with nothing in it, whose session this is."""
    (folder / "none").mkdir()
    spark = lake_session(location(folder, "none"))
    settings = {"": "org.apache.iceberg.spark.SparkCatalog", ".type": "hadoop", ".warehouse": str(folder)}
    for name, value in settings.items():
        spark.conf.set(f"{CATALOG}{name}", value)
    spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    return spark.read.format("iceberg").load(metadata)


if __name__ == "__main__":
    main()
