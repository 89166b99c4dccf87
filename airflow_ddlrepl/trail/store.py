"""The trail of one channel stores durable, ordered log segments that can be read again, on a disk or an object store.

<url>/<channel>/trail.json                         whose trail this is
<url>/<channel>/e<epoch>/segments/<low>.json       manifests; a segment exists when its manifest does
<url>/<channel>/e<epoch>/data/<low>/…              the files that manifests name
"""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime

from airflow_ddlrepl.errors import DdlReplError, FileMissing, TrailError
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.trail.checksum import checksum
from airflow_ddlrepl.trail.manifest import Blob, Segment
from airflow_ddlrepl.trail.place import Place, Sink
from airflow_ddlrepl.trail.rows import NEW_TRAIL_HINT, SEGMENT_FILE
from airflow_ddlrepl.trail.segments import SegmentReader, digest, manifest_path

log = logging.getLogger("ddlrepl")

MARKER, TRAIL_FORMAT = "trail.json", 1
INSPECTED_FILE = "inspected.jsonl"
_MANIFEST = re.compile(r"e(\d+)/segments/([0-9a-f]{16})\.json$")
_CHANNEL = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


class Trail(SegmentReader):
    """A trail reads and writes the captured segments of one channel.

    url: a folder: a local path, file://… or an object store such as s3://bucket/prefix; its options
    come from the environment. Raises TrailError TRL-104 when the folder belongs to another channel.
    """

    def __init__(self, url: str, channel: str) -> None:
        if not _CHANNEL.fullmatch(channel):
            raise TrailError(
                f"{channel!r} can't name a trail", code="TRL-105", hint="name the channel with letters, digits, _ . -"
            )
        self.url = url
        self.channel = channel
        self.place = Place(f"{url.rstrip('/')}/{channel}")
        self._claim()

    def create(self, path: str) -> Sink:
        """Open a new file to write piece by piece; nobody reads it before a manifest names it."""
        return self.place.create(path)

    def write(self, path: str, data: bytes | bytearray | memoryview) -> Blob:
        """Write a whole file at once, and return its path, size and checksum."""
        sink = self.create(path)
        sink.write(data)
        sink.close()
        return sink.blob

    def publish(
        self,
        segment: Segment,
        check_lock: Callable[[], object] = lambda: None,
        keep_digest: Callable[[str], object] = lambda _: None,
    ) -> Segment:
        """Write a segment's manifest, from which on the segment exists, and return the segment that counts.

        That is an earlier run's segment when there was one already.
        check_lock: called last before the manifest is put; raises when this run has lost the channel.
        keep_digest: called before with the manifest's digest.
        Raises TrailError when a file that the segment names is missing or has another size.
        """
        if segment.channel != self.channel:
            raise TrailError(
                f"a segment of {segment.channel!r} does not belong to the trail of {self.channel!r}",
                code="TRL-104",
                hint="give each channel its own trail folder",
            )
        self.check(segment)
        content = segment.to_json()
        text = json.dumps(content, separators=(",", ":")).encode()
        keep_digest(digest(text))
        check_lock()
        if self.place.put_if_absent(manifest_path(segment.epoch, segment.low), text):
            return self.remember(replace(segment, created=content["created"], digest=digest(text)))
        winner = self.find(segment.epoch, segment.low)
        if winner is None:
            raise FileMissing(
                "a manifest disappeared while it was published",
                code="TRL-101",
                at=segment.low,
                hint="run again, and let no other process delete files of the trail",
                retryable=True,
            )
        self.check(winner)
        return winner

    def replace(self, segment: Segment) -> str:
        """Publish a segment instead of one of the same window, delete other files of that, and return its digest.

        Raises TrailError TRL-101 or TRL-102 when a file that it names is missing or not whole.
        """
        self.check(segment)
        text = json.dumps(segment.to_json(), separators=(",", ":")).encode()
        self.place.replace(manifest_path(segment.epoch, segment.low), text)
        self.tidy(segment)
        return digest(text)

    def check(self, segment: Segment) -> None:
        """Check a segment's files; raise TrailError TRL-101 or TRL-102 when one is missing or has another size."""
        for blob in segment.blobs():
            self.check_size(blob)

    def discard(self, epoch: int, low: Position, token: int) -> None:
        """Delete the files that this run wrote for a segment and that no manifest names."""
        published = self.find(epoch, low)
        named = {blob.path for blob in published.blobs()} if published else set()
        for path in self.place.walk(data_folder(epoch, low)):
            if path not in named and path.rpartition("/")[2].split("-")[1:2] == [str(token)]:
                self.place.remove(path)

    @contextmanager
    def discarded_on_failure(self, epoch: int, low: Position, token: int) -> Iterator[None]:
        """Inside this `with` an error deletes what this run wrote for a segment and no manifest names.

        On a full disk the next try needs the room. The first error matters more than one of the deletion.
        """
        try:
            yield
        except Exception:
            with suppress(DdlReplError):
                self.discard(epoch, low, token)
            raise

    def expire(self, before: Position) -> int:
        """Delete the segments that end at or before the position, in every epoch, and return how many.

        The manifest goes first: a crash leaves files that no manifest names, which go with the next call. What goes is
        what lies in the segment's own folder, whatever its manifest names.
        """
        paths = list(self.place.walk())
        present = {(int(m[1]), int(m[2], 16)) for path in paths if (m := _MANIFEST.match(path))}
        gone = 0
        for epoch, low in sorted(place for place in present if place[1] < before):
            segment = self.find(epoch, Position(low))
            if segment is not None and segment.high <= before:
                self.place.remove(manifest_path(epoch, segment.low))
                reach("keep.manifest")
                present.remove((epoch, low))
                gone += 1
        for path in paths:
            data = SEGMENT_FILE.match(path)
            if data and int(data[2], 16) < before and (int(data[1]), int(data[2], 16)) not in present:
                self.place.remove(path)
        return gone

    def forget(self, before: int) -> int:
        """Delete everything of the epochs before this one, and return how many files that was."""
        old = [path for path in self.place.walk() if (m := re.match(r"e(\d+)/", path)) and int(m[1]) < before]
        for path in old:
            self.place.remove(path)
        return len(old)

    def tidy(self, segment: Segment) -> None:
        """Delete the files that killed runs wrote for a segment's window.

        The segment must be published: nobody else's can be, then.
        """
        named = {blob.path for blob in segment.blobs()}
        for path in self.place.walk(data_folder(segment.epoch, segment.low)):
            if path not in named:
                self.place.remove(path)

    def sweep(self, older_than: float) -> list[str]:
        """Delete the files of killed runs: those that no manifest names and that are older than so many seconds.

        older_than must be longer than any capture task may take. Returns the deleted paths.
        """
        facts = self.place.walk()
        named, spared = self._named()
        limit = time.time() - older_than
        orphans = [
            path
            for path, info in facts.items()
            if re.match(r"e\d+/(data/|segments/.*\.tmp$)", path)
            and path not in named
            and not path.startswith(spared)
            and _modified(info) < limit
        ]
        for path in orphans:
            self.place.remove(path)
        return orphans

    def _named(self) -> tuple[set[str], tuple[str, ...]]:
        """Return the files that manifests name, and the folders of segments whose manifests can't be relied on."""
        named: set[str] = set()
        spared: list[str] = []
        for epoch in self._epochs():
            for low in self.starts(epoch):
                try:
                    named.update(blob.path for blob in self.segment(epoch, low).blobs())
                except TrailError as error:
                    log.warning("%s: the segment's files stay", error.message)
                    spared.append(f"{data_folder(epoch, low)}/")
        return named, tuple(spared)

    def _epochs(self) -> list[int]:
        return sorted({int(m[1]) for path in self.place.walk() if (m := re.match(r"e(\d+)/segments/", path))})

    def _claim(self) -> None:
        marker = self.place.read(MARKER)
        if marker is None:
            if any(path for path in self.place.walk() if not path.endswith(".tmp")):
                raise TrailError(
                    f"the folder {self.place.root} holds files but no {MARKER}",
                    code="TRL-104",
                    hint=f"choose an empty folder for the trail. {NEW_TRAIL_HINT}",
                )
            text = json.dumps({"format": TRAIL_FORMAT, "channel": self.channel}).encode()
            if self.place.put_if_absent(MARKER, text):
                return
            marker = self.place.read(MARKER) or b""
        owner, version = _owner(marker)
        if version > TRAIL_FORMAT:
            raise _newer(self.place.root, version)
        if owner != self.channel:
            raise TrailError(
                f"{self.place.root} is the trail of channel {owner!r}, not of {self.channel!r}",
                code="TRL-104",
                hint="give each channel its own trail folder",
            )


