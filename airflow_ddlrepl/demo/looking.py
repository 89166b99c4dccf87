"""Leave the demo's servers on with an Airflow to look at: two channels, one healthy and one that waits for a person."""

from __future__ import annotations

import json
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from airflow_ddlrepl.demo.cycles import Place, activate_channel
from airflow_ddlrepl.demo.output import to_log
from airflow_ddlrepl.demo.report import Watch
from airflow_ddlrepl.demo.standalone import Login, Standalone
from airflow_ddlrepl.demo.workload.rows import RowWriter
from airflow_ddlrepl.engines.postgres.connection.connect import connect

USER = "admin"
SCHEDULE = '"* * * * *"'
WRITE_SECONDS = 5.0
CHANNELS = ("demo", "demo_asks")
ASKING = """\
channel: demo_asks                 # waits for a person before a column is dropped
source:
  location: demo_source
  tables: ["public.demo_notes"]
targets:
  - name: asked
    location: demo_asked
ask_before: [drop_column, narrow, drop_table]
repository: sqlite:///{folder}/repository.db
trail: {folder}/trail
schedule: {schedule}
"""
DAG_FILE = """from airflow_ddlrepl import build_channel_dags

globals().update(build_channel_dags({folder!r}))
"""
NOTES = (
    "CREATE TABLE public.demo_notes (id int PRIMARY KEY, note text, obsolete text)",
    "INSERT INTO public.demo_notes SELECT n, 'note ' || n, 'old' FROM generate_series(1, 50) n",
)
DROP = "ALTER TABLE public.demo_notes DROP COLUMN obsolete"


def look_at(place: Place, second_target: str, state: str, watch: Watch, wait: Callable[[], None]) -> None:
    """Start an Airflow with the demo's channels, print where it is, and wait; then stop it.

    second_target: URL of an empty database, the second channel's target. state: of an empty one for Airflow. wait:
    returns, or raises KeyboardInterrupt, when nobody looks any more.
    """
    watch.doing("activating a second channel, which waits for a person")
    with to_log(place.folder / "page.log"):
        _second_channel(place, second_target)
    login = Login(USER, secrets.token_urlsafe(9))
    home = place.folder / "page"
    environment = _environment(place, home, login)
    watch.doing("starting Airflow: its API server, scheduler, DAG processor and triggerer")
    with Standalone(home, state, environment, login=login) as airflow:
        for channel in CHANNELS:
            dag = f"ddlrepl__{channel}__replicate"
            airflow.wait_for_dag(dag)
            airflow.command("dags", "unpause", dag, "--yes")
        watch.say(f"Airflow is at {airflow.url}: user {login.user}, password {login.password}")
        watch.say(f"The channels are at {airflow.url}/ddlrepl/, or under Replication in its menu.")
        watch.say("A cycle of each runs every minute, and rows are written meanwhile.")
        watch.say("Channel demo goes on; demo_asks waits for a person before it drops a column. Ctrl-C ends all of it.")
        with _writing(place.source), suppress(KeyboardInterrupt):
            wait()
        watch.say("stopping Airflow and the servers")


def until_interrupted() -> None:
    """Wait for ever: Ctrl-C raises KeyboardInterrupt."""
    while True:
        time.sleep(60)


def _second_channel(place: Place, second_target: str) -> None:
    """Give the first channel a schedule, and activate one that stops at a control in its first cycle."""
    lines = [line for line in place.channel.read_text().splitlines() if not line.startswith("schedule:")]
    place.channel.write_text("\n".join([*lines, f"schedule: {SCHEDULE}", ""]))
    os.environ["AIRFLOW_CONN_DEMO_ASKED"] = second_target
    file = place.folder / "demo_asks.yaml"
    file.write_text(ASKING.format(folder=place.folder, schedule=SCHEDULE))
    with connect(place.source, application_name="demo") as connection:
        for statement in NOTES:
            connection.execute(statement.encode())
        activate_channel(file)
        connection.execute(DROP.encode())


def _environment(place: Place, home: Path, login: Login) -> dict[str, str]:
    """Make Airflow's home with the DAGs of both channels and its one user; return its environment."""
    dags = home / "dags"
    dags.mkdir(mode=0o700, parents=True)
    (dags / "channels.py").write_text(DAG_FILE.format(folder=str(place.folder)))
    passwords = home / "passwords.json"
    passwords.write_text(json.dumps({login.user: login.password}))
    passwords.chmod(0o600)
    connections = {name: value for name, value in os.environ.items() if name.startswith("AIRFLOW_CONN_")}
    return connections | {
        "AIRFLOW__CORE__DAGS_FOLDER": str(dags),
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "False",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": f"{login.user}:admin",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(passwords),
        "AIRFLOW__DDLREPL__CHANNELS": str(place.folder),
    }


@contextmanager
def _writing(source: str) -> Iterator[None]:
    """Write rows to the source every few seconds inside the block."""
    is_over = threading.Event()

    def write() -> None:
        writer = RowWriter(seed=2, rows_per_table=2)
        with connect(source, application_name="demo") as connection:
            while not is_over.wait(WRITE_SECONDS):
                writer.write(connection)

    thread = threading.Thread(target=write, name="demo writer", daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join(20)
