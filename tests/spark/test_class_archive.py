"""The class archive of a lake's session: Java takes Iceberg's classes from it, and a window goes through."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from airflow_ddlrepl import java
from airflow_ddlrepl.spark.session import class_archive

LAKE = "iceberg:///any/catalog.db"
WARM_UP = "from airflow_ddlrepl.spark.execute.warm_up import warm_up; warm_up({!r})"


@pytest.mark.thorough
@pytest.mark.xdist_group("spark")
def test_iceberg_comes_out_of_the_archive(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(java, "state_folder", lambda: tmp_path)
    archive = class_archive.prepare(LAKE)
    assert archive is not None and archive.parent == tmp_path
    assert class_archive.prepare(LAKE) == archive, "it is made once"
    loaded = tmp_path / "loaded.log"
    program = (
        "from airflow_ddlrepl import java; import pathlib;"
        f" java.state_folder = lambda: pathlib.Path({str(tmp_path)!r}); {WARM_UP.format(LAKE)}"
    )
    logging = {"JDK_JAVA_OPTIONS": f"-Xlog:class+load:file={loaded}"}
    subprocess.run([sys.executable, "-c", program], check=True, env={**os.environ, **logging}, timeout=300)
    lines = [line for line in loaded.read_text().splitlines() if " org.apache.iceberg." in line]
    archived = [line for line in lines if "shared objects file (top)" in line]
    assert len(lines) > 1000
    assert len(archived) > 0.9 * len(lines)
