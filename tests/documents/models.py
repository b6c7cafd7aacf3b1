"""Documents made from a pattern: they have all that it asks for, and random things besides."""

from random import Random

from tests.documents.generate import NAMES, TEXTS
from tidegate.documents.pattern import ANY, Node, Pattern
from tidegate.documents.values import meets

WORDS = (*TEXTS, "1x", "xyx", "x1", "", "0", "0.5", "3", "-4", "1xy", "y")


def made_from(pattern: Pattern, random: Random) -> str | None:
    """A document with what a pattern asks for, positions not looked at; None if none was found."""
    try:
        parts = [
            below(branch.node, branch.distance.levels + more(branch.distance.exact, random), random)
            for branch in pattern.root.branches[:1]
        ]
    except LookupError:
        return None
    if not parts:
        parts = ["<a/>"]
    text = parts[0]
    cut = text.find(">") if text[text.find(">") - 1] != "/" else text.find(">") - 1
    return text[:cut] + ' xmlns:p="urn:p"' + text[cut:]


def more(exact: bool, random: Random) -> int:
    return 0 if exact else random.choice((0, 0, 1, 1, 2, 3))


def value_of(node: Node, random: Random) -> str:
    fitting = [word for word in WORDS if all(meets(word, test) for test in node.tests)]
    fitting += [
        str(test.constant)
        for test in node.tests
        if len(str(test.constant)) < 10  # libxml2 does not read long ones as the nearest double
        and all(meets(str(test.constant), other) for other in node.tests)
    ]
    if not fitting:
        raise LookupError
    return random.choice(fitting)


def written(name: str) -> str:
    return name.replace("{urn:p}", "p:")


def name_for(node: Node, random: Random) -> str:
    return random.choice((*NAMES, "z")) if node.label == ANY else written(node.label)


def below(node: Node, levels: int, random: Random) -> str:
    """An element, or a text, so many levels down."""
    text = element(node, random) if node.is_element else value_of(node, random)
    for _ in range(levels - 1):
        name = random.choice((*NAMES, "z"))
        text = f"<{name}>{noise(random)}{text}{noise(random)}</{name}>"
    return text


def element(node: Node, random: Random) -> str:
    name = name_for(node, random)
    attributes: dict[str, str] = {}
    parts: list[str] = []
    for branch in node.branches:
        levels = branch.distance.levels + more(branch.distance.exact, random)
        each = branch.node
        if not each.is_attribute:
            parts.append(below(each, levels, random))
        elif levels == 1:
            attributes[written(each.label[1:])] = value_of(each, random)
        else:
            given = f'{written(each.label[1:])}="{value_of(each, random)}"'
            parts.append(below(Node("z"), levels - 1, random).replace("<z/>", f"<z {given}/>"))
    if not node.branches and node.tests:
        parts.append(value_of(node, random))
    elif random.random() < 0.5:
        random.shuffle(parts)
        parts = [piece for part in parts for piece in (part, noise(random))]
    given = "".join(f' {key}="{value}"' for key, value in attributes.items())
    content = "<!---->".join(parts) if random.random() < 0.3 else "".join(parts)
    return f"<{name}{given}>{content}</{name}>" if content else f"<{name}{given}/>"


def noise(random: Random) -> str:
    name = random.choice(NAMES)
    return random.choice(("", "", "", f"<{name}/>", f'<{name} k="1">x</{name}>', "<!-- -->"))
