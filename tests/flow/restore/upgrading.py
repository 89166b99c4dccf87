"""PostgreSQL's own pg_upgrade on the source of a channel: the new cluster has another system identifier."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from airflow_ddlrepl.demo import binaries
from airflow_ddlrepl.demo.servers import PrivateServer

KEPT = ("wal_level", "max_replication_slots", "max_wal_senders", "max_prepared", "fsync")


def upgrade(server: PrivateServer, version: int = 18) -> None:
    """Stop a server, upgrade it to a version, which may be its own, and start it."""
    folder = server.data.parent
    old, programs = server._programs, binaries.readable(binaries.directory(version), folder)
    server.stop()
    new, work, secret = (folder / name for name in ("new", "work", "secret"))
    work.mkdir()
    secret.write_text(server.password)
    server._own(work, secret)
    options = ["--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync", "--no-instructions"]
    options += [] if _has_checksums(server, old) or version < 18 else ["--no-data-checksums"]
    server._run([str(programs / "initdb"), "-D", str(new), "-U", "postgres", *options])
    settings = (server.data / "postgresql.conf").read_text()
    kept = (server.data / "pg_hba.conf").read_text()
    shutil.copy(new / "pg_hba.conf", server.data / "pg_hba.conf")
    with (new / "postgresql.conf").open("a") as file:
        file.writelines(f"{line}\n" for line in settings.splitlines() if line.startswith(KEPT))
    command = [str(programs / "pg_upgrade"), "-b", str(old), "-B", str(programs), "-d", str(server.data)]
    command += ["-D", str(new), "-U", "postgres", "-s", str(server.sockets), "--copy"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, **{**server._identity(), "cwd": work})
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr + _logs(new)
    shutil.rmtree(server.data)
    new.rename(server.data)
    shutil.rmtree(work)
    (server.data / "postgresql.conf").write_text(settings)
    (server.data / "pg_hba.conf").write_text(kept)
    server.version, server._programs = version, programs
    server.start()


def _has_checksums(server: PrivateServer, programs: Path) -> bool:
    done = subprocess.run(
        [str(programs / "pg_controldata"), "-D", str(server.data)], check=True, capture_output=True, text=True
    )
    return "Data page checksum version:           0" not in done.stdout


def _logs(new: Path) -> str:
    return "".join(path.read_text(errors="replace")[-2000:] for path in new.glob("pg_upgrade_output.d/*/log/*.log"))
