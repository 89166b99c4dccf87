"""An object store of a test's own, that speaks S3."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from typing import Any
from urllib.request import Request, urlopen

KEY, SECRET, REGION, BUCKET = "AKIDTESTS", "sehrgeheim-4711", "eu-test-1", "lake-bucket"


@dataclass
class Store:
    """It can be stopped and started again, and has what it had."""

    server: Any
    port: int

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def settings(self) -> str:
        """What the location of a lake says of its warehouse there."""
        login = f"access_key={KEY}&secret={SECRET}&region={REGION}"
        return f"warehouse=s3://{BUCKET}/wh&endpoint={self.endpoint}&{login}"

    @contextmanager
    def stopped(self) -> Iterator[None]:
        from moto.server import ThreadedMotoServer

        self.server.stop()
        yield
        self.server = ThreadedMotoServer(ip_address="127.0.0.1", port=self.port, verbose=False)
        self.server.start()

    @contextmanager
    def refusing(self, after: int) -> Iterator[list[str]]:
        """It takes so many more files, and refuses the others, as where a quota is used up; yields their paths."""
        inside, taken, refused = self.server._server, count(), list[str]()
        app = inside.app

        def refuse(environ: Any, start: Any) -> Any:
            is_write = environ["REQUEST_METHOD"] in ("PUT", "POST") and "delete" not in environ.get("QUERY_STRING", "")
            if not is_write or next(taken) < after:
                return app(environ, start)
            refused.append(environ["PATH_INFO"])
            start("403 Forbidden", [("Content-Type", "application/xml")])
            return [b"<?xml version='1.0'?><Error><Code>QuotaExceeded</Code><Message>quota</Message></Error>"]

        inside.app = refuse
        try:
            yield refused
        finally:
            inside.app = app

    def names(self) -> list[str]:
        """The keys of all objects."""
        listed = _client(self.endpoint).list_objects_v2(Bucket=BUCKET)
        return [one["Key"] for one in listed.get("Contents", ())]


@contextmanager
def object_store() -> Iterator[Store]:
    """A store with one bucket."""
    from moto.server import ThreadedMotoServer
    from s3fs import S3FileSystem

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    store = Store(server, server.get_host_and_port()[1])
    urlopen(Request(f"{store.endpoint}/moto-api/reset", method="POST")).close()  # what another of this process has had
    location = {"LocationConstraint": REGION}
    _client(store.endpoint).create_bucket(Bucket=BUCKET, CreateBucketConfiguration=location)
    S3FileSystem.clear_instance_cache()  # one of another server, gone by now, would be used again
    yield store
    S3FileSystem.clear_instance_cache()
    with suppress(Exception):
        store.server.stop()


def _client(endpoint: str) -> Any:
    import boto3

    return boto3.client(
        "s3", endpoint_url=endpoint, aws_access_key_id=KEY, aws_secret_access_key=SECRET, region_name=REGION
    )
