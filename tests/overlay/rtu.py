"""XRoute as Chand's thesis has it (2005, section 4.2), for comparison: a model, for tests only.

A node's table has an entry for each subscription S: for each link k the counts T^k = (x, z), how
many registrations S stands for beside (R), and what it is substituted by (P). An advertisement is a
list of triples (S; n; r), the first of which is what it is about. What a node sends up follows from
Algorithms 3 to 8. With several producers there is one view of the table for each link up, which
does not look at that link (Algorithms 27 to 31, where the views share T).

The printed algorithms are corrected, where a history of a few steps shows that they are wrong:

- Alg. 6, line 13 is in the else branch.
- Alg. 8, lines 35 and 45 ask for all p other than k; line 31 takes S's own T.z; lines 34 and 49
  keep what was appended; and it also runs where T.z is 0 and no other link has S, as there may be
  others that hang under S (lines 1191 and 1213 of the text leave that to Algorithm 3, which forgets
  them).

A subscription is anything with `covers`; nothing else is asked of it. A *consumer* represents
nothing.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Triple: TypeAlias = tuple[Any, int, int]
Covers: TypeAlias = Callable[[Any, Any], bool]
Choose: TypeAlias = Callable[[Any, list[Any]], Any]
"""Which of several containers a subscription is to hang under, which the thesis leaves open."""


@dataclass
class Entry:
    """What a view knows of one subscription."""

    x: dict[str, int] = field(default_factory=dict)
    z: dict[str, int] = field(default_factory=dict)
    r: int = 0
    p: Any = None

    def all(self, k: str) -> int:
        """T̄^k."""
        return self.x.get(k, 0) + self.z.get(k, 0)

    def add(self, k: str, n: int, r: int) -> None:
        self.x[k] = self.x.get(k, 0) + n
        self.z[k] = self.z.get(k, 0) + r
        self.r += r

    @property
    def links(self) -> set[str]:
        return {k for k in (*self.x, *self.z) if self.all(k)}

    @property
    def own(self) -> int:
        return sum(self.x.values())


class View:
    """The table of one node, as it counts for one link up."""

    def __init__(self, covers: Covers, *, consumer: bool, choose: Choose | None = None) -> None:
        self.entries: dict[Any, Entry] = {}
        self._covers = covers
        self._consumer = consumer
        self._choose = choose or (lambda s, containers: containers[0])

    # -- substitution trees

    def above(self, s: Any) -> list[Any]:
        """The ancestors of S, up to the top."""
        found = []
        while (s := self.entries[s].p) is not None:
            found.append(s)
        return found

    def top(self, s: Any) -> Any:
        """h(S)."""
        return [s, *self.above(s)][-1]

    def contains(self, s: Any, other: Any) -> bool:
        return bool(s != other and self._covers(s, other))

    def _substitute(self, s: Any, by: Any) -> None:
        entry = self.entries[s]
        entry.p = by
        self.entries[by].r += entry.own + entry.r

    def _container(self, s: Any) -> Any:
        tops = [x for x, e in self.entries.items() if e.p is None and self.contains(x, s)]
        return self._choose(s, tops) if tops else None

    # -- advertisements

    def hear(self, k: str, adv: list[Triple]) -> list[Triple]:
        """Take in an advertisement from a link; the one to be sent up."""
        (s, n, r), *more = adv
        entry = self.entries.get(s)
        total = n < 0 and entry is not None and -n == entry.x.get(k, 0)
        if total and entry is not None and (entry.z.get(k, 0) or not entry.links - {k}):
            return self._cancel(k, s, n, more)
        if entry is not None and entry.all(k):
            out = [self._update(k, s, n, r)]
        else:
            if entry is None:
                self._insert(s)
            out = self._represent(k, s, n, r)
        return out + [self._update(k, *each) for each in more]

    def _update(self, k: str, s: Any, n: int, r: int) -> Triple:
        """Algorithm 3."""
        for each in self.above(s):
            self.entries[each].r += n + r
        self.entries[s].add(k, n, r)
        return (s, n, r) if self.top(s) == s else (self.top(s), 0, n + r)

    def _insert(self, s: Any) -> None:
        """Algorithm 5, but for its last line."""
        container = self._container(s)
        contained = [x for x, e in self.entries.items() if e.p is None and self.contains(s, x)]
        self.entries[s] = Entry()
        if container is not None:
            self._substitute(s, container)
            return
        for each in contained:
            self._substitute(each, s)

    def _represent(self, k: str, s: Any, n: int, r: int) -> list[Triple]:
        """Algorithm 4; a consumer represents nothing."""
        appended: list[Triple] = []
        moved = 0
        for other in [] if self._consumer else list(self.entries):
            if self.contains(s, other) and self.entries[other].all(k):
                moved += self._represent_one(k, s, other, appended)
        for each in self.above(s):
            self.entries[each].r += n + r
        self.entries[s].add(k, n, r)
        if self.top(s) != s:
            return [(self.top(s), 0, n + r + moved), *appended]
        return [(s, n, r + moved), *appended]

    def _represent_one(self, k: str, s: Any, other: Any, appended: list[Triple]) -> int:
        """Lines 3 to 26; how many registrations have another top now."""
        entry, mine = self.entries[other], self.entries[s]
        count, moved = entry.all(k), 0
        above = self.above(other)
        within, top, before = s in above, self.top(s), self.top(other)
        mine.add(k, 0, count)
        entry.r -= entry.z.get(k, 0)
        entry.x[k] = entry.z[k] = 0
        for each in above[: above.index(s) + 1] if within else above:
            self.entries[each].r -= count
        if not within:
            if before != top:
                appended.append((before, 0, -count))
                moved = count
            for each in self.above(s):
                self.entries[each].r += count
        if not entry.links:
            self._remove(other)
        return moved

    def _remove(self, s: Any) -> None:
        """Delete an entry; what hung under it hangs one higher."""
        for each in self.entries.values():
            if each.p == s:
                each.p = self.entries[s].p
        del self.entries[s]

    def _cancel(self, k: str, s: Any, n: int, more: list[Triple]) -> list[Triple]:
        """Algorithms 6 and 8: at a consumer nothing is appended, and there is no T.z."""
        entry, keep, appended = self.entries[s], 0, list[Triple]()
        for other, _, _ in more:
            if other not in self.entries:
                self.entries[other] = Entry(p=s)
        for other, count, behind in more:
            if self.top(other) == self.top(s):
                keep += count + behind
                for each in self.above(other):
                    self.entries[each].r += count + behind
                self.entries[other].add(k, count, behind)
            else:
                appended.append(self._update(k, other, count, behind))
        represented = entry.z.get(k, 0)
        for each in self.above(s):
            self.entries[each].r += n - represented
        top, last = self.top(s), not entry.links - {k}
        if top == s and last:
            return [(s, n, 0), *appended, *self._reinsert(s)]
        if last:
            self._remove(s)
        else:
            entry.r -= represented
            entry.x[k] = entry.z[k] = 0
        if top != s:
            return [(top, 0, n - represented + keep), *appended]
        return [(s, n, keep - represented), *appended]

    def _reinsert(self, s: Any) -> list[Triple]:
        """Algorithm 7."""
        orphans = [x for x, e in self.entries.items() if e.p == s]
        for each in orphans:
            self.entries[each].p = None
        del self.entries[s]
        for each in orphans:
            container = self._container(each)
            if container is not None:
                self._substitute(each, container)
        found: list[Triple] = []
        for each in orphans:
            entry = self.entries[each]
            if entry.p is None:
                found.append((each, entry.own, entry.r))
            elif entry.p not in orphans:
                found.append((entry.p, 0, entry.own + entry.r))
        return found


class Net:
    """Inner nodes on a tree, each with a consumer; every neighbour may lead to a producer.

    `said` notes what was sent from whom to whom.
    """

    def __init__(
        self,
        links: Iterable[tuple[str, str]],
        covers: Covers,
        choose: Callable[[str, str], Choose | None] = lambda node, up: None,
    ) -> None:
        self.views: dict[str, dict[str, View]] = {}
        self.said: list[tuple[str, str, list[Triple]]] = []
        self._covers = covers
        for one, other in links:
            for here, there in ((one, other), (other, one)):
                view = View(covers, consumer=False, choose=choose(here, there))
                self.views.setdefault(here, {})[there] = view
        self.consumers = {name: View(covers, consumer=True) for name in self.views}

    def register(self, home: str, s: Any, n: int = 1) -> None:
        """Register a subscription n times, or cancel it, at the consumer of a node."""
        adv = self.consumers[home].hear("", [(s, n, 0)])
        self.said.append((f"C/{home}", home, adv))
        self._heard(home, f"C/{home}", adv)

    def _heard(self, node: str, link: str, adv: list[Triple]) -> None:
        for up, view in self.views[node].items():
            if up != link:
                onward = view.hear(link, adv)
                self.said.append((node, up, onward))
                self._heard(up, node, onward)

    def table(self, node: str, link: str) -> dict[Any, tuple[int, int]]:
        """T of a link at a node: of each subscription there, x and z."""
        found = None
        for up, view in self.views[node].items():
            if up != link:
                told = {
                    s: (e.x.get(link, 0), e.z.get(link, 0))
                    for s, e in view.entries.items()
                    if e.all(link)
                }
                assert found in (None, told), "two views differ"
                found = told
        return found or {}

    def check(self) -> None:
        """The invariants of the thesis: Properties 2 and 4 to 6, and no entry without counts."""
        for node, views in (*self.views.items(), *((n, {n: v}) for n, v in self.consumers.items())):
            for view in views.values():
                for s, entry in view.entries.items():
                    assert entry.links, f"{s} at {node} stands for nobody"
                    assert all(entry.all(k) > 0 for k in entry.links)
                    hung = [e for e in view.entries.values() if e.p == s]
                    below = sum(e.own + e.r for e in hung)
                    assert entry.r == sum(entry.z.values()) + below
                tops = [s for s, entry in view.entries.items() if entry.p is None]
                assert not any(view.contains(s, t) for s in tops for t in tops)
