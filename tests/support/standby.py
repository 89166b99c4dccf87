"""A standby of a private server: it streams the log, synchronises slots, and can be promoted."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from airflow_ddlrepl.demo.servers import PrivateServer
from tests.support.refusing import ask
from tests.support.replica import run

SECONDS = 60


class Standby(PrivateServer):
    """slot: its physical slot at the primary, which `with` makes."""

    def __init__(self, primary: PrivateServer, slot: str) -> None:
        followed = f"host=127.0.0.1 port={primary.port} user=postgres password={primary.password} dbname=postgres"
        settings = {
            "primary_conninfo": followed,
            "primary_slot_name": slot,
            "hot_standby_feedback": "on",
            "sync_replication_slots": "on",
            "wal_retrieve_retry_interval": "100ms",
            "wal_receiver_status_interval": "1s",
        }
        super().__init__("source", primary.version, settings)
        self.password, self.primary, self.slot = primary.password, primary, slot

    def _make_data(self, secret: Path) -> None:
        self._run(
            [
                *(str(self._programs / "pg_basebackup"), "-D", str(self.data), "-d", self.primary.dsn()),
                *("-X", "stream", "-c", "fast", "-C", "-S", self.slot, "--no-sync"),
            ]
        )
        (self.data / "standby.signal").touch()

    def close(self) -> None:
        """The primary keeps no log for it any more."""
        super().close()
        run(self.primary.dsn(), f"select pg_drop_replication_slot('{self.slot}')")

    def wait(self, query: str, doing: Callable[[], object] = lambda: None) -> None:
        """Until the standby answers yes; doing something in between."""
        deadline = time.monotonic() + SECONDS
        while ask(self.dsn(), query) != [(True,)]:
            assert time.monotonic() < deadline, query
            doing()
            time.sleep(0.05)

    def wait_for_log(self) -> None:
        """Until it has replayed all that the primary has written."""
        ((written,),) = ask(self.primary.dsn(), "select pg_current_wal_insert_lsn()::text")
        self.wait(f"select pg_last_wal_replay_lsn() >= '{written}'")

    def stop_receiving(self) -> None:
        """From here on it lags."""
        self.wait_for_log()
        run(self.dsn(), "alter system set primary_conninfo = ''", "select pg_reload_conf()")
        self.wait("select count(*) = 0 from pg_stat_wal_receiver")

    def receive(self) -> None:
        """It catches up again."""
        run(self.dsn(), "alter system reset primary_conninfo", "select pg_reload_conf()")

    def promote(self) -> None:
        assert ask(self.dsn(), f"select pg_promote(true, {SECONDS})") == [(True,)]
