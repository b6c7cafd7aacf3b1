"""What is written is read back; what is not what was written is refused."""

import datetime as dt
import json
import os
import stat
import struct
import sys
import zlib
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import tidegate as tg
from tidegate.engine.file.container import read, table_from_bytes, table_to_bytes, write
from tidegate.errors import IndexFileError

DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex128", "datetime64[us]", "timedelta64[s]"),
)
SMALL: dict[str, NDArray[Any]] = {
    "keys": np.arange(5),
    "nothing": np.zeros(0, np.int32),
    "flags": np.array([True, False, True]),
    "full": np.arange(64, dtype=np.uint8),
}


@pytest.fixture
def small(tmp_path: Path) -> Path:
    write(tmp_path / "small.index", {"version": 3, "names": ["é", None]}, SMALL)
    return tmp_path / "small.index"


def same(one: NDArray[Any], other: NDArray[Any]) -> bool:
    return one.dtype == other.dtype and one.tobytes() == other.tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 63, 64, 65, 1000])
def test_arrays_of_every_dtype_and_size_come_back(tmp_path: Path, dtype: str, size: int) -> None:
    values = np.random.default_rng(size).integers(0, 256, size * 16, np.uint8)
    array = values.view(np.dtype(dtype))[:size] if dtype != "bool" else values[:size] > 99
    arrays = {"before": np.ones(3, np.int8), "it": array, "behind": np.arange(2.0)}
    write(tmp_path / "file", {}, arrays)
    header, found = read(tmp_path / "file")
    assert header == {}
    assert list(found) == list(arrays)
    assert all(same(found[name], arrays[name]) for name in arrays)


@given(
    st.dictionaries(
        st.text(st.characters(codec="utf-8")),
        st.recursive(
            st.none()
            | st.booleans()
            | st.integers()
            | st.floats(allow_nan=False, allow_infinity=False)
            | st.text(st.characters(codec="utf-8")),
            lambda inner: st.lists(inner) | st.dictionaries(st.text("ab"), inner),
            max_leaves=5,
        ),
    ),
    st.dictionaries(
        st.text(st.characters(codec="utf-8")),
        st.lists(st.integers(-(2**63), 2**63 - 1)),
        max_size=4,
    ),
)
def test_headers_and_names_come_back(
    tmp_path_factory: pytest.TempPathFactory, header: dict[str, Any], lists: dict[str, list[int]]
) -> None:
    path = tmp_path_factory.getbasetemp() / "drawn.index"
    write(path, header, {name: np.array(values, np.int64) for name, values in lists.items()})
    found, arrays = read(str(path))
    assert found == header
    assert {name: array.tolist() for name, array in arrays.items()} == lists


def test_strides_and_byte_orders_are_normalised(tmp_path: Path) -> None:
    arrays = {
        "swapped": np.array([1, 2, 3], ">i4" if sys.byteorder == "little" else "<i4"),
        "backwards": np.arange(10)[::-3],
        "column": np.arange(12).reshape(4, 3)[:, 1],
    }
    write(tmp_path / "file", {}, arrays)
    _, found = read(tmp_path / "file")
    assert [array.tolist() for array in found.values()] == [a.tolist() for a in arrays.values()]
    assert all(array.dtype.isnative and array.flags.c_contiguous for array in found.values())


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((2, 2)),
        np.array(5),
        np.array([{}]),
        np.array(["text"]),
        np.zeros(2, [("a", "i4")]),
    ],
)
def test_only_flat_arrays_of_numbers_are_written(tmp_path: Path, array: NDArray[Any]) -> None:
    with pytest.raises(ValueError, match="'it' is no flat array of numbers"):
        write(tmp_path / "file", {}, {"it": array})
    assert list(tmp_path.iterdir()) == []


def test_arrays_are_aligned_read_only_views_of_one_mapping(small: Path) -> None:
    _, arrays = read(small)
    for array in arrays.values():
        assert not array.flags.owndata
        assert array.ctypes.data % 64 == 0
        with pytest.raises(ValueError, match="read-only"):
            array[:1] = 0
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.flags.writeable = True
    first, last = arrays["keys"].ctypes.data, arrays["full"].ctypes.data
    assert last - first == 64 + 0 + 64


def test_a_file_says_who_wrote_it(small: Path) -> None:
    text = small.read_bytes()[64:].decode("latin-1")
    document, _ = json.JSONDecoder().raw_decode(text)
    assert document["library"] == tg.__version__
    assert document["byteorder"] == sys.byteorder


