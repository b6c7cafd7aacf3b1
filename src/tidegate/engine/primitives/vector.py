"""What do 512 events say at once?

A **row** is eight 64-bit words: one bit for each of 512 events. The functions here work on whole
rows, which lie in flat arrays of words, one after the other; a position is that of a row's first
word. They are written as LLVM vectors of eight words, which every processor has in some form: one
instruction where it has 512-bit registers, a few where it has not. Left to itself, LLVM does not
find these vectors in loops over words. What each of them does is said in `vector_reference`.

They do not check bounds. With `NUMBA_BOUNDSCHECK=1` (as a test runs the kernels), and as a second
opinion in the tests, the plain loops of `vector_reference` stand in for them; both do the same.
"""

from collections.abc import Callable
from typing import Any, Final

from llvmlite import ir  # type: ignore[import-untyped]
from numba import config, njit, types
from numba.core import cgutils
from numba.core.codegen import get_host_cpu_features
from numba.extending import intrinsic

from tidegate.engine.primitives import vector_reference
from tidegate.engine.primitives.vector_reference import LOW_BITS

WORDS: Final = 8
"""The words of a row."""
EVENTS: Final = 512
"""The events of a block: the bits of a row."""

_I64 = ir.IntType(64)
_I32 = ir.IntType(32)
_ROW = ir.VectorType(_I64, WORDS)
_CODES = ir.VectorType(_I32, 16)
_MASK = ir.VectorType(ir.IntType(1), 16)
_EIGHT = ir.VectorType(ir.IntType(1), 8)
_BYTES = ir.VectorType(ir.IntType(8), 64)
_BITS = ir.VectorType(ir.IntType(1), 64)
_LINE_MASK = ir.Constant(_I64, 15)  # of 16 integers, which are a line of the cache
_FEATURES: Final = config.CPU_FEATURES or get_host_cpu_features()  # type: ignore[attr-defined,no-untyped-call]
_PACKS_BYTES: Final = "+avx512vbmi2" in _FEATURES


def _data(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    return context.make_array(kind)(context, builder, array).data


def _load(builder: Any, pointer: Any, at: Any, kind: Any = _ROW) -> Any:
    place = builder.bitcast(builder.gep(pointer, [at]), ir.PointerType(kind))
    loaded = builder.load(place)
    loaded.align = kind.element.width // 8
    return loaded


def _store(
    builder: Any, value: Any, pointer: Any, at: Any, align: int = 8, past_cache: bool = False
) -> None:
    place = builder.bitcast(builder.gep(pointer, [at]), ir.PointerType(value.type))
    stored = builder.store(value, place)
    stored.align = align
    if past_cache:
        stored.set_metadata("nontemporal", builder.module.add_metadata([ir.Constant(_I32, 1)]))


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


def _write_codes(typing: Any, out: Any, at: Any, first: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        target = _data(context, builder, signature.args[0], given[0])
        base = _spread(builder, given[2])
        if _PACKS_BYTES:
            _write_packed(builder, target, given[1], base, given[3])
        else:
            _write_quarters(builder, target, given[1], base, given[3])
        return builder.ctpop(given[3])

    return types.uint64(out, types.uint64, types.int32, types.uint64), generate


def _write_packed(builder: Any, target: Any, at: Any, base: Any, word: Any) -> None:
    """Pack the places of all bits at once, as bytes; then make codes of as many as there are."""
    places = ir.Constant(_BYTES, list(range(64)))
    packed = _compressed(builder, places, builder.bitcast(word, _BITS))
    count = builder.ctpop(word)

    def write(part: int) -> None:
        lanes = ir.Constant(_CODES, list(range(16 * part, 16 * part + 16)))
        codes = builder.zext(builder.shuffle_vector(packed, packed, lanes), _CODES)
        place = builder.add(at, ir.Constant(_I64, 16 * part))
        _store(builder, builder.add(codes, base), target, place, align=4)

    write(0)
    with builder.if_then(builder.icmp_unsigned(">", count, ir.Constant(_I64, 16))):
        write(1)
        with builder.if_then(builder.icmp_unsigned(">", count, ir.Constant(_I64, 32))):
            write(2)
            write(3)


def _write_quarters(builder: Any, target: Any, at: Any, base: Any, word: Any) -> None:
    """Pack 16 codes at a time."""
    for i in range(0, 64, 16):
        codes = builder.add(base, ir.Constant(_CODES, list(range(i, i + 16))))
        quarter = builder.trunc(builder.lshr(word, ir.Constant(_I64, i)), ir.IntType(16))
        packed = _compressed(builder, codes, builder.bitcast(quarter, _MASK))
        _store(builder, packed, target, at, align=4)
        at = builder.add(at, builder.ctpop(builder.zext(quarter, _I64)))


def _compressed(builder: Any, lanes: Any, chosen: Any) -> Any:
    """The lanes that are chosen, side by side, and anything behind them."""
    kind = lanes.type
    compress = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call]
        builder.module,
        ir.FunctionType(kind, [kind, chosen.type, kind]),
        f"llvm.experimental.vector.compress.v{kind.count}i{kind.element.width}",
    )
    return builder.call(compress, [lanes, chosen, ir.Constant(kind, ir.Undefined)])


