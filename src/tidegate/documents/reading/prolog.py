"""What has to be done with a document before expat may see it?

Nothing, if it is UTF-8 and has no document type declaration. Of the others:

- **Encodings.** All go to expat as UTF-8. What begins with a byte order mark, or with the zeros of
  UTF-16, is that; otherwise what the XML declaration says, of a list of encodings. A document whose
  declaration and bytes do not agree is refused. A document that comes as text (a string column) has
  been decoded by somebody else, and what it declares means nothing.
- **Document types.** A declaration without more is allowed. An internal subset is refused before
  anything is parsed, because it may declare entities: a thousand bytes of them burn half a second
  before expat's own limit stops it, and it cannot be interrupted. An external subset is never
  fetched. It is blanked out, so that references to what it might declare are errors: expat would
  drop them from the text silently.
"""

import codecs
import re
from typing import Final

_CHARMAPS: Final = {f"iso8859-{n}" for n in range(1, 17) if n != 12} | {
    f"cp125{n}" for n in range(9)
}
_OTHERS: Final = {"koi8-r", "koi8-u", "shift_jis", "euc_jp", "gb2312", "gbk", "gb18030", "big5"}
_UNICODE: Final = {"ascii", "utf-8", "utf-16", "utf-16-le", "utf-16-be"}
_ENCODINGS: Final = _CHARMAPS | _OTHERS | _UNICODE | {"euc_kr", "cp932", "cp949", "cp950"}
_WIDE: Final = {"utf-16", "utf-16-le", "utf-16-be"}
_BOMS: Final = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_DECLARATION: Final = re.compile(
    rb"""<\?xml[ \t\r\n][^>]*?encoding[ \t\r\n]*=[ \t\r\n]*"""
    rb"""["']([A-Za-z][A-Za-z0-9._-]{0,40})["']"""
)
_SPACE: Final = re.compile(rb"[ \t\r\n]*")
_DOCTYPE: Final = re.compile(rb"<!DOCTYPE[ \t\r\n]+[^ \t\r\n\[\]<>\"'&]+")
_EXTERNAL: Final = re.compile(
    rb"""[ \t\r\n]+(?:SYSTEM|PUBLIC[ \t\r\n]+(?:"[-a-zA-Z0-9 \r\n'()+,./:=?;!*#@$_%]*"|"""
    rb"""'[-a-zA-Z0-9 \r\n()+,./:=?;!*#@$_%]*'))[ \t\r\n]+(?:"[^"]*"|'[^']*')"""
)
_CLOSE: Final = re.compile(rb"[ \t\r\n]*>")
_PASSED_OVER: Final = ((b"<!--", b"-->"), (b"<![CDATA[", b"]]>"), (b"<?", b"?>"))
_QUOTED: Final = re.compile(rb"""\"[^"]*+\"|'[^']*+'""")
_TAG: Final = re.compile(rb"""<[^"'>]*+(?:(?:\"[^"]*+\"|'[^']*+')[^"'>]*+)*+>""")
_SUBSET: Final = re.compile(rb"[ \t\r\n]*\[")


class UnreadableError(Exception):
    """Why a document is not parsed."""


def prepared(document: bytes, *, is_text: bool, most: int) -> bytes:
    """The document as it may be parsed: UTF-8, without anything that declares entities.

    >>> prepared(b'<!DOCTYPE a SYSTEM "http://example.com/a.dtd"><a/>', is_text=False, most=1000)
    b'<!DOCTYPE a                                   ><a/>'
    >>> prepared("<a>ä</a>".encode("utf-16"), is_text=False, most=1000).decode()
    '<a>ä</a>'
    >>> prepared(b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', is_text=False, most=1000)
    Traceback (most recent call last):
    ...
    tidegate.documents.reading.prolog.UnreadableError: it declares entities or the like: ...
    """
    plain = document if is_text else _as_utf_8(document)
    if len(plain) > most:
        raise UnreadableError(f"it has {len(plain):,} bytes as UTF-8, and {most:,} are allowed")
    start = _doctype(plain)
    if start is None:
        return plain
    named = _DOCTYPE.match(plain, start)
    if named is None:
        raise UnreadableError("its document type declaration cannot be read")
    external = _EXTERNAL.match(plain, named.end())
    end = named.end() if external is None else external.end()
    if _SUBSET.match(plain, end):
        raise UnreadableError("it declares entities or the like: an internal subset is not allowed")
    if not _CLOSE.match(plain, end):
        raise UnreadableError("its document type declaration cannot be read")
    return plain[: named.end()] + b" " * (end - named.end()) + plain[end:]


