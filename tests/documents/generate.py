"""Documents and expressions at random, small enough that they have much to do with each other."""

from collections.abc import Sequence
from random import Random

NAMES = ("a", "b", "c", "p:d")
ATTRIBUTES = ("k", "m", "p:n")
NAMESPACES = {"p": "urn:p"}
TEXTS = ("1", "1.0", " 1\n", "2", "-3", "+3", ".5", "5.", "x", "xy", "y x", "0x1", "NaN", "10")
NUMBERS = ("1", "1.0", "2", "-3", "0.5", ".5", "5", "10", "0")
STRINGS = ("'1'", "'x'", '"xy"', "'y'", "''", "'2'", "' 1'", "'-3'", "'1.0'")
OPERATORS = ("=", "!=", "<", "<=", ">", ">=")


def document(random: Random, size: int = 14) -> str:
    """A document with a few elements, attributes, texts, comments and CDATA sections."""
    left = [random.randint(1, size)]

    def content(depth: int) -> str:
        parts = []
        while left[0] > 0 and random.random() < 0.72 and depth < 7:
            left[0] -= 1
            if random.random() < 0.3:
                parts.append(text(random))
            else:
                parts.append(element(depth + 1))
        return "".join(parts)

    def element(depth: int, root: str = "") -> str:
        name = random.choice(NAMES)
        given = "".join(
            f' {attribute}="{random.choice(TEXTS)}"'
            for attribute in ATTRIBUTES
            if random.random() < 0.25
        )
        return f"<{name}{root}{given}>{content(depth)}</{name}>"

    return element(1, ' xmlns:p="urn:p"')


def text(random: Random) -> str:
    value = random.choice(TEXTS)
    odd = random.random()
    if odd < 0.08:
        return f"<!--{value}-->"
    if odd < 0.16:
        return f"<![CDATA[{value}]]>"
    if odd < 0.2:
        return f"<?pi {value}?>"
    return value


class Writer:
    """Writes expressions of the whole language."""

    def __init__(
        self,
        random: Random,
        *,
        values: bool = True,
        positions: bool = True,
        names: Sequence[str] = NAMES,
        attributes: Sequence[str] = ATTRIBUTES,
    ) -> None:
        self.random = random
        self.values = values
        self.positions = positions
        self.names = names
        self.attributes = attributes

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def expression(self) -> str:
        paths = [self.path()]
        while self.chance(0.08):
            paths.append(self.path())
        return " | ".join(paths)

    def path(self) -> str:
        if self.chance(0.01):
            return "/"
        return self.slash() + self.steps(self.random.randint(1, 3), 2)

    def slash(self) -> str:
        return "//" if self.chance(0.35) else "/"

    def steps(self, count: int, depth: int) -> str:
        texts = [self.step(depth, last=n == count - 1) for n in range(count)]
        return "".join(text if not n else self.slash() + text for n, text in enumerate(texts))

    def step(self, depth: int, *, last: bool) -> str:
        kind = self.random.random()
        if last and kind < 0.12:
            return "@" + self.random.choice(self.attributes) + self.tested()
        if last and kind < 0.2:
            return "text()" + self.tested()
        name = "*" if kind < 0.4 else self.random.choice(self.names)
        predicates = ""
        while depth and self.chance(0.3):
            predicates += f"[{self.predicate(depth - 1)}]"
        return name + predicates

    def tested(self) -> str:
        if not self.values or not self.chance(0.3):
            return ""
        return f"[{self.comparison('.')}]"

    def predicate(self, depth: int) -> str:
        if self.positions and self.chance(0.15):
            return self.random.choice(("1", "2", "3", "last()", "1.5", "0"))
        return self.condition(depth)

    def condition(self, depth: int) -> str:
        kind = self.random.random()
        if kind < 0.1:
            return f"{self.condition(depth)} and {self.condition(depth)}"
        if kind < 0.2:
            return f"({self.condition(depth)} or {self.condition(depth)})"
        if self.positions and kind < 0.25:
            rank = self.random.choice(("1", "2", "last()", "1.5"))
            return f"position() {self.random.choice(OPERATORS)} {rank}"
        if not self.values or kind < 0.5:
            return self.inner(depth)
        if kind < 0.65:
            function = self.random.choice(("starts-with", "contains"))
            return f"{function}({self.plain(depth)}, {self.random.choice(STRINGS)})"
        return self.comparison("." if self.chance(0.2) else self.inner(depth))

    def comparison(self, operand: str) -> str:
        operator = self.random.choice(OPERATORS)
        constant = self.random.choice(NUMBERS + STRINGS)
        if self.chance(0.2):
            return f"{constant} {operator} {operand}"
        return f"{operand} {operator} {constant}"

    def inner(self, depth: int) -> str:
        start = self.random.choice(("", "", "", ".//", "./"))
        return start + self.steps(self.random.randint(1, 2), depth)

    def plain(self, depth: int) -> str:
        """A path without //, for a function that takes the first node."""
        if self.chance(0.2):
            return "."
        count = self.random.randint(1, 2)
        return "/".join(self.step(depth, last=n == count - 1) for n in range(count))
