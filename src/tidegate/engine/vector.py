"""What do 512 events say at once?

A **row** is eight 64-bit words: one bit for each of 512 events. The functions here work on whole
rows, which lie in flat arrays of words, one after the other; a position is that of a row's first
word. They are written as LLVM vectors of eight words, which every processor has in some form: one
instruction where it has 512-bit registers, a few where it has not. Left to itself, LLVM does not
find these vectors in loops over words.

They do not check bounds. With `NUMBA_BOUNDSCHECK=1` (as a test runs the kernels), and as a second
opinion in the tests, the plain loops of `PLAIN` stand in for them; both do the same.
"""

from collections.abc import Callable
from typing import Any, Final

from llvmlite import ir  # type: ignore[import-untyped]
from numba import config, njit, types, uint64
from numba.core import cgutils
from numba.extending import intrinsic

WORDS: Final = 8
"""The words of a row."""
EVENTS: Final = 512
"""The events of a block: the bits of a row."""

LOW_BITS: Final = 6
"""The bits of a count that `tally` adds to."""

_I64 = ir.IntType(64)
_I32 = ir.IntType(32)
_ROW = ir.VectorType(_I64, WORDS)
_CODES = ir.VectorType(_I32, 16)
_MASK = ir.VectorType(ir.IntType(1), 16)
_EIGHT = ir.VectorType(ir.IntType(1), 8)


