"""What is wrong with a text whose words do not make a condition?

The grammar says only which token may not stand where it stands. What explains that best is looked
for here, in this order: a character that has no meaning, or something that does not end;
parentheses that do not fit; a word of SQL that the language does not have; the token itself.
"""

from typing import NoReturn

from tidegate.errors import FilterSyntaxError
from tidegate.filters.expression import KEYWORDS, MAX_DEPTH
from tidegate.filters.grammar import MisplacedError
from tidegate.filters.lexer import check_characters, literals, places
from tidegate.filters.refusals import FOREIGN, NO_CONDITION, no_function


def refuse_misplaced(text: str, shape: str, tokens: list[str], flaw: MisplacedError) -> NoReturn:
    """Say what is wrong with a text that has a token in a place where it may not stand."""
    check_characters(text)
    if not tokens[0]:
        _refuse(text, 0, "there is no condition in the text", "price < 10, or TRUE")
    nesting = _nesting_flaw(tokens)
    if nesting is not None:
        flaw = nesting
    elif flaw.reason is None or flaw.reason == NO_CONDITION[0]:
        foreign = _foreign(tokens)
        if foreign is not None:
            flaw = MisplacedError(flaw.at + _is_alias(tokens, flaw.at), *foreign)
    if flaw.at < 0:
        _refuse(text, len(text), str(flaw.reason), flaw.instead)
    reason, instead = flaw.reason, flaw.instead
    if reason is None:
        reason, instead = _misplaced(text, tokens, flaw.at)
    _refuse(text, places(text, shape)[flaw.at], reason, instead)


def _refuse(text: str, position: int, reason: str, instead: str | None) -> NoReturn:
    raise FilterSyntaxError(reason, text=text, position=position, instead=instead)


def _nesting_flaw(tokens: list[str]) -> MisplacedError | None:
    """What is wrong with the parentheses of a text, if anything is; -1 is its end."""
    opened: list[int] = []  # how deep it was before each open parenthesis
    depth = negations = 0
    for at, token in enumerate(tokens):
        if token == "(":
            opened.append(depth)
            depth += 1 + negations
            negations = 0
        elif token == ")":
            if not opened:
                return MisplacedError(at, "a ) that closes nothing", "an ( before it")
            depth = opened.pop()
        elif token == "!" or token.upper() == "NOT":
            negations += 1
        else:
            negations = 0
        if depth + negations > MAX_DEPTH:
            return MisplacedError(
                at,
                f"parentheses and NOTs nest deeper than {MAX_DEPTH}",
                "the same condition with fewer parentheses",
            )
    return MisplacedError(-1, "an ( is not closed", "a ) for each (") if opened else None


def _foreign(tokens: list[str]) -> tuple[str, str] | None:
    """Why the text may be none of ours: the first word in it that explains that."""
    for at, token in enumerate(tokens):
        reason = FOREIGN.get(token.upper())
        before = tokens[at - 1].upper() if at else ""
        if reason and not (before in ("LIKE", "ILIKE") and tokens[at + 1] == "("):
            return reason
    return None


def _is_alias(tokens: list[str], at: int) -> bool:
    """Whether SQL would take a token for another name of what stands before it.

    That is a word where an operator should be, outside of a function, with something behind it.
    """
    inside_call = [False]
    for i, token in enumerate(tokens[:at]):
        if token == "(":
            word = tokens[i - 1] if i else ""
            inside_call.append(word[:1].isalpha() and word.upper() not in KEYWORDS)
        elif token == ")":
            inside_call.pop()
    return (
        tokens[at][:1].isalpha()
        and tokens[at].upper() not in KEYWORDS
        and bool(tokens[at + 1])
        and not inside_call[-1]
    )


def _misplaced(text: str, tokens: list[str], at: int) -> tuple[str, str]:
    """That a token may not stand where it stands, in the text's own words."""
    token = tokens[at]
    said = token
    if token[:1] == "\0":
        slot = sum(each.count("\0") for each in tokens[:at] if each[:1] == "\0")
        said = literals(text)[slot][1]
    said = said[:40]
    if token[:1].isalpha() and token.upper() not in KEYWORDS and tokens[at + 1] == "(":
        return no_function(said)
    instead = NO_CONDITION[1]
    if said.upper() in KEYWORDS and said.upper() != "NOT":
        instead = f"`{said}` in back-quotes, if it is the name of an attribute"
    return f"{said} may not stand here", instead
