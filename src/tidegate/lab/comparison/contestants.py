"""Which policies are compared?

One line each: a name, the policy, and by which relation of filters it saves something. That is for
`probes`: a policy is asked about filters that it is made for. What a scenario says about its
policy's index, threshold and trigger holds for each that has one.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

from tidegate.errors import TidegateError
from tidegate.overlay.policy import Choice

IMT: Final = 0.001  # the threshold of imperfect merging, where a scenario names none


@dataclass(frozen=True, slots=True)
class Contestant:
    """A policy, or a composition of several, under the name it has in tables.

    `relations` are those of `probes`, by which it saves something.
    """

    name: str
    policy: Choice
    relations: tuple[str, ...]
    tells: str

    def choice(self, scenario: Choice) -> Choice:
        """The policy, with what a scenario says that means something to it."""
        return replace(
            self.policy,
            imt=(scenario.imt or IMT) if self.policy.imt else 0.0,
            index=scenario.index,
            union=scenario.union if self.policy.name == "subsumption" else None,
            period=scenario.period,
            size=scenario.size,
            rate=scenario.rate,
        )


def _of(name: str, policy: str, relations: str, tells: str, **settings: Any) -> Contestant:
    return Contestant(name, Choice(policy, **settings), tuple(relations.split()), tells)


PLAIN: Final = _of("simple", "simple", "", "every subscription, as it is")
"""What all others are compared with."""

# fmt: off
CONTESTANTS: Final = (
    PLAIN,
    _of("identity", "identity", "equal", "equal filters once"),
    _of("covering", "covering", "covered", "filters that no other one covers"),
    _of("xroute", "xroute", "covered", "covering, and how many registrations each stands for"),
    _of("subsumption", "subsumption", "subsumed", "filters that no others cover together"),
    _of("merging", "merging", "adjacent", "covering, then perfect mergers"),
    _of("imperfect merging", "merging", "near", "mergers that add a little", imt=IMT),
    _of("merging by pruning", "merging", "alike", "mergers are pruned ORs", imt=IMT, by="pruning"),
    _of("replacement", "replacement", "implied", "equal filters once, fewer distinct conditions"),
    _of("pruning before", "identity", "unrelated", "filters with parts left out", prune="before"),
    _of("pruning after", "identity", "unrelated", "parts left out in the own table", prune="after"),
    _of("pruning agreed", "identity", "unrelated", "the same, no further than neighbours would",
        prune="after", agreed=True),
    _of("pruning", "identity", "unrelated", "before and after", prune="both"),
    _of("pruning half", "identity", "unrelated", "half of all prunings", prune="both", share=0.5),
    _of("covering + pruning", "covering", "covered unrelated", "both", prune="both"),
    _of("subsumption + pruning", "subsumption", "subsumed unrelated", "both", prune="both"),
    _of("merging + pruning", "merging", "adjacent unrelated", "pruned mergers", prune="both"),
    _of("replacement + pruning", "replacement", "implied unrelated", "both", prune="both"),
    _of("flood", "flood", "unrelated", "no subscriptions, but all events everywhere"),
)
# fmt: on


def chosen(names: Iterable[str] | None) -> tuple[Contestant, ...]:
    """Those of these names, in the table's order, and always plain forwarding.

    >>> [each.name for each in chosen(["covering"])]
    ['simple', 'covering']
    """
    if names is None:
        return CONTESTANTS
    wanted = list(names)
    known = [each.name for each in CONTESTANTS]
    for name in wanted:
        if name not in known:
            raise TidegateError(f"there is no policy {name!r} to compare, but {', '.join(known)}")
    return tuple(each for each in CONTESTANTS if each is PLAIN or each.name in wanted)