def _data(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    return context.make_array(kind)(context, builder, array).data


def _load(builder: Any, pointer: Any, at: Any, kind: Any = _ROW) -> Any:
    place = builder.bitcast(builder.gep(pointer, [at]), ir.PointerType(kind))
    loaded = builder.load(place)
    loaded.align = kind.element.width // 8
    return loaded


def _store(builder: Any, value: Any, pointer: Any, at: Any, align: int = 8) -> None:
    place = builder.bitcast(builder.gep(pointer, [at]), ir.PointerType(value.type))
    builder.store(value, place).align = align


def _full(adder: Any, one: Any, two: Any, three: Any) -> tuple[Any, Any]:
    """Bit by bit, the sum of three and its carry."""
    both = adder.xor(one, two)
    return adder.xor(both, three), adder.or_(adder.and_(one, two), adder.and_(both, three))


def _and(builder: Any, one: Any, other: Any) -> Any:
    return builder.and_(one, other)


def _or(builder: Any, one: Any, other: Any) -> Any:
    return builder.or_(one, other)


def _and_not(builder: Any, one: Any, other: Any) -> Any:
    return builder.and_(one, builder.not_(other))


def _binary(combine: Callable[[Any, Any, Any], Any]) -> Any:
    def typed(typing: Any, out: Any, at: Any, rows: Any, row: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            target = _data(context, builder, signature.args[0], given[0])
            source = _data(context, builder, signature.args[2], given[2])
            old = _load(builder, target, given[1])
            _store(
                builder, combine(builder, old, _load(builder, source, given[3])), target, given[1]
            )
            return context.get_dummy_value()

        return types.void(out, types.uint64, rows, types.uint64), generate

    return typed


def _put(typing: Any, out: Any, at: Any, rows: Any, row: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        target = _data(context, builder, signature.args[0], given[0])
        source = _data(context, builder, signature.args[2], given[2])
        _store(builder, _load(builder, source, given[3]), target, given[1])
        return context.get_dummy_value()

    return types.void(out, types.uint64, rows, types.uint64), generate


def _meet_all(typing: Any, out: Any, at: Any, rows: Any, refs: Any, start: Any, stop: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        target = _data(context, builder, signature.args[0], given[0])
        source = _data(context, builder, signature.args[2], given[2])
        numbers = _data(context, builder, signature.args[3], given[3])
        met = cgutils.alloca_once(builder, _ROW)  # type: ignore[no-untyped-call]
        builder.store(_load(builder, target, given[1]), met)
        one = ir.Constant(_I64, 1)
        with cgutils.for_range_slice(builder, given[4], given[5], one, intp=_I64) as (i, _):
            number = builder.zext(builder.load(builder.gep(numbers, [i])), _I64)
            row = _load(builder, source, builder.shl(number, ir.Constant(_I64, 3)))
            builder.store(builder.and_(builder.load(met), row), met)
        _store(builder, builder.load(met), target, given[1])
        return context.get_dummy_value()

    return types.void(out, types.uint64, rows, refs, types.uint64, types.uint64), generate


def _with_span(combine: Callable[[Any, Any, Any], Any]) -> Any:
    def typed(typing: Any, out: Any, at: Any, upto: Any, low: Any, high: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            target = _data(context, builder, signature.args[0], given[0])
            source = _data(context, builder, signature.args[2], given[2])
            low, high = _load(builder, source, given[3]), _load(builder, source, given[4])
            old = _load(builder, target, given[1])
            _store(builder, combine(builder, old, builder.xor(low, high)), target, given[1])
            return context.get_dummy_value()

        return types.void(out, types.uint64, upto, types.uint64, types.uint64), generate

    return typed


def _is_empty(typing: Any, rows: Any, row: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        found = _load(builder, _data(context, builder, signature.args[0], given[0]), given[1])
        whole = builder.bitcast(found, ir.IntType(64 * WORDS))
        return builder.icmp_unsigned("==", whole, ir.Constant(whole.type, 0))

    return types.boolean(rows, types.uint64), generate


def _tally(typing: Any, planes: Any, rows: Any, row: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        target = _data(context, builder, signature.args[0], given[0])
        source = _data(context, builder, signature.args[1], given[1])
        held = [_load(builder, target, ir.Constant(_I64, WORDS * bit)) for bit in range(LOW_BITS)]
        waiting: list[Any] = [None] * (LOW_BITS + 1)
        for i in range(2**LOW_BITS):
            bit = 0
            at = builder.add(given[2], ir.Constant(_I64, WORDS * i))
            carry = _load(builder, source, at)
            while waiting[bit] is not None:
                held[bit], carry = _full(builder, held[bit], waiting[bit], carry)
                waiting[bit] = None
                bit += 1
            waiting[bit] = carry
        for bit, plane in enumerate([*held, waiting[LOW_BITS]]):
            _store(builder, plane, target, ir.Constant(_I64, WORDS * bit))
        return context.get_dummy_value()

    return types.void(planes, rows, types.uint64), generate


def _transpose(typing: Any, rows: Any, row: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        data = _data(context, builder, signature.args[0], given[0])
        pointer = builder.gep(data, [given[1]])
        three = ir.Constant(_I64, 3)
        width, mask = 32, 0x0000_0000_FFFF_FFFF
        while width:
            masks = ir.Constant(_ROW, [mask] * WORDS)
            shifts = ir.Constant(_ROW, [width] * WORDS)
            low = ir.Constant(_I64, width - 1)
            high = ir.Constant(_I64, 2**64 - width)
            with cgutils.for_range(builder, ir.Constant(_I64, 32), intp=_I64) as loop:
                doubled = builder.shl(builder.and_(loop.index, high), ir.Constant(_I64, 1))
                upper = builder.or_(doubled, builder.and_(loop.index, low))
                lower = builder.add(upper, ir.Constant(_I64, width))
                x = _load(builder, pointer, builder.shl(upper, three))
                y = _load(builder, pointer, builder.shl(lower, three))
                swapped = builder.and_(builder.xor(builder.lshr(x, shifts), y), masks)
                _store(builder, builder.xor(y, swapped), pointer, builder.shl(lower, three))
                x = builder.xor(x, builder.shl(swapped, shifts))
                _store(builder, x, pointer, builder.shl(upper, three))
            width >>= 1
            mask ^= (mask << width) % 2**64 if width else 0
        return context.get_dummy_value()

    return types.void(rows, types.uint64), generate


def _write_codes(typing: Any, out: Any, at: Any, first: Any, mask: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        target = _data(context, builder, signature.args[0], given[0])
        codes = builder.add(_spread(builder, given[2]), ir.Constant(_CODES, list(range(16))))
        bits = builder.bitcast(builder.trunc(given[3], ir.IntType(16)), _MASK)
        compress = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call]
            builder.module,
            ir.FunctionType(_CODES, [_CODES, _MASK, _CODES]),
            "llvm.experimental.vector.compress.v16i32",
        )
        packed = builder.call(compress, [codes, bits, ir.Constant(_CODES, ir.Undefined)])
        _store(builder, packed, target, given[1], align=4)
        return context.get_dummy_value()

    return types.void(out, types.uint64, types.int32, types.uint64), generate


def _write_tagged(
    typing: Any,
    out: Any,
    at: Any,
    tags: Any,
    first: Any,
    word: Any,
    mask: Any,
    flags: Any,
    bits: Any,
) -> Any:
    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        target = _data(context, builder, signature.args[0], given[0])
        source = _data(context, builder, signature.args[2], given[2])
        mask, flags, shift = (_spread(builder, number, _ROW) for number in given[5:])
        compress = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call]
            builder.module,
            ir.FunctionType(_ROW, [_ROW, _EIGHT, _ROW]),
            "llvm.experimental.vector.compress.v8i64",
        )
        at, written = given[1], ir.Constant(_I64, 0)
        for i in range(0, 64, 8):
            place = ir.Constant(_I64, i)
            tagged = _load(builder, source, builder.add(given[3], place))
            held = builder.icmp_unsigned("==", builder.and_(tagged, mask), flags)
            byte = builder.trunc(builder.lshr(given[4], place), ir.IntType(8))
            chosen = builder.and_(builder.bitcast(byte, _EIGHT), held)
            handles = builder.lshr(tagged, shift)
            packed = builder.call(compress, [handles, chosen, ir.Constant(_ROW, ir.Undefined)])
            _store(builder, packed, target, at)
            bits = builder.zext(builder.bitcast(chosen, ir.IntType(8)), _I64)
            at = builder.add(at, builder.ctpop(bits))
            written = builder.or_(written, builder.shl(bits, place))
        return written

    integers = types.int64, types.int64, types.int64
    return types.uint64(out, types.uint64, tags, types.uint64, types.uint64, *integers), generate


def _compared(comparison: str) -> Any:
    def typed(typing: Any, numbers: Any, at: Any, bound: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            source = _data(context, builder, signature.args[0], given[0])
            bound = _spread(builder, given[2])
            found = ir.Constant(_I64, 0)
            for i in range(0, 64, 16):
                at = builder.add(given[1], ir.Constant(_I64, i))
                held = builder.icmp_signed(comparison, _load(builder, source, at, _CODES), bound)
                bits = builder.zext(builder.bitcast(held, ir.IntType(16)), _I64)
                found = builder.or_(found, builder.shl(bits, ir.Constant(_I64, i)))
            return found

        return types.uint64(numbers, types.uint64, types.int32), generate

    return typed


def _spread(builder: Any, number: Any, kind: Any = _CODES) -> Any:
    """The same number in every place."""
    lane = builder.insert_element(ir.Constant(kind, ir.Undefined), number, ir.Constant(_I32, 0))
    zeros = ir.Constant(ir.VectorType(_I32, kind.count), [0] * kind.count)
    return builder.shuffle_vector(lane, lane, zeros)


def _popcount(typing: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return builder.ctpop(given[0])

    return types.uint64(types.uint64), generate


def _lowest(typing: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return builder.cttz(given[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), generate


# -- the same in plain loops


def _plain_put(out, at, rows, row):  # type: ignore[no-untyped-def]
    for w in range(8):
        out[at + uint64(w)] = rows[row + uint64(w)]


def _plain_meet(out, at, rows, row):  # type: ignore[no-untyped-def]
    for w in range(8):
        out[at + uint64(w)] &= rows[row + uint64(w)]


def _plain_join(out, at, rows, row):  # type: ignore[no-untyped-def]
    for w in range(8):
        out[at + uint64(w)] |= rows[row + uint64(w)]


def _plain_drop(out, at, rows, row):  # type: ignore[no-untyped-def]
    for w in range(8):
        out[at + uint64(w)] &= ~rows[row + uint64(w)]


def _plain_meet_all(out, at, rows, refs, start, stop):  # type: ignore[no-untyped-def]
    for i in range(start, stop):
        for w in range(8):
            out[at + uint64(w)] &= rows[uint64(refs[i]) * uint64(8) + uint64(w)]


def _plain_meet_span(out, at, upto, low, high):  # type: ignore[no-untyped-def]
    for w in range(8):
        out[at + uint64(w)] &= upto[low + uint64(w)] ^ upto[high + uint64(w)]


def _plain_join_span(out, at, upto, low, high):  # type: ignore[no-untyped-def]
    for w in range(8):
        out[at + uint64(w)] |= upto[low + uint64(w)] ^ upto[high + uint64(w)]


def _plain_is_empty(rows, row):  # type: ignore[no-untyped-def]
    found = uint64(0)
    for w in range(8):
        found |= rows[row + uint64(w)]
    return found == uint64(0)


def _plain_tally(planes, rows, row):  # type: ignore[no-untyped-def]
    for w in range(8):
        planes[8 * LOW_BITS + w] = uint64(0)
    for i in range(2**LOW_BITS):
        for w in range(8):
            carry = rows[row + uint64(8 * i + w)]
            for bit in range(LOW_BITS):
                held = planes[8 * bit + w]
                planes[8 * bit + w] = held ^ carry
                carry &= held
            planes[8 * LOW_BITS + w] |= carry


def _plain_transpose(rows, row):  # type: ignore[no-untyped-def]
    for w in range(8):
        for i in range(64):
            for j in range(i):
                one = row + uint64(8 * i + w)
                two = row + uint64(8 * j + w)
                differ = (rows[one] >> uint64(j) ^ rows[two] >> uint64(i)) & uint64(1)
                rows[one] ^= differ << uint64(j)
                rows[two] ^= differ << uint64(i)


def _plain_write_codes(out, at, first, mask):  # type: ignore[no-untyped-def]
    place = at
    for i in range(16):
        if mask >> uint64(i) & uint64(1):
            out[place] = first + i
            place += uint64(1)


def _plain_write_tagged(out, at, tags, first, word, mask, flags, bits):  # type: ignore[no-untyped-def]
    place = at
    written = uint64(0)
    for i in range(64):
        tag = tags[first + uint64(i)]
        if word >> uint64(i) & uint64(1) and tag & mask == flags:
            out[place] = tag >> bits
            place += uint64(1)
            written |= uint64(1) << uint64(i)
    return written


def _plain_at_most(numbers, at, bound):  # type: ignore[no-untyped-def]
    found = uint64(0)
    for i in range(64):
        if numbers[at + uint64(i)] <= bound:
            found |= uint64(1) << uint64(i)
    return found


def _plain_at_least(numbers, at, bound):  # type: ignore[no-untyped-def]
    found = uint64(0)
    for i in range(64):
        if numbers[at + uint64(i)] >= bound:
            found |= uint64(1) << uint64(i)
    return found


def _plain_popcount(word):  # type: ignore[no-untyped-def]
    count = uint64(0)
    while word:
        word &= word - uint64(1)
        count += uint64(1)
    return count


def _plain_lowest(word):  # type: ignore[no-untyped-def]
    place = uint64(0)
    while place < uint64(64) and not word >> place & uint64(1):
        place += uint64(1)
    return place


_FORMS: Final[dict[str, tuple[Any, Any]]] = {
    "put": (_put, _plain_put),
    "meet": (_binary(_and), _plain_meet),
    "join": (_binary(_or), _plain_join),
    "drop": (_binary(_and_not), _plain_drop),
    "meet_all": (_meet_all, _plain_meet_all),
    "meet_span": (_with_span(_and), _plain_meet_span),
    "join_span": (_with_span(_or), _plain_join_span),
    "is_empty": (_is_empty, _plain_is_empty),
    "tally": (_tally, _plain_tally),
    "transpose": (_transpose, _plain_transpose),
    "write_codes": (_write_codes, _plain_write_codes),
    "write_tagged": (_write_tagged, _plain_write_tagged),
    "at_most": (_compared("<="), _plain_at_most),
    "at_least": (_compared(">="), _plain_at_least),
    "popcount": (_popcount, _plain_popcount),
    "lowest": (_lowest, _plain_lowest),
}
VECTOR: Final = {name: intrinsic(forms[0]) for name, forms in _FORMS.items()}
PLAIN: Final = {name: njit(error_model="numpy")(forms[1]) for name, forms in _FORMS.items()}
_USED: Final = PLAIN if config.BOUNDSCHECK else VECTOR  # type: ignore[attr-defined]

put: Any = _USED["put"]
"""put(out, at, rows, row): the row at `at` becomes that at `row`."""
meet: Any = _USED["meet"]
"""meet(out, at, rows, row): it becomes its AND with that at `row`."""
join: Any = _USED["join"]
"""join(out, at, rows, row): it becomes its OR with that at `row`."""
drop: Any = _USED["drop"]
"""drop(out, at, rows, row): it loses what the row at `row` has."""
meet_all: Any = _USED["meet_all"]
"""meet_all(out, at, rows, refs, start, stop): AND with the rows numbered refs[start:stop]."""
meet_span: Any = _USED["meet_span"]
"""meet_span(out, at, upto, low, high): AND with what the row at `high` has and `low` has not."""
join_span: Any = _USED["join_span"]
"""join_span(out, at, upto, low, high): OR with what the row at `high` has and `low` has not."""
is_empty: Any = _USED["is_empty"]
"""is_empty(rows, row): whether no event is in the row."""
tally: Any = _USED["tally"]
"""tally(planes, rows, row): add 64 rows to the counters of 512 events, bit by bit.

Rows 0 to 5 of `planes` hold the last six bits of each event's count; row 6 is set to the carry, 64
each. A Harley-Seal counter, turned by 90 degrees."""
transpose: Any = _USED["transpose"]
"""transpose(rows, row): of 64 rows, each column of words is turned as a matrix of 64×64 bits."""
write_codes: Any = _USED["write_codes"]
"""write_codes(out, at, first, mask): the codes first + i of the bits i of 16, side by side.

Sixteen places of `out` may be overwritten, whatever the mask."""
write_tagged: Any = _USED["write_tagged"]
"""write_tagged(out, at, tags, first, word, mask, flags, bits): handles side by side.

A tag is a handle and, in so many `bits` at the end, flags. Of the 64 tags from `first` on that are
in the word, the handles of those are written whose flags under the mask are these; returns which
they are. Eight places of `out` behind the last one may be overwritten."""
at_most: Any = _USED["at_most"]
"""at_most(numbers, at, bound): which of the 64 numbers from `at` on are at most that."""
at_least: Any = _USED["at_least"]
"""at_least(numbers, at, bound): which of the 64 numbers from `at` on are at least that."""
popcount: Any = _USED["popcount"]
"""popcount(word): how many bits are set."""
lowest: Any = _USED["lowest"]
"""lowest(word): the place of the lowest bit that is set; 64 if there is none."""
