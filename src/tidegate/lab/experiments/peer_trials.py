"""Does what the thesis says of peers and of its metric hold, whatever happens?

Trials as in `trials`: overlays of a few peers that want ranges of one attribute, so that the
proximity of filters and who should hear what are known exactly; and the metric on patterns of small
DTDs.
"""

from random import Random

from tidegate.documents.dtd import parse_dtd
from tidegate.documents.synopsis import Synopsis
from tidegate.lab.experiments.trials import EVENTS, VALUES, Found
from tidegate.lab.workloads.dtds import made_up
from tidegate.lab.workloads.xml_documents import DocumentChoices, DocumentSource
from tidegate.lab.workloads.xml_patterns import PatternChoices, PatternSource
from tidegate.overlay.attributes import Attributes
from tidegate.overlay.filter import Filter
from tidegate.overlay.patterns import Patterns
from tidegate.peers.branch import TreeSettings
from tidegate.peers.guide import Guide
from tidegate.peers.hierarchy import Hierarchy
from tidegate.peers.history import History
from tidegate.peers.neighbourhood import by_proximity
from tidegate.peers.network import Spread
from tidegate.peers.opposition import Opposition
from tidegate.peers.proximity import Measure, Proximity
from tidegate.peers.quest import candidates
from tidegate.peers.similarity import Similarity
from tidegate.peers.simulation import Simulation
from tidegate.peers.tree_messages import Join
from tidegate.peers.tree_peer import TreePeer

PEERS = 14
KIND = Attributes()


def _range(draw: Random) -> Filter:
    low = draw.randrange(VALUES)
    return KIND.parse(f"x BETWEEN {low} AND {draw.randrange(low, VALUES)}")


def _joined(draw: Random) -> Simulation[TreePeer]:
    settings = TreeSettings(join=draw.choice(list(Join)))
    tree: Simulation[TreePeer] = Simulation(
        KIND, lambda name, f: TreePeer(name, KIND, f, settings), delay=10
    )
    for number in range(PEERS):
        tree.join(f"p{number}", _range(draw))
        tree.settle()
    return tree


def _published(draw: Random, tree: Simulation[TreePeer]) -> list[tuple[str, int, Spread]]:
    """Events, each by somebody who wants it."""
    found = []
    for _ in range(EVENTS):
        value = draw.randrange(VALUES)
        wanting = [name for name, p in tree.peers.items() if p.filter.matches({"x": value})]
        if wanting:
            name = draw.choice(wanting)
            found.append((name, value, tree.publish(name, {"x": value})))
    return found


def spanning(draw: Random) -> Found:
    """The ways of an event form a tree: nobody hears of it twice."""
    spreads = _published(draw, _joined(draw))
    return len(spreads), sum(each.messages != len(each.reached) for _, _, each in spreads)


def leaves(draw: Random) -> Found:
    """Who hears of it in vain is next to somebody who wants it, and passes it on to nobody."""
    tree, wrong = _joined(draw), 0
    spreads = _published(draw, tree)
    for name, _, spread in spreads:
        passing = {*spread.wanted & spread.reached, name}
        next_to = {other for each in passing for other in _neighbours(tree, each)}
        wrong += spread.reached != next_to - {name}
    return len(spreads), wrong


def _neighbours(tree: Simulation[TreePeer], name: str) -> set[str]:
    family = tree.peers[name].family
    above = set() if family.parent is None else {family.parent}
    return above | set(family.children) | set(family.siblings)


def nobody_missed(draw: Random) -> Found:
    """There are no false negatives."""
    spreads = _published(draw, _joined(draw))
    return len(spreads), sum(bool(each.missed) for _, _, each in spreads)


def anywhere(draw: Random) -> Found:
    """How many hear of an event in vain does not depend on who publishes it."""
    tree, tried, wrong = _joined(draw), 0, 0
    for value in draw.sample(range(VALUES), 6):
        wanting = [name for name, p in tree.peers.items() if p.filter.matches({"x": value})]
        vain = {len(tree.publish(name, {"x": value}).in_vain) for name in wanting[:4]}
        tried, wrong = tried + bool(vain), wrong + (len(vain) > 1)
    return tried, wrong


def no_deeper(draw: Random) -> Found:
    """Who rejoins after a leave is not deeper than before, if the tree was optimal."""
    tree = Hierarchy(KIND, TreeSettings(join=Join.FULL))
    for number in range(PEERS):
        tree.join(f"p{number}", _range(draw))
    tried, wrong = 0, 0
    if tree.misplaced():
        return 0, 0
    for name, member in tree.members.items():
        for child in member.children.values():
            if not child.equal:
                replies, _ = tree.search(child, Join.BASIC)
                replies.pop(name, None)
                best = candidates(replies)
                depth = 1 + (replies[best[0]].depth if best else 0)
                tried, wrong = tried + 1, wrong + (depth > child.depth)
    return tried, wrong


def like_the_tree(draw: Random) -> Found:
    """With n = 1, no random links and Sim = containment, links are those of a containment tree:
    each peer that somebody contains is next to somebody who contains it.
    """
    history = History(KIND)
    for value in range(VALUES):
        history.add({"x": value})
    peers = {f"p{number}": _range(draw) for number in range(PEERS)}
    links = by_proximity(peers, Proximity(history, Measure.GIVEN), 1, 0, draw)
    tried, wrong = 0, 0
    for name, f in peers.items():
        containing = {other for other, g in peers.items() if other != name and g.covers(f)}
        if containing:
            tried += 1
            wrong += not any({name, other} in map(set, links) for other in containing)
    return tried, wrong


def one_if_covered(draw: Random) -> Found:
    """Sim is 1 where the second pattern contains the first."""
    dtd, kind = made_up(draw, 10), Patterns()
    patterns = PatternSource(dtd, PatternChoices(deepest=5), draw.randrange(10**6))
    documents = DocumentSource(dtd, DocumentChoices(), draw.randrange(10**6))
    seen = Synopsis()
    for _ in range(10):
        seen.add(documents.draw())
    similarity = Similarity(Guide(dtd, seen, Opposition(dtd)))
    filters = [kind.parse(patterns.draw().text) for _ in range(8)]
    pairs = [(f, g) for f in filters for g in filters if f is not g and g.covers(f)]
    return len(pairs), sum(similarity.given(f, g) != 1 for f, g in pairs)


def transitive(draw: Random) -> Found:
    """Opposition is transitive: if a excludes b, and b excludes c, then a excludes c."""
    names, tried, wrong = ["a", "b", "c", "d"], 0, 0
    parts = draw.sample(names, len(names))
    model = draw.choice(("(({},{})|({}|{}))", "({}?,({}|({},{})))", "(({}|{})|({}*,{}))"))
    declared = "".join(f"<!ELEMENT {name} EMPTY>" for name in names)
    dtd = parse_dtd(f"<!ELEMENT r {model.format(*parts)}>{declared}")
    opposition = Opposition(dtd)
    for a in names:
        for b in names:
            for c in names:
                if len({a, b, c}) == len("abc") and all(
                    opposition.opposed("r", *pair) for pair in ((a, b), (b, c))
                ):
                    tried, wrong = tried + 1, wrong + (not opposition.opposed("r", a, c))
    return tried, wrong