def is_crowded(plain: bytes, most: int) -> bool:
    """Whether an element has more attributes, declarations of namespaces included.

    >>> is_crowded(b"<!-- <a b='' c=''> --><a b='c=d=e'/>", 1), is_crowded(b"<a b='' c=''/>", 1)
    (False, True)
    """
    if plain.count(b"=") <= most:
        return False
    place = plain.find(b"<")
    while place >= 0:
        for start, end in _PASSED_OVER:
            if plain.startswith(start, place):
                stop = plain.find(end, place + len(start))
                break
        else:
            tag = _TAG.match(plain, place)
            stop = -1 if tag is None else tag.end()
            if (
                tag is not None
                and len(tag[0]) > most
                and _QUOTED.sub(b"", tag[0]).count(b"=") > most
            ):
                return True
        place = -1 if stop < 0 else plain.find(b"<", stop)
    return False


def _doctype(plain: bytes) -> int | None:
    """Where the document type declaration starts, if there is one: before the first element."""
    place = 0
    while True:
        space = _SPACE.match(plain, place)
        place = place if space is None else space.end()
        if plain.startswith(b"<!--", place):
            end, width = plain.find(b"-->", place + 4), 3
        elif plain.startswith(b"<?", place):
            end, width = plain.find(b"?>", place + 2), 2
        else:
            return place if plain.startswith(b"<!", place) else None
        if end < 0:
            return None
        place = end + width


def _as_utf_8(document: bytes) -> bytes:
    """The document as UTF-8, without a byte order mark."""
    sure, start = _marked(document)
    if sure == "utf-32":
        raise UnreadableError("its encoding is UTF-32, which is not read")
    if sure in _WIDE:
        text = _decoded(document[start:], sure)
        declared = _declared(text.partition("?>")[0].encode("utf-8", "replace"))
        if declared is not None and declared not in _WIDE:
            raise UnreadableError(f"it says that it is {declared}, and is UTF-16")
        return text.encode()
    document = document[start:]
    declared = _declared(document) or "utf-8"
    if sure == "utf-8" and declared != "utf-8":
        raise UnreadableError(f"it says that it is {declared}, and begins as UTF-8")
    if declared in _WIDE:
        raise UnreadableError("it says that it is UTF-16, and is not")
    return document if declared == "utf-8" else _decoded(document, declared).encode()


def _marked(document: bytes) -> tuple[str, int]:
    """The encoding that the first bytes show, if they do, and how many of them are a mark."""
    for mark, encoding in _BOMS:
        if document.startswith(mark):
            return encoding, len(mark)
    if document[:4] in (b"\x00\x00\x00<", b"<\x00\x00\x00"):
        return "utf-32", 0
    if document[1:2] == b"\x00":
        return "utf-16-le", 0
    if document[:1] == b"\x00" and document[1:2]:
        return "utf-16-be", 0
    return "", 0


def _declared(document: bytes) -> str | None:
    """The encoding that the XML declaration names, if it does, as Python calls it."""
    found = _DECLARATION.match(document)
    if found is None:
        return None
    name = found[1].decode()
    try:
        plain = codecs.lookup(name).name
    except LookupError:
        plain = ""
    if plain not in _ENCODINGS:
        raise UnreadableError(f"its encoding {name} is not known")
    return plain


def _decoded(document: bytes, encoding: str) -> str:
    try:
        text = document.decode(encoding)
        text.encode()  # half a character is none
    except UnicodeError as error:
        raise UnreadableError(f"it is not {encoding}: {error}") from error
    return text
