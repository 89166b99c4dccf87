"""`make demo`: what it says before it begins, its quick size, and the Airflow that it leaves on to look at."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl.demo.servers import PrivateServer
from airflow_ddlrepl.demo.steps import FULL, QUICK, REVISIONS, announcement, spelled, steps

ROOT = Path(__file__).parents[2]
DEMO = [sys.executable, "-m", "airflow_ddlrepl.demo"]
ADDRESS = re.compile(r"Airflow is at (http://127\.0\.0\.1:\d+): user (\S+), password (\S+)")


def test_the_steps_say_what_comes_and_how_long_it_takes() -> None:
    full, quick = (steps(size, by_dag=True, has_page=False) for size in (FULL, QUICK))
    assert sum(step.seconds for step in quick) < 120 < sum(step.seconds for step in full)
    assert "backfill" in full[-1].what and "backfill" not in quick[-1].what
    page = steps(QUICK, by_dag=True, has_page=True)
    lines = list(announcement(page))
    assert len(lines) == 2 + len(page) and "Ctrl-C" in lines[-1]
    assert spelled(sum(step.seconds for step in page)) in lines[1]
    assert [step.what for step in page if step.is_counted] == [page[2].what]
    assert (spelled(41), spelled(100)) == ("45 seconds", "2 minutes")


def test_the_revisions_are_those_that_ship() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from airflow_ddlrepl.demo import airflow_database as a;"
         "print(len(a._revisions(a._alembic_config())))"],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert int(done.stdout.split()[-1]) == REVISIONS


def test_make_demo_says_first_what_it_does(tmp_path: Path) -> None:
    """Before the set-up, which is by far the longest part on a fresh machine; with the options of the demo."""
    told = subprocess.run(
        [str(ROOT / ".ci" / "demo-announcement"), str(tmp_path / "no")], capture_output=True, text=True
    )
    assert "set-up" in told.stdout and "minutes" in told.stdout
    make = ["make", "--no-print-directory", "-n", "demo"]
    planned = subprocess.run([*make, "QUICK=1", "PAGE=1"], cwd=ROOT, capture_output=True, text=True, timeout=60)
    first, *_, last = planned.stdout.splitlines()
    assert first.startswith(".ci/demo-announcement")
    assert last.split()[-3:] == ["airflow_ddlrepl.demo", "--quick", "--page"]
    plain = subprocess.run(make, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert plain.stdout.rstrip().endswith("airflow_ddlrepl.demo")


@pytest.mark.parametrize("code", [0, 3])
def test_a_step_of_the_set_up_says_what_runs_and_ends_as_its_command(code: int) -> None:
    step = [str(ROOT / ".ci" / "step"), "step 1 of 4: something", "sh", "-c", f"exit {code}"]
    done = subprocess.run(step, capture_output=True, text=True)
    assert done.returncode == code and done.stderr.startswith("step 1 of 4: something\n")
    assert ("done in" in done.stderr) is (code == 0)


def test_the_quick_demo_compares_as_the_whole_one_does(tmp_path: Path, private_server: type[PrivateServer]) -> None:
    report = tmp_path / "report.json"
    done = subprocess.run(
        [*DEMO, "--quick", "--in-process", "--json", str(report)], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[0].startswith("The demo takes a real application's database")
    assert [line.partition("] ")[2][:11] for line in done.stderr.splitlines() if "] step " in line] == [
        f"step {n} of 6" for n in range(1, 7)
    ]
    found = json.loads(report.read_text())
    assert found["differences"] == [] and found["tables"] > 50 and found["rows"] > 500
    assert [one["revision"] for one in found["rewinds"]] == ["b12d4f98a91e"]
    assert "public.slot_pool" in found["suspended"]


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that the servers' own user may read, too."""
    folder = Path(tempfile.mkdtemp(prefix="ddlrepl-look-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.timeout(900)
def test_an_airflow_to_look_at(private_server: type[PrivateServer], open_folder: Path) -> None:
    """Its user gets in, nobody else does; both channels are there; Ctrl-C ends everything and removes the folder."""
    process = subprocess.Popen(
        [*DEMO, "--quick", "--in-process", "--page"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "TMPDIR": str(open_folder)}, start_new_session=True,
    )  # fmt: skip
    try:
        url, user, password = _address(process)
        with pytest.raises(urllib.error.HTTPError):
            _json(f"{url}/auth/token", {"username": user, "password": "wrong"})
        token = _json(f"{url}/auth/token", {"username": user, "password": password})["access_token"]
        with pytest.raises(urllib.error.HTTPError):
            _json(f"{url}/api/v2/dags")
        dags = {dag["dag_id"]: dag["is_paused"] for dag in _json(f"{url}/api/v2/dags?limit=100", token=token)["dags"]}
        assert dags["ddlrepl__demo__replicate"] is False and dags["ddlrepl__demo_asks__replicate"] is False
        states = _wait_for_runs(url, token)
        assert states == {"demo": "success", "demo_asks": "failed"}
        (file,) = open_folder.glob("ddlrepl-demo-*/demo_asks.yaml")
        command = [sys.executable, "-m", "airflow_ddlrepl.cli", "controls", str(file), "--json"]
        told = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert [one["target"] for one in json.loads(told.stdout)] == ["asked"], told.stderr
        channels = {one["channel"]: one["verdict"] for one in _json(f"{url}/ddlrepl/api/channels", token=token)}
        assert channels["demo_asks"]["level"] == "waiting" and channels["demo"]["level"] in ("good", "late")
        process.send_signal(signal.SIGINT)
        assert process.wait(120) == 0, process.stderr
        assert not list(open_folder.glob("ddlrepl-*"))
        with pytest.raises(OSError, match="refused"):
            urllib.request.urlopen(url, timeout=5)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            process.wait(120)


def test_ctrl_c_in_a_run_of_the_dag_ends_the_demo(private_server: type[PrivateServer], open_folder: Path) -> None:
    """Airflow takes an interrupted task for a failed one; the demo does not."""
    process = subprocess.Popen(
        [*DEMO, "--quick"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "TMPDIR": str(open_folder)}, start_new_session=True,
    )  # fmt: skip
    assert process.stderr is not None
    for line in process.stderr:
        if "replicating" in line:
            break
    time.sleep(3)  # into the run
    os.killpg(process.pid, signal.SIGINT)
    rest = process.stderr.read()
    assert process.wait(120) == 130, rest
    assert "interrupted" in rest and "DEM-101" not in rest
    assert not list(open_folder.glob("ddlrepl-*"))


def _address(process: subprocess.Popen[str]) -> tuple[str, str, str]:
    assert process.stderr is not None
    told = []
    for line in process.stderr:
        told.append(line)
        if found := ADDRESS.search(line):
            url, user, password = found.groups()
            return url, user, password
    raise AssertionError("".join(told))


def _wait_for_runs(url: str, token: str) -> dict[str, str]:
    """The state of each channel's first run, once it is over."""
    states: dict[str, str] = {}
    end = time.monotonic() + 400
    while len(states) < 2 and time.monotonic() < end:
        for channel in ("demo", "demo_asks"):
            path = f"/api/v2/dags/ddlrepl__{channel}__replicate/dagRuns?order_by=run_after"
            for run in _json(url + path, token=token)["dag_runs"][:1]:
                if run["state"] in ("success", "failed"):
                    states[channel] = run["state"]
        time.sleep(3)
    return states


def _json(url: str, sent: dict[str, str] | None = None, token: str = "") -> Any:
    headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}
    body = None if sent is None else json.dumps(sent).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data=body, headers=headers), timeout=30) as answer:
        return json.loads(answer.read())
