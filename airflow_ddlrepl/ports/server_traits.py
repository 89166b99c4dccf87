"""These values say in what two servers may compute one expression differently."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Trait(StrEnum):
    """A trait is what the result of an expression may depend on besides its values."""

    COLLATION = "collation"
    VERSION = "version"


@dataclass(frozen=True, slots=True)
class ServerTraits:
    """Server traits are what a database says of how it reads and orders text, and its versions.

    collation: provider, names and version of its default collation. extensions: versions by name.
    publishes_generated: of a source: its log has the values of stored generated columns.
    """

    version: int
    encoding: str
    collation: str
    extensions: Mapping[str, str] = field(default_factory=dict)
    publishes_generated: bool = False

    def unlike(self, target: ServerTraits) -> frozenset[Trait]:
        """Return the traits in which a target differs from this source."""
        found = set()
        if (self.encoding, self.collation) != (target.encoding, target.collation):
            found.add(Trait.COLLATION)
        if self.version != target.version:
            found.add(Trait.VERSION)
        return frozenset(found)

    def differences(self, target: ServerTraits) -> Iterator[str]:
        """Yield in words what differs between this source and a target, one difference each."""
        for what, ours, theirs in (
            ("version", self.version, target.version),
            ("encoding", self.encoding, target.encoding),
            ("default collation", self.collation, target.collation),
        ):
            if ours != theirs:
                yield f"{what} {theirs}, the source has {ours}"
        for name in sorted(self.extensions.keys() & target.extensions.keys()):
            if self.extensions[name] != target.extensions[name]:
                yield f"extension {name} {target.extensions[name]}, the source has {self.extensions[name]}"
