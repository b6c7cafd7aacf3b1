"""What an index is made of, for people and for programs."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Structure:
    """A part of an index: what it is, how many subscriptions and distinct filters, how many bytes.

    `bytes` are those of matching alone, without ids and what the filters were given as; of them,
    `single_bytes` were added for events that come one by one.
    """

    name: str
    subscriptions: int
    entries: int
    bytes: int
    single_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Cache:
    """What is remembered of things that may be gone: how many, about how many bytes, at most."""

    name: str
    entries: int
    bytes: int
    most_bytes: int


@dataclass(frozen=True, slots=True)
class Description:
    """The structures of an index. `str()` of it is a table for people."""

    subscriptions: int
    structures: tuple[Structure, ...]
    segments: int
    pending: int  # not compiled yet
    removed: int  # still in a structure, until it is rebuilt
    most_segments: int
    caches: tuple[Cache, ...] = ()

    @property
    def bytes(self) -> int:
        """All bytes of matching, beyond ids and what the filters were given as."""
        return sum(structure.bytes for structure in self.structures)

    @property
    def single_bytes(self) -> int:
        """Those of them that serve events which come one by one."""
        return sum(structure.single_bytes for structure in self.structures)

    def __str__(self) -> str:
        rows = [("structure", "subscriptions", "filters", "bytes", "for single events")]
        rows += [
            (s.name, f"{s.subscriptions:,}", f"{s.entries:,}", f"{s.bytes:,}",
             f"{s.single_bytes:,}")
            for s in self.structures
        ]  # fmt: skip
        widths = [max(len(row[i]) for row in rows) for i in range(5)]
        lines = [
            "  ".join([row[0].ljust(widths[0]), *[row[i].rjust(widths[i]) for i in range(1, 5)]])
            for row in rows
        ]
        each = self.bytes / self.subscriptions if self.subscriptions else 0.0
        head = (
            f"{self.subscriptions:,} subscriptions, "
            f"segments: {self.segments} of at most {self.most_segments} "
            f"({self.pending:,} not compiled yet, {self.removed:,} removed ones still inside), "
            f"{each:.1f} bytes each"
        )
        remembered = [
            f"remembered besides: {cache.name}, {cache.entries:,}, {cache.bytes:,} bytes "
            f"of at most {cache.most_bytes:,}"
            for cache in self.caches
        ]
        return "\n".join([head, *lines, *remembered])
