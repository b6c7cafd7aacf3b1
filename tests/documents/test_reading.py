"""Documents as arrays: what lxml sees is what they hold, and what is hostile is refused."""

import os
import random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from tidegate.documents import tree
from tidegate.documents.reading import prolog
from tidegate.documents.reading.documents import Documents
from tidegate.documents.reading.limits import LIMITS, Limits
from tidegate.documents.reading.reader import Reader, read_documents
from tidegate.documents.reading.rows import rows_of
from tidegate.errors import DocumentError, TidegateError
from tidegate.lab.workloads.dtds import data_folder

LONG = os.environ.get("TIDEGATE_LONG") == "1"


def tree_of(document: bytes) -> etree._Element:
    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True)
    return etree.fromstring(document, parser)


def as_lxml_has_it(root: etree._Element) -> list[tuple[object, ...]]:
    """Of each element in document order: name, parent, last inside, attributes, texts, value."""
    elements = [each for each in root.iter() if isinstance(each.tag, str)]
    places = {each: place for place, each in enumerate(elements)}
    return [
        (
            each.tag,
            places.get(each.getparent(), -1),
            max(places[inner] for inner in each.iter() if isinstance(inner.tag, str)),
            dict(each.attrib),
            each.xpath("text()"),
            each.xpath("string()"),
        )
        for each in elements
    ]


def as_we_have_it(documents: Documents, row: int) -> list[tuple[object, ...]]:
    arrays, elements = documents.arrays, documents.elements(row)
    start = elements.start
    return [
        (
            documents.label(arrays.name[e]),
            max(int(arrays.parent[e]) - start, -1),
            int(arrays.last[e]) - start,
            documents.attributes(e),
            documents.texts(e),
            documents.value(e),
        )
        for e in elements
    ]


# -- documents at random

names = st.sampled_from(["a", "b", "c", "long-name.1", "é", "p:a", "q:b"])
MARKUP = ("&lt;", "&amp;", "&#65;", "&#x1D11E;", "<!--c-->", "<?p q?>", "<![CDATA[<&]]>", "]]")
pieces = st.sampled_from((*MARKUP, "x", " ", "\n", "é", "𝄞", "1.5", "\r\n", "\t"))
values = st.lists(
    st.sampled_from(["x", "1", " ", "&quot;", "&#10;", "\n", "é", ">", "'"]), max_size=4
)


@st.composite
def elements(draw: st.DrawFn, depth: int = 0) -> str:
    name = draw(names)
    attributes = draw(st.dictionaries(names, values, max_size=3))
    shown = "".join(f' {key}="{"".join(value)}"' for key, value in attributes.items())
    inner = st.one_of(pieces, elements(depth + 1)) if depth < 4 else pieces
    content = "".join(draw(st.lists(inner, max_size=4)))
    return f"<{name}{shown}>{content}</{name}>" if content else f"<{name}{shown}/>"


@st.composite
def whole_documents(draw: st.DrawFn) -> bytes:
    root = draw(elements())
    spaces = draw(
        st.sampled_from(["", ' xmlns:p="u" xmlns:q="http://v"', ' xmlns="d" xmlns:p="d"'])
    )
    end = min(root.index(">"), root.index(" ") if " " in root else len(root))
    end -= root[end - 1] == "/"
    head = draw(st.sampled_from(["", "<?xml version='1.0'?>", "<!--x-->\n", "<!DOCTYPE a>"]))
    return (head + root[:end] + spaces + root[end:]).encode()


@given(st.lists(whole_documents(), max_size=5))
def test_what_lxml_sees_is_what_the_arrays_hold(documents: list[bytes]) -> None:
    read = read_documents(documents)
    for row, document in enumerate(documents):
        try:
            root = tree_of(document)
        except etree.XMLSyntaxError:
            assert row in read.refused, document
            assert not read.elements(row)
        else:
            assert row not in read.refused, (document, read.refused)
            assert as_we_have_it(read, row) == as_lxml_has_it(root)


@given(st.lists(whole_documents(), min_size=1, max_size=3), st.integers(0, 2**32))
def test_a_damaged_document_is_refused_where_lxml_refuses_it(
    documents: list[bytes], seed: int
) -> None:
    rng = random.Random(seed)
    damaged = []
    for document in documents:
        data = bytearray(document)
        for _ in range(rng.randint(1, 2)):
            at = rng.randrange(len(data))
            match rng.randrange(3):
                case 0:
                    del data[at]
                case 1:
                    data.insert(at, rng.choice(b"<>/&=\"' ax]-\x00\xff;"))
                case _:
                    data[at] = rng.choice(b"<>/&=\"' ax]-\x00\xff;")
        damaged.append(bytes(data))
    read = read_documents(damaged)
    for row, document in enumerate(damaged):
        try:
            root = tree_of(document)
        except etree.XMLSyntaxError:
            continue  # lxml is stricter about addresses of namespaces, and we about subsets
        if row not in read.refused:
            assert as_we_have_it(read, row) == as_lxml_has_it(root)
        else:
            assert b"<!" in document or b"<?" in document or b"xmlns" in document, (
                document,
                read.refused[row],
            )