def test_every_byte_counts(small: Path) -> None:
    content = small.read_bytes()
    assert len(content) % 64 == 0
    for place in range(len(content)):
        for flip in (1, 128, 255):
            damaged = bytearray(content)
            damaged[place] ^= flip
            small.write_bytes(damaged)
            with pytest.raises(IndexFileError, match=r"small\.index"):
                read(small)


def test_every_truncation_is_noticed(small: Path) -> None:
    content = small.read_bytes()
    for size in range(len(content)):
        small.write_bytes(content[:size])
        with pytest.raises(IndexFileError, match="is truncated" if size else "is empty"):
            read(small)


def test_what_follows_a_file_is_noticed(small: Path) -> None:
    content = small.read_bytes()
    for more in (b"\0", bytes(64), content):
        small.write_bytes(content + more)
        with pytest.raises(IndexFileError, match="has grown"):
            read(small)


def test_zeroed_and_exchanged_pages_are_noticed(tmp_path: Path) -> None:
    path = tmp_path / "pages.index"
    write(path, {}, {"words": np.random.default_rng(1).integers(0, 2**62, 8192)})
    content = path.read_bytes()
    page = 4096
    for place in range(page, len(content) - page, page):
        zeroed = content[:place] + bytes(page) + content[place + page :]
        swapped = content[: place - 8] + content[place : place + 8] + content[place - 8 : place]
        for damaged in (zeroed, swapped + content[place + 8 :]):
            assert len(damaged) == len(content)
            path.write_bytes(damaged)
            with pytest.raises(IndexFileError, match="the checksum of 'words' is wrong"):
                read(path)


@pytest.mark.parametrize(
    "content",
    [
        *(b"PAR1" + bytes(100), b"{}", b"\n", bytes(64), bytes(4096), b"\x89PNG\r\n\x1a\n" * 30),
        *(b"PK\x03\x04", "tidegate".encode("utf-16"), b"\x89TIDE\n\x1a" + bytes(80)),
    ],
)
def test_a_foreign_file_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "other").write_bytes(content)
    with pytest.raises(IndexFileError, match="other is not an index file of Tidegate"):
        read(tmp_path / "other")