def data_folder(epoch: int, low: Position) -> str:
    """Return the folder of the files of the segment that starts at `low`."""
    return f"e{epoch}/data/{low:016x}"


def inspection_file(trail: Trail, epoch: int, low: Position) -> Blob | None:
    """Return the file of a segment with what an inspection found, None where there is none.

    Without a manifest to vouch for it, the file is returned as it is there.
    """
    try:
        segment = trail.find(epoch, low)
    except TrailError:
        segment = None
    for blob in segment.blobs() if segment else ():
        if blob.path.endswith(f"-{INSPECTED_FILE}"):
            return blob
    for path in trail.place.walk(data_folder(epoch, low)) if segment is None else ():
        if path.endswith(f"-{INSPECTED_FILE}") and (data := trail.place.read(path)) is not None:
            return Blob(path, len(data), checksum(data))
    return None


def _owner(marker: bytes) -> tuple[str | None, int]:
    """Return whose trail it is, and of which format; None where the marker can't be read."""
    try:
        found = json.loads(marker)
        return found["channel"], int(found.get("format", TRAIL_FORMAT))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None, TRAIL_FORMAT


def _newer(folder: str, version: int) -> TrailError:
    return TrailError(
        f"{folder} was written by a newer version (it is at {version}, ours at {TRAIL_FORMAT})",
        code="TRL-115",
        hint="install that version of airflow-ddlrepl here, too",
    )


def _modified(info: dict[str, object]) -> float:
    stamp = info.get("mtime") or info.get("LastModified") or info.get("created") or 0
    return stamp.timestamp() if isinstance(stamp, datetime) else float(stamp)  # type: ignore[arg-type]
