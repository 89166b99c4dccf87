"""The table of fail points and the code agree."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from airflow_ddlrepl.failpoint import FAIL_POINTS, VARIABLE

ROOT = Path(__file__).parents[2]
REACHED = re.compile(r'\breach\("([^"]+)"\)')


def test_every_fail_point_is_reached_in_the_code() -> None:
    sources = [p.read_text(encoding="utf-8") for p in (ROOT / "airflow_ddlrepl").rglob("*.py")]
    assert {name for text in sources for name in REACHED.findall(text)} == set(FAIL_POINTS)


@pytest.mark.parametrize(
    ("setting", "passes"), [(None, 3), ("capture.files", 0), ("capture.files:3", 2), ("refresh.chunk", 3)]
)
def test_the_process_dies_where_the_variable_says(setting: str | None, passes: int) -> None:
    code = "from airflow_ddlrepl.failpoint import reach\nfor n in '012': reach('capture.files'); print(n, flush=True)"
    environment = {**os.environ, **({VARIABLE: setting} if setting else {})}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.stdout.split() == [str(n) for n in range(passes)]
    assert done.returncode == (0 if passes == 3 else -signal.SIGKILL), done.stderr