@given(st.binary(max_size=300))
def test_no_bytes_are_taken_for_a_file(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "random.index"
    for start in (b"", b"\x89TIDE\r\n\x1a", b"\x89TIDE\r\n\x1a\1\0\0\0"):
        path.write_bytes(start + content)
        with pytest.raises(IndexFileError):
            read(path)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(IndexFileError, match=r"there is no file .*missing"):
        read(tmp_path / "missing")
    with pytest.raises(IndexFileError, match="is a directory"):
        read(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(IndexFileError, match="pipe is not a regular file"):
        read(tmp_path / "pipe")
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(IndexFileError, match="cannot be read: Not a directory"):
        read(tmp_path / "file" / "below")
    with pytest.raises(IndexFileError, match="cannot be read: embedded null"):
        read("a\0b")
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    with pytest.raises(IndexFileError, match="cannot be read: Too many levels"):
        read(tmp_path / "circle")


ZEROS = zlib.crc32(bytes(64))


def forged(document: Any, sections: bytes = b"", number: int = 1) -> bytes:
    """A file whose checksums are right, whatever it says."""
    text = document if isinstance(document, bytes) else json.dumps(document).encode()
    text += b" " * (-len(text) % 64)
    size = 64 + len(text) + len(sections)
    head = struct.pack("<8sIIQQ28x", b"\x89TIDE\r\n\x1a", number, zlib.crc32(text), len(text), size)
    return head + struct.pack("<I", zlib.crc32(head)) + text + sections


def document(*sections: Any, **changes: Any) -> dict[str, Any]:
    return {"byteorder": sys.byteorder, "header": {}, "sections": sections} | changes


def test_the_forger_knows_the_format(tmp_path: Path) -> None:
    """The refusals below would say nothing if their files were refused for another reason."""
    content = np.arange(8).tobytes()
    section = ["x", "i8", 8, zlib.crc32(content)]
    (tmp_path / "file").write_bytes(forged(document(section, header={"a": 1}), content))
    header, arrays = read(tmp_path / "file")
    assert header == {"a": 1}
    assert arrays["x"].tolist() == list(range(8))


def test_a_header_that_leaves_the_arrays_unaligned_is_refused(tmp_path: Path) -> None:
    whole = forged(document(["x", "u1", 64, ZEROS]))
    start = len(whole) - 8
    head = struct.pack(
        "<8sIIQQ28x", whole[:8], 1, zlib.crc32(whole[64:start]), start - 64, start + 64
    )
    made = head + struct.pack("<I", zlib.crc32(head)) + whole[64:start] + bytes(64)
    (tmp_path / "file").write_bytes(made)
    with pytest.raises(IndexFileError, match="its header contradicts itself"):
        read(tmp_path / "file")


@pytest.mark.parametrize("number", [0, 2, 2**32 - 1])
def test_a_file_of_another_format_is_refused(tmp_path: Path, number: int) -> None:
    (tmp_path / "file").write_bytes(forged({"anything": 1}, number=number))
    with pytest.raises(
        IndexFileError, match=f"has format {number}, and Tidegate .* reads format 1"
    ):
        read(tmp_path / "file")


def test_a_file_of_another_byte_order_is_refused(tmp_path: Path) -> None:
    other = "big" if sys.byteorder == "little" else "little"
    (tmp_path / "file").write_bytes(forged(document(byteorder=other)))
    with pytest.raises(IndexFileError, match=f"{other}-endian"):
        read(tmp_path / "file")


@pytest.mark.parametrize(
    "made",
    [
        *(b"", b"\xff", b"5", b"[]", b"{", b"null", b"[" * 100_000, b"9" * 5000, {}),
        *(document(header=5), document(sections=None), document(sections=5), document(5)),
        *(document(["x", "i8", 8]), document(["x", "i8", 9, 0]), document(["x", "i8", 2**70, 0])),
        *(document(["x", "i8", -8, 0]), document(["x", "i8", "many", 0])),
        *(document(["x", "i8", float("inf"), 0]), document(["x", "i8", None, 0])),
        *(document(["x", "O", 8, 0]), document(["x", "i8,i8", 4, 0]), document(["x", "V64", 1, 0])),
        *(document(["x", "S0", 1, 0]), document(["x", "i8,(", 1, 0]), document(["x", "no", 1, 0])),
        *(document(["x", ">i8" if sys.byteorder == "little" else "<i8", 8, 0]), document()),
        document(["x", "i8", 4, ZEROS], ["y", "i8", 4, ZEROS]),
        document(["x", "i8", 8, ZEROS], ["back", "i8", -8, 0], ["y", "i8", 8, ZEROS]),
    ],
    ids=str,
)
def test_a_header_that_makes_no_sense_is_refused(tmp_path: Path, made: Any) -> None:
    (tmp_path / "file").write_bytes(forged(made, bytes(64)))
    with pytest.raises(IndexFileError, match="file is damaged: its header contradicts itself"):
        read(tmp_path / "file")


def test_who_has_mapped_a_file_keeps_it_when_it_is_replaced(small: Path) -> None:
    _, old = read(small)
    for generation in range(3):
        write(small, {"generation": generation}, {"keys": np.full(100_000, generation)})
        header, new = read(small)
        assert header == {"generation": generation}
        assert set(new["keys"].tolist()) == {generation}
        assert all(same(old[name], SMALL[name]) for name in SMALL)
    small.unlink()
    assert all(same(old[name], SMALL[name]) for name in SMALL)


def test_a_file_can_be_written_from_its_own_arrays(small: Path) -> None:
    header, arrays = read(small)
    write(small, header, arrays)
    again, found = read(small)
    assert again == header
    assert all(same(found[name], SMALL[name]) for name in SMALL)


def broken(*_: Any) -> None:
    raise OSError(28, "No space left on device")


def interrupted(*_: Any) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize(
    ("fault", "raised"), [(broken, IndexFileError), (interrupted, KeyboardInterrupt)]
)
def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    small: Path,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
    fault: Callable[..., None],
    raised: type[BaseException],
) -> None:
    content = small.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(os, step, fault)
        with pytest.raises(raised, match="cannot be written" if fault is broken else None):
            write(small, {}, {"keys": np.zeros(3)})
    assert small.read_bytes() == content
    assert list(small.parent.iterdir()) == [small]


def test_the_bytes_are_on_disk_before_the_name_is_given(
    small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    sync, replace = os.fsync, os.replace

    def traced_sync(descriptor: int) -> None:
        mode = os.fstat(descriptor).st_mode
        steps.append("sync directory" if stat.S_ISDIR(mode) else "sync file")
        sync(descriptor)

    def traced_replace(source: Path, target: Path) -> None:
        steps.append("rename")
        assert source.parent == target.parent
        read(source)
        replace(source, target)

    monkeypatch.setattr(os, "fsync", traced_sync)
    monkeypatch.setattr(os, "replace", traced_replace)
    write(small, {}, {})
    assert steps == ["sync file", "rename", "sync directory"]


def test_where_no_file_can_be_written_it_says_so(tmp_path: Path) -> None:
    (tmp_path / "directory").mkdir()
    for path, reason in (
        (tmp_path / "missing" / "file", "No such file or directory"),
        (tmp_path / "directory", "Is a directory"),
        (Path("a\0b"), "null"),
    ):
        with pytest.raises(IndexFileError, match=f"cannot be written: .*{reason}"):
            write(path, {}, {"keys": np.zeros(3)})
    assert [path.name for path in tmp_path.iterdir()] == ["directory"]


def test_a_relative_path_is_beside_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write("here", {"a": 1}, {})
    assert read("here") == ({"a": 1}, {})
    assert read(tmp_path / "here") == ({"a": 1}, {})


TABLE = pa.table(
    {
        "string": pa.array(["a", None, "", "日本"]),
        "large": pa.array(["a", None, "", "b" * 100], pa.large_string()),
        "bigint": pa.array([2**63 - 1, None, -(2**63), 0], pa.int64()),
        "double": pa.array([float("inf"), None, -0.0, 1.5]),
        "flag": pa.array([True, None, False, True]),
        "day": pa.array([dt.date(1, 1, 1), None, dt.date(9999, 12, 31), dt.date(2024, 2, 29)]),
        "at": pa.array([dt.datetime(2024, 2, 29, 12), None, None, None], pa.timestamp("us", "UTC")),
        "amount": pa.array([Decimal("1.50"), None, Decimal("-0.01"), None], pa.decimal128(10, 2)),
        "word": pa.array(["x", None, "y", "x"]).dictionary_encode(),
        "none": pa.nulls(4),
    }
)


@pytest.mark.parametrize(
    "table",
    [
        TABLE,
        TABLE.slice(1, 2),
        TABLE.slice(4),
        pa.concat_tables([TABLE.slice(3), TABLE, TABLE.slice(1, 1)]),
        TABLE.select([]),
        pa.table({"n": pa.array(range(1000)).slice(990)}),
        pa.table(
            {
                "word": pa.chunked_array(
                    [pa.array(texts).dictionary_encode() for texts in (["a", "b"], ["c"], ["b"])]
                )
            }
        ),
    ],
)
def test_arrow_tables_come_back(tmp_path: Path, table: pa.Table) -> None:
    write(tmp_path / "file", {}, {"before": np.zeros(1), "table": table_to_bytes(table)})
    found = table_from_bytes(read(tmp_path / "file")[1]["table"])
    found.validate(full=True)
    assert found.schema == table.schema
    assert found.to_pylist() == table.to_pylist()


def test_a_slice_takes_only_its_own_room() -> None:
    table = pa.table({"n": pa.array(range(100_000))})
    assert len(table_to_bytes(table.slice(99_990))) < 2_000


def test_the_buffers_of_a_table_are_the_memory_of_the_file(tmp_path: Path) -> None:
    write(tmp_path / "file", {}, {"table": table_to_bytes(TABLE)})
    section = read(tmp_path / "file")[1]["table"]
    table = table_from_bytes(section)
    start, end = section.ctypes.data, section.ctypes.data + len(section)
    buffers = [
        buffer
        for column in table.columns
        for buffer in column.chunk(0).buffers()
        if buffer is not None and buffer.size
    ]
    assert len(buffers) > 15
    for buffer in buffers:
        assert start <= buffer.address <= buffer.address + buffer.size <= end
        assert not buffer.is_mutable
    del section
    assert table.to_pylist() == TABLE.to_pylist()


@pytest.mark.parametrize("content", [b"", b"foreign", bytes(100)])
def test_a_section_that_is_no_table_is_refused(content: bytes) -> None:
    with pytest.raises(IndexFileError, match="should be an Arrow table"):
        table_from_bytes(np.frombuffer(content, np.uint8))
