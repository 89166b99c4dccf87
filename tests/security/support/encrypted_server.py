"""A private server that takes encrypted connections alone, with a certificate of a certificate authority of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from airflow_ddlrepl.demo.servers import PrivateServer


class Authority:
    """A certificate authority in a folder. root: its own certificate, which clients trust."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder, self.root = folder, folder / "root.crt"
        _openssl(
            *("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=tests"),
            *("-keyout", str(folder / "root.key"), "-out", str(self.root)),
        )

    def issue(self, name: str) -> tuple[Path, Path]:
        """Return certificate and key of a server with this name or address."""
        key, request, certificate = (self.folder / f"{name}.{kind}" for kind in ("key", "csr", "crt"))
        extension = self.folder / f"{name}.ext"
        kind = "IP" if name[0].isdigit() else "DNS"
        extension.write_text(f"subjectAltName={kind}:{name}\n")
        _openssl(
            *("req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}"),
            *("-keyout", str(key), "-out", str(request)),
        )
        _openssl(
            *("x509", "-req", "-in", str(request), "-CA", str(self.root), "-CAkey", str(self.folder / "root.key")),
            *("-CAcreateserial", "-days", "2", "-extfile", str(extension), "-out", str(certificate)),
        )
        return certificate, key


class EncryptedServer(PrivateServer):
    """name: what its certificate says; clients reach it at 127.0.0.1."""

    def __init__(self, authority: Authority, name: str = "127.0.0.1") -> None:
        super().__init__("source", 15)  # the others are built without SSL
        self._certificate = authority.issue(name)

    def start(self) -> None:
        for source, place in zip(self._certificate, ("server.crt", "server.key"), strict=True):
            shutil.copy(source, self.data / place)
            os.chmod(self.data / place, 0o600)
            shutil.chown(self.data / place, self.data.stat().st_uid, self.data.stat().st_gid)
        lines = (self.data / "postgresql.conf").read_text()
        if "ssl = on" not in lines:
            (self.data / "postgresql.conf").write_text(lines + "\nssl = on\n")
            access = (self.data / "pg_hba.conf").read_text()
            encrypted = "\n".join(line.replace("host ", "hostssl ", 1) for line in access.splitlines())
            (self.data / "pg_hba.conf").write_text(encrypted + "\n")
        super().start()


def _openssl(*arguments: str) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)