# -- layouts

DOCUMENTS = [b"<a>1</a>", b"<b c='d'/>", b"<a", b"<e><f/>g</e>"] * 3


@pytest.mark.parametrize(
    "kind", [pa.binary(), pa.large_binary(), pa.string(), pa.large_string(), pa.binary_view()]
)
def test_columns_of_all_kinds_hold_the_same(kind: pa.DataType) -> None:
    column = pa.array(DOCUMENTS, pa.binary()).cast(pa.string()).cast(kind)
    expected = read_documents(DOCUMENTS)
    for layout in (column, pa.chunked_array([column[:5], column[5:5], column[5:]])):
        read = read_documents(layout)
        assert read.refused == expected.refused
        assert [as_we_have_it(read, row) for row in range(12)] == [
            as_we_have_it(expected, row) for row in range(12)
        ]
    assert [as_we_have_it(read_documents(column[3:]), row) for row in range(9)] == [
        as_we_have_it(expected, row) for row in range(3, 12)
    ]


def test_a_null_is_refused_and_its_neighbours_are_read() -> None:
    read = read_documents(pa.array([b"<a/>", None, b"<b/>"]))
    assert read.refused == {1: "there is no document: it is null"}
    assert [len(read.elements(row)) for row in range(3)] == [1, 0, 1]


@pytest.mark.parametrize("given", [b"<a/>", "<a/>", 1, [1], [b"<a/>", "<a/>"], pa.array([1])])
def test_what_is_no_batch_is_refused(given: object) -> None:
    with pytest.raises(TidegateError, match="document"):
        read_documents(given)


def test_a_reader_forgets_nothing_but_what_it_read_before() -> None:
    reader, rng = Reader(), random.Random(3)
    for size in (1, 40, 3, 2_000, 5):
        batch = [
            f"<r>{''.join(f'<n{rng.randrange(9_000)}/>' for _ in range(20))}</r>".encode()
            for _ in range(size)
        ]
        read = reader.read(rows_of(batch))
        row = rng.randrange(size)
        assert as_we_have_it(read, row) == as_lxml_has_it(tree_of(batch[row]))


# -- encodings


@pytest.mark.parametrize(
    ("declared", "codec"),
    [
        ("UTF-8", "utf-8"),
        ("utf-8", "utf-8-sig"),
        ("UTF-16", "utf-16"),
        ("ISO-8859-1", "latin-1"),
        ("windows-1252", "cp1252"),
        ("KOI8-R", "koi8-r"),
        ("Shift_JIS", "shift_jis"),
    ],
)
def test_encodings_are_read_as_declared(declared: str, codec: str) -> None:
    word = {"koi8-r": "Слово", "shift_jis": "日本語"}.get(codec, "Größe")
    document = f'<?xml version="1.0" encoding="{declared}"?><a b="{word}">{word}</a>'
    read = read_documents([document.encode(codec)])
    assert not read.refused
    assert read.attributes(0) == {"b": word}
    assert read.value(0) == word
    assert tree.read(document.encode(codec)).value == word


def test_a_text_is_what_it_is_whatever_it_declares() -> None:
    read = read_documents(['<?xml version="1.0" encoding="ISO-8859-1"?><a>é</a>'])
    assert read.value(0) == "é"


LIES = {
    "UTF-16 that is not": b'<?xml version="1.0" encoding="UTF-16"?><a/>',
    "UTF-16 without the half of it": "<a/>".encode("utf-16")[:-1],
    "UTF-16 that says UTF-8": '<?xml version="1.0" encoding="UTF-8"?><a/>'.encode("utf-16"),
    "a mark of UTF-8 before Latin-1": b'\xef\xbb\xbf<?xml version="1.0" encoding="latin1"?><a/>',
    "Latin-1 that says nothing": "<a>Größe</a>".encode("latin-1"),
    "Latin-1 that says UTF-8": '<?xml version="1.0" encoding="UTF-8"?><a>é</a>'.encode("latin-1"),
    "ASCII that is not": '<?xml version="1.0" encoding="US-ASCII"?><a>é</a>'.encode(),
    "a codec that is no encoding": b'<?xml version="1.0" encoding="rot13"?><a/>',
    "a lie after many spaces": (
        b'<?xml version="1.0"' + b" " * 5_000 + 'encoding="ASCII"?><a>é</a>'.encode()
    ),
    "the same in UTF-16": ('<?xml version="1.0"' + " " * 5_000 + 'encoding="UTF-8"?><a/>').encode(
        "utf-16"
    ),
    "UTF-7": b'<?xml version="1.0" encoding="UTF-7"?>+ADw-a/+AD4-',
    "UTF-32": "<a/>".encode("utf-32"),
    "EBCDIC": '<?xml version="1.0" encoding="cp037"?><a/>'.encode("cp037"),
    "NUL": b"<a>\x00</a>",
    "NUL in a name": b"<a\x00b/>",
    "NUL as a reference": b"<a>&#0;</a>",
    "NUL at the end": b"<a/>\x00",
    "an overlong character": b"<a>\xc0\xbc</a>",
    "half a character": b"<a>\xc3</a>",
    "a surrogate": b"<a>\xed\xa0\x80</a>",
    "half a document": b"<a><b>c</b>",
    "half a tag": b"<a",
    "nothing": b"",
    "a space": b" ",
    "two documents": b"<a/><a/>",
    "zeros": bytes(1000),
}


