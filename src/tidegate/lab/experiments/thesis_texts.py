"""Which examples does the thesis work out, and what does it say comes out?

Chand, "Large scale diffusion of information in Publish/Subscribe systems" (2005): the message of
its Fig. 3.1 and the expressions of Fig. 3.3, a message with two stocks as its text tells it, the
table of XTrie of Fig. 3.5, and the similarity of the patterns of Fig. 8.2 over the expansion of
Fig. 8.3.
"""

import math
from typing import Final

from tidegate.documents.dtd import parse_dtd
from tidegate.documents.pattern import ValueTest
from tidegate.peers.expansion import Possible

NAMESPACES: Final = {
    "SOAP-ENV": "http://example.org/soap/envelope/",
    "t": "some-URI",
    "m": "Some-URI",
}
REQUEST: Final = """<SOAP-ENV:Envelope
  xmlns:SOAP-ENV="http://example.org/soap/envelope/"
  SOAP-ENV:encodingStyle="http://example.org/soap/encoding/">
  <SOAP-ENV:Header>
    <t:Transaction xmlns:t="some-URI" SOAP-ENV:mustUnderstand="1">
      5
    </t:Transaction>
  </SOAP-ENV:Header>
  <SOAP-ENV:Body>
    <m:GetLastTradePrice xmlns:m="Some-URI">
      <Symbol>DEF</Symbol>
    </m:GetLastTradePrice>
  </SOAP-ENV:Body>
</SOAP-ENV:Envelope>"""
QUOTES: Final = """<SOAP-ENV:Envelope xmlns:SOAP-ENV="http://example.org/soap/envelope/">
  <SOAP-ENV:Body>
    <Quotes>
      <Stock><Symbol>DEF</Symbol><Price>22.50</Price></Stock>
      <Stock><Symbol>GHI</Symbol><Price>12.50</Price></Stock>
    </Quotes>
  </SOAP-ENV:Body>
</SOAP-ENV:Envelope>"""
EXPRESSIONS: Final = {
    "i": ("//m:GetLastTradePrice/Symbol", True, False),
    "ii": ("//m:GetLastTradePrice/Symbol[text()='DEF']", True, False),
    "iii": ("/SOAP-ENV:Envelope/SOAP-ENV:Body/*/Symbol[text()='DEF']", True, False),
    "iv": ("//t:Transaction/@SOAP-ENV:mustUnderstand", True, False),
    "v": ("//t:Transaction[@SOAP-ENV:mustUnderstand=1]", True, False),
    "vi": ("//Stock/Symbol[text()='GHI']", False, True),
    "vii": ("//Stock/Price[text()>15]", False, True),
    "viii": ("//Stock[Symbol/text()='GHI'][Price/text()>15]", False, False),
}
"""By their numbers in Fig. 3.3: the text, and whether it matches the request and the quotes."""

# Figure 3.5 of the thesis: row above, Rel Level, rank, rows below, next. By its own definition, Rel
# Level is wrong there in three rows: [3, ∞] in row 4, [3, 3] in row 10 and [2, 2] in row 11.
TABLE: Final = [
    (0, 2, math.inf, 1, 0, 0),
    (0, 3, math.inf, 1, 0, 0),
    (0, 2, 2, 1, 1, 0),
    (3, 3, 3, 1, 0, 0),
    (0, 2, math.inf, 1, 0, 0),
    (0, 3, math.inf, 1, 0, 0),
    (0, 3, math.inf, 1, 0, 10),
    (0, 2, math.inf, 1, 0, 11),
    (0, 1, math.inf, 1, 2, 0),
    (9, 2, 2, 1, 0, 0),
    (9, 1, 1, 2, 0, 0),
]

MEDIA: Final = parse_dtd("""
    <!ELEMENT media ((Book,CD,DVD)*) >
    <!ELEMENT Book ((Author|Title)+) >
    <!ELEMENT Author ((First|Last)+) >
    <!ELEMENT CD (Author+,(Producer | Interpreter)?) >
    <!ELEMENT Interpreter ( (First|Last)+ , Instrument*) >
    <!ELEMENT DVD (Title?, Actor+ , (Producer | Director)?) >
    <!ELEMENT Actor ((First|Last)+,Role?) >
    <!ELEMENT Director ((First|Last)+) >
    <!ELEMENT First (#PCDATA)> <!ELEMENT Last (#PCDATA)> <!ELEMENT Title (#PCDATA)>
    <!ELEMENT Producer (#PCDATA)> <!ELEMENT Role (#PCDATA)> <!ELEMENT Instrument (#PCDATA)>
""")
"""The DTD of Fig. 8.1."""
CONFLICT: Final = 0.3  # gamma
POSSIBLE: Final = 0.2  # epsilon
SIMILAR: Final = {
    "S1": ("/media/DVD/Actor/First[starts-with(., 'B')]", 1 / 4),
    "S2": ("/media/DVD/Actor/First[. = 'Charles']", 0.0),
    "S3": ("/media[Book]/CD", 1 / 2),
    "S4": ("/media/*/Author", 1.0),
    "S5": ("/media/CD/Producer[. = 'AB Productions']", POSSIBLE / 2),
    "S6": ("/media[CD]/DVD", CONFLICT / 4),
    "S7": ("/media/DVD[Title]/Director", 1 / 8),
    "S8": ("/media/DVD[Producer]/Director", 0.0),
    "S9": ("/media/DVD[Title]/*/First", 1 / 4),
    "S10": ("/media/DVD[Producer]/*/First", 1 / 8),
}
"""The patterns of section 8.5.2, and how similar S of Fig. 8.2 is to them. (The text says 1/2 of
S7, against its own rules.)
"""


def _possible(
    path: str, probability: float, *classes: list[Possible], test: ValueTest | None = None
) -> Possible:
    """A node of an expansion, by its path."""
    names = tuple(path.strip("/").split("/"))
    return Possible(names[-1], names, probability, (test,) if test else (), list(classes))


def expansion() -> Possible:
    """Figure 8.3, by hand: it leaves out Book among the first `*`, which its own DTD allows."""
    bob, ab = ValueTest("=", "Bob"), ValueTest("starts-with", "AB")
    last = _possible("/media/Book/Author/Last", 1.0, test=ValueTest("=", "Baudelaire"))
    book = _possible("/media/Book", 1.0, [_possible("/media/Book/Author", 1.0, [last])])

    def named(path: str, probability: float) -> Possible:
        return _possible(path, probability, [_possible(path + "/First", 1.0, test=bob)])

    cd = _possible(
        "/media/CD",
        0.5,
        [_possible("/media/CD/Producer", 1.0, test=ab)],
        [named("/media/CD/Author", 1.0)],
    )
    dvd = _possible(
        "/media/DVD",
        0.5,
        [
            _possible("/media/DVD/Producer", 0.5, test=ab),
            _possible("/media/DVD/Title", 0.5, test=ab),
        ],
        [named("/media/DVD/Actor", 0.5), named("/media/DVD/Director", 0.5)],
    )
    media = _possible("/media", 1.0, [book], [cd, dvd])
    return Possible("", (), 1.0, (), [[media]])
