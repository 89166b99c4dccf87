"""SeaweedFS as a server of a test's own: an object store that speaks S3, and a REST catalog beside it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

KEY, SECRET, CATALOG, BUCKET = "AKIDWEED", "ganz+geheim/4711", "lake", "files"
"""The login of both; the name of the catalog, which is a bucket of its own; a bucket for any files."""
_PROGRAM = Path(sys.executable).with_name("weed")
_SECONDS = 90
_PORTS = ("master.port", "volume.port", "filer.port", "s3.port", "s3.port.iceberg")
_FURTHER = ("master.port.grpc", "volume.port.grpc", "filer.port.grpc", "s3.port.grpc")


@dataclass(frozen=True)
class Weed:
    """Where it listens."""

    s3: str
    uri: str

    def settings(self, login: str, warehouse: str = f"s3://{BUCKET}/wh") -> str:
        """What the location of a lake says of both. login: to the catalog."""
        store = f"warehouse={warehouse}&endpoint={self.s3}&access_key={KEY}&secret={SECRET.replace('+', '%2B')}"
        return f"{store}&region=us-east-1&catalog=rest&uri={self.uri}&rest_warehouse=s3://{CATALOG}&format_version=2&{login}"


@contextmanager
def weed(folder: Path) -> Iterator[Weed]:
    """A server with an empty catalog and an empty bucket."""
    if not _PROGRAM.exists():
        pytest.skip("SeaweedFS, which `make tools` installs, is missing")
    folder.mkdir(parents=True)
    ports = _free_ports()
    fixed = ["-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-webdav=false", "-admin.ui=false", "-s3.port.lance=0"]
    command = [str(_PROGRAM), "mini", f"-dir={folder}", f"-tableBucket={CATALOG}", *fixed]
    login = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET}
    with (folder / "log").open("wb") as log:
        listening = [f"-{name}={port}" for name, port in ports.items()]
        process = subprocess.Popen([*command, *listening], env={**os.environ, **login}, stdout=log, stderr=log)
    try:
        found = Weed(*(f"http://127.0.0.1:{ports[name]}" for name in ("s3.port", "s3.port.iceberg")))
        until = time.monotonic() + _SECONDS
        while not _answers(found):
            assert process.poll() is None and time.monotonic() < until, (folder / "log").read_text()[-2000:]
            time.sleep(0.2)
        _add_bucket(found)
        yield found
    finally:
        process.kill()
        process.wait()


def _free_ports() -> dict[str, int]:
    with ExitStack() as stack:
        found = {}
        for name in (*_PORTS, *_FURTHER):
            free = stack.enter_context(socket.socket())
            free.bind(("127.0.0.1", 0))
            found[name] = free.getsockname()[1]
    return found


def _answers(server: Weed) -> bool:
    with suppress(URLError, OSError):
        urlopen(f"{server.uri}/v1/config?warehouse=s3://{CATALOG}", timeout=5).close()
        return True
    return False


def _add_bucket(server: Weed) -> None:
    import boto3

    client = boto3.client(
        "s3", endpoint_url=server.s3, aws_access_key_id=KEY, aws_secret_access_key=SECRET, region_name="us-east-1"
    )
    client.create_bucket(Bucket=BUCKET)