@pytest.mark.parametrize("document", LIES.values(), ids=LIES.keys())
def test_broken_documents_are_refused_with_a_reason(document: bytes) -> None:
    read = read_documents([b"<a/>", document, b"<b/>"])
    assert list(read.refused) == [1]
    assert read.refused[1]
    assert [len(read.elements(row)) for row in range(3)] == [1, 0, 1]


# -- hostile documents

LAUGHS = (
    "<!DOCTYPE l [<!ENTITY l0 'lol'>"
    + "".join(f"<!ENTITY l{n} '{f'&l{n - 1};' * 10}'>" for n in range(1, 10))
    + "]><l>&l9;</l>"
)
HOSTILE = {
    "billion laughs": LAUGHS.encode(),
    "billion laughs in UTF-16": LAUGHS.encode("utf-16"),
    "billion laughs after a comment": b"<!-- <a> --> <?p <!DOCTYPE a> ?>" + LAUGHS.encode(),
    "an external entity": b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>',
    "a parameter entity": b'<!DOCTYPE a [<!ENTITY % x SYSTEM "http://127.0.0.1:9/">%x;]><a/>',
    "an entity of an external subset": b'<!DOCTYPE a SYSTEM "a.dtd"><a>&nbsp;</a>',
    "one in an attribute": b'<!DOCTYPE a PUBLIC "-//A" "a.dtd"><a b="&nbsp;"/>',
    "an undeclared entity": b"<a>&nbsp;</a>",
    "an unbound prefix": b"<p:a/>",
    "two colons": b'<p:a:b xmlns:p="u"/>',
    "the same attribute twice by two prefixes": b'<a xmlns:p="u" xmlns:q="u" p:b="" q:b=""/>',
    "an attribute list": b"<!DOCTYPE a [<!ATTLIST a b CDATA 'c'>]><a/>",
    "a declaration that is none": b"<!DOCTYPE><a/>",
    "a subset in disguise": b"<!DOCTYPE a SYSTEM 'x' [<!ENTITY b 'c'>]><a>&b;</a>",
    "a subset in an odd place": b"<!DOCTYPE a <!ENTITY b 'c'> []><a/>",
}


