"""Records in a file: which are whole, which is torn, and which are damaged?

A record is a head and a body. The head has the record's number, that of the first record written
together with it (its **batch**), what sort it is, how long its body is, and the body's checksum;
and a checksum of its own, so that a length can be trusted before it is used. Numbers rise by one: a
record that is missing is noticed.

What is at the end of a file may be **torn**: its writer was killed, or the machine lost power,
before it was safe. That is so if the file ends within the record, or if a whole sector of it is
zeros, which is what a file system shows of what it never wrote; and if no record of a later batch
follows, since a batch begins when the one before it is safe. Everything else that has a wrong
checksum is **damaged**: it was whole once, and something may depend on it.
"""

from collections.abc import Iterator
from struct import Struct
from typing import Final, NamedTuple
from zlib import crc32

from tidegate.errors import StorageError

INPUT: Final = 1  # a sort of records: something that came in
LONGEST: Final = 2**30  # bytes of a body
_SIGNED: Final = Struct("<QQBII")  # number, batch, sort, length, checksum of the body
_HEAD: Final = Struct("<QQBIII")  # and the checksum of these
_SECTOR: Final = 512


class Record(NamedTuple):
    """A record, and where in its file the next one begins."""

    number: int
    sort: int
    body: bytes
    end: int


def frame(number: int, batch: int, sort: int, body: bytes) -> bytes:
    """A record as bytes.

    >>> data = frame(1, 1, INPUT, b"a") + frame(2, 1, INPUT, b"b")
    >>> [record.body for record in records(data, 0, 1, "a file")]
    [b'a', b'b']
    """
    if len(body) > LONGEST:
        raise StorageError(f"a record takes {len(body):,} bytes; {LONGEST:,} are allowed")
    signed = _SIGNED.pack(number, batch, sort, len(body), crc32(body))
    return b"".join((signed, crc32(signed).to_bytes(4, "little"), body))


def records(data: bytes, start: int, first: int, where: str) -> Iterator[Record]:
    """The records of a file from a position on, of which the first has a known number.

    They end where the file does, or where a record is torn: then the last one's `end` is not the
    file's. What is damaged is refused, by the file's name.
    """
    place, number = start, first
    while place < len(data):
        body = place + _HEAD.size
        if body > len(data):
            return
        found, _, sort, length, summed, own = _HEAD.unpack_from(data, place)
        if crc32(data[place : body - 4]) != own:
            if _torn(data, place, body, number):
                return
            raise _damage(where, place, f"the head of record {number:,} has a wrong checksum")
        if found != number:
            raise _damage(where, place, f"record {found:,} stands in the place of {number:,}")
        end = body + length
        if end > len(data):
            return
        if crc32(data[body:end]) != summed:
            if _torn(data, place, end, number):
                return
            raise _damage(where, place, f"record {number:,} has a wrong checksum")
        yield Record(number, sort, data[body:end], end)
        place, number = end, number + 1


def _torn(data: bytes, start: int, end: int, number: int) -> bool:
    """Whether a record that is not whole was never written, in part."""
    sectors = range(start - start % _SECTOR, end, _SECTOR)
    pieces = (data[max(sector, start) : sector + _SECTOR] for sector in sectors)
    if not any(len(piece) >= _SECTOR // 8 and not any(piece) for piece in pieces):
        return False
    return not any(batch > number for batch in _batches_after(data, start))


def _batches_after(data: bytes, start: int) -> Iterator[int]:
    """The batches of all heads after a position, wherever they stand."""
    for place in range(start + 1, len(data) - _HEAD.size + 1):
        _, batch, _, _, _, own = _HEAD.unpack_from(data, place)
        if own and crc32(data[place : place + _HEAD.size - 4]) == own:
            yield batch


def _damage(where: str, place: int, what: str) -> StorageError:
    return StorageError(f"{where} is damaged at byte {place:,}: {what}")