def _write_same(typing: Any, out: Any, at: Any, stop: Any, number: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        target = _data(context, builder, signature.args[0], given[0])
        numbers = _spread(builder, given[3])
        step = ir.Constant(_I64, 16)
        with cgutils.for_range_slice(builder, given[1], given[2], step, intp=_I64) as (i, _):
            _store(builder, numbers, target, i, align=4)
        return context.get_dummy_value()

    return types.void(out, types.uint64, types.uint64, types.int32), generate


def _stream_same(typing: Any, out: Any, at: Any, stop: Any, number: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        target = _data(context, builder, signature.args[0], given[0])
        _, at, stop, number = given
        one, line = ir.Constant(_I64, 1), ir.Constant(_I64, 16)

        def write(start: Any, end: Any) -> None:
            with cgutils.for_range_slice(builder, start, end, one, intp=_I64) as (i, _):
                builder.store(number, builder.gep(target, [i]))

        bytes_in = builder.ptrtoint(builder.gep(target, [at]), _I64)
        lead = builder.and_(builder.lshr(builder.neg(bytes_in), ir.Constant(_I64, 2)), _LINE_MASK)
        first = builder.add(at, lead)
        first = builder.select(builder.icmp_unsigned("<", first, stop), first, stop)
        length = builder.sub(stop, first)
        last = builder.sub(stop, builder.and_(length, _LINE_MASK))
        write(at, first)
        numbers = _spread(builder, number)
        with cgutils.for_range_slice(builder, first, last, line, intp=_I64) as (i, _):
            _store(builder, numbers, target, i, align=64, past_cache=True)
        write(last, stop)
        builder.fence("seq_cst")
        return context.get_dummy_value()

    return types.void(out, types.uint64, types.uint64, types.int32), generate


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
        at, written = given[1], ir.Constant(_I64, 0)
        for i in range(0, 64, 8):
            place = ir.Constant(_I64, i)
            tagged = _load(builder, source, builder.add(given[3], place))
            held = builder.icmp_unsigned("==", builder.and_(tagged, mask), flags)
            byte = builder.trunc(builder.lshr(given[4], place), ir.IntType(8))
            chosen = builder.and_(builder.bitcast(byte, _EIGHT), held)
            handles = builder.lshr(tagged, shift)
            _store(builder, _compressed(builder, handles, chosen), target, at)
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


def _below(typing: Any, numbers: Any, at: Any, bound: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        line = _load(builder, _data(context, builder, signature.args[0], given[0]), given[1])
        held = builder.icmp_signed("<", line, _spread(builder, given[2], _ROW))
        return builder.ctpop(builder.zext(builder.bitcast(held, ir.IntType(8)), _I64))

    return types.uint64(numbers, types.uint64, types.int64), generate


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


VECTOR: Final = {
    name: intrinsic(form)
    for name, form in {
        "put": _put,
        "meet": _binary(_and),
        "join": _binary(_or),
        "drop": _binary(_and_not),
        "meet_all": _meet_all,
        "meet_span": _with_span(_and),
        "join_span": _with_span(_or),
        "is_empty": _is_empty,
        "tally": _tally,
        "transpose": _transpose,
        "write_codes": _write_codes,
        "write_same": _write_same,
        "stream_same": _stream_same,
        "write_tagged": _write_tagged,
        "at_most": _compared("<="),
        "at_least": _compared(">="),
        "below": _below,
        "popcount": _popcount,
        "lowest": _lowest,
    }.items()
}
PLAIN: Final = {name: njit(error_model="numpy")(getattr(vector_reference, name)) for name in VECTOR}
_USED: Final = PLAIN if config.BOUNDSCHECK else VECTOR  # type: ignore[attr-defined]

put: Any = _USED["put"]
meet: Any = _USED["meet"]
join: Any = _USED["join"]
drop: Any = _USED["drop"]
meet_all: Any = _USED["meet_all"]
meet_span: Any = _USED["meet_span"]
join_span: Any = _USED["join_span"]
is_empty: Any = _USED["is_empty"]
tally: Any = _USED["tally"]
transpose: Any = _USED["transpose"]
write_codes: Any = _USED["write_codes"]
write_same: Any = _USED["write_same"]
stream_same: Any = _USED["stream_same"]
write_tagged: Any = _USED["write_tagged"]
at_most: Any = _USED["at_most"]
at_least: Any = _USED["at_least"]
below: Any = _USED["below"]
popcount: Any = _USED["popcount"]
lowest: Any = _USED["lowest"]