@pytest.mark.parametrize("document", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_documents_are_refused_before_they_can_do_harm(document: bytes) -> None:
    assert list(read_documents([document]).refused) == [0]


def test_a_document_type_without_a_subset_is_allowed() -> None:
    document = b'<!DOCTYPE a PUBLIC "-//X//Y" "http://127.0.0.1:9/a.dtd"><a>&amp;</a>'
    read = read_documents([document])
    assert not read.refused
    assert read.value(0) == "&"


LIMITED = {
    "levels": (b"<a>" * 10**5 + b"</a>" * 10**5, "more than 256 elements are in each other"),
    "attributes": (
        b"<a " + b" ".join(b"b%d=''" % n for n in range(10**6 if LONG else 10**4)) + b"/>",
        "an element has more than 4,096 attributes",
    ),
    "size": (
        b"<a>" + b"x" * (100 * 2**20 if LONG else 17 * 2**20) + b"</a>",
        "16,777,216 are allowed",
    ),
    "names": (b"<" + b"a" * 5_000 + b"/>", "a name has more than 1,024 bytes"),
    "elements": (b"<r>" + b"<a/>" * 2**18 + b"</r>", "it has more than 262,144 elements"),
    "declarations of namespaces": (
        b"<a " + b" ".join(b"xmlns:p%d='u'" % n for n in range(5_000)) + b"/>",
        "an element has more than 4,096 attributes",
    ),
}


@pytest.mark.parametrize(("document", "reason"), LIMITED.values(), ids=LIMITED.keys())
def test_what_is_beyond_a_limit_is_refused_with_the_reason(document: bytes, reason: str) -> None:
    read = read_documents([b"<a/>", document, b"<a/>"])
    assert list(read.refused) == [1]
    assert reason in read.refused[1]
    assert len(read.arrays.name) == 2


@pytest.mark.parametrize(("document", "reason"), LIMITED.values(), ids=LIMITED.keys())
def test_within_larger_limits_the_same_is_read(document: bytes, reason: str) -> None:
    read = read_documents([document], Limits(2**28, 2**17, 2**21, 10**4, 2**20))
    assert not read.refused
    assert int(read.arrays.last[0]) == len(read.arrays.name) - 1


MANY = "=" * 50
FEW_ATTRIBUTES = [
    f"<a b='{MANY}' c=\"{MANY}>{MANY}\">{MANY}</a>",
    f"<!-- <a {MANY}> --><a><!--{MANY}--><b>{MANY}</b></a>",
    f"<a><![CDATA[<b {MANY}>]]]></a>".replace("]]]>", "]] > ]]>"),
    f"<?p <a {MANY}?><a><?q {MANY}??></a>",
    f"<!DOCTYPE a PUBLIC '{MANY}' '{MANY}'><a b='&lt;{MANY}'/>",
    "<a b='' c='' d=''>" + "<e b='' c='' d=''/>" * 20 + "</a>",
]
MANY_ATTRIBUTES = [
    "<a b='' c='' d='' e=''/>",
    "<!-- ' --><r><?p \"?><![CDATA[']]><a b='>' c = \"'\" d\n=\n'' e=''/></r>",
    "<r>'<b/>\"<a b='' c='' xmlns='' xmlns:p='u'></a></r>",
    "<!DOCTYPE r SYSTEM \"'\"><r b='' c='' d='' e=''/>",
]


def test_attributes_are_counted_before_they_are_read() -> None:
    limits, wanted = Limits(attributes=3), "an element has more than 3 attributes"
    for encoding in ("utf-8", "utf-16"):
        few = read_documents([text.encode(encoding) for text in FEW_ATTRIBUTES], limits)
        assert not few.refused
        many = read_documents([text.encode(encoding) for text in MANY_ATTRIBUTES], limits)
        assert many.refused == dict.fromkeys(range(len(MANY_ATTRIBUTES)), wanted)
    for text in FEW_ATTRIBUTES:
        assert not prolog.is_crowded(text.encode(), 3)
    for text in MANY_ATTRIBUTES:
        assert prolog.is_crowded(text.encode(), 3)
    for broken in ("<!--" + MANY, "<![CDATA[" + MANY, "<a b='" + MANY, "<?" + MANY, MANY, "<"):
        assert not prolog.is_crowded(broken.encode(), 3)
        assert read_documents([broken], limits).refused


@given(st.lists(whole_documents(), min_size=1, max_size=3), st.integers(1, 4))
def test_both_ways_count_the_same_attributes(documents: list[bytes], most: int) -> None:
    reason = f"an element has more than {most:,} attributes"
    read = read_documents(documents, Limits(attributes=most))
    for row, document in enumerate(documents):
        assert (read.refused.get(row) == reason) == prolog.is_crowded(document, most)
        if row not in read.refused:
            assert max(len(each.attrib) for each in tree_of(document).iter("*")) <= most


def test_limits_are_numbers_that_make_sense() -> None:
    with pytest.raises(ValueError, match="'depth' is a number from 1 to"):
        Limits(depth=0)
    assert LIMITS.depth == 256


def test_many_names_are_told_apart() -> None:
    inner = b"".join(b"<n%d a%d='%d'/>" % (n, n, n) for n in range(5_000))
    read = read_documents([b"<r>" + inner + b"</r>"] * 2)
    assert not read.refused
    assert np.array_equal(read.arrays.name[:5_001], read.arrays.name[5_001:])
    assert [read.attributes(e + 1) for e in (0, 17, 4_999)] == [
        {f"a{n}": str(n)} for n in (0, 17, 4_999)
    ]


@pytest.mark.parametrize("kind", [LIES, HOSTILE, {n: own for n, (own, _) in LIMITED.items()}])
def test_the_plain_way_to_a_document_refuses_what_this_one_refuses(kind: dict[str, bytes]) -> None:
    for document in kind.values():
        with pytest.raises(DocumentError):
            tree.read(document)


DATA = data_folder() / "xml" / "nitf-documents.tar.gz"
if DATA.exists():

    def test_the_documents_of_the_field_are_what_lxml_sees() -> None:
        import tarfile

        with tarfile.open(DATA) as archive:
            files = [archive.extractfile(member) for member in archive]
            documents = [file.read() for file in files if file is not None]
        read = read_documents(documents)
        assert not read.refused
        for row, document in enumerate(documents):
            assert as_we_have_it(read, row) == as_lxml_has_it(tree_of(document))
