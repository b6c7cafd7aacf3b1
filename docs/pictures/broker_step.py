"""What does a broker do about a message? Checks, tables, policies, and what is to be done."""

import itertools
from typing import Final

from docs.pictures.flow import down, step
from docs.pictures.svg import BLUE, GREEN, GREY, RED, YELLOW, Picture

_LEFT: Final = 14.0
_RIGHT: Final = 356.0
_WIDE: Final = 308.0
_GAP: Final = 26.0
_WIDTH: Final = _RIGHT + _WIDE + 14


def draw() -> str:
    """From what comes in to what goes out."""
    picture = Picture(
        "A step of a broker",
        "A message comes in on a link, is checked, changes tables and policies, and leaves effects "
        "in order.",
    )
    whole = _WIDTH - 28
    came = step(
        picture, _LEFT, 14, whole, "`Broker.handle`: a message comes in on a link",
        ["Is the link up? `flaw`: is this formed as a message is? If not, the answer is `Refuse`, "
         "and nothing has changed."],
        file="overlay/broker.py", fill=YELLOW,
    )  # fmt: skip
    top = came.bottom + 36
    picture.text(_LEFT, top - 10, "A change of what is wanted", bold=True)
    picture.text(_RIGHT, top - 10, "An event", bold=True)
    numbered = step(
        picture, _LEFT, top, _WIDE, "`Stream.place`: is it the next one?",
        ["A number from the past or the future is answered by what was heard last. The next one is "
         "heard, and `Persist` is the first effect."],
        file="overlay/stream.py", fill=RED,
    )  # fmt: skip
    judged = step(
        picture, _LEFT, numbered.bottom + _GAP, _WIDE, "`refusal`: why not?",
        ["Ids known or new, no id twice, filters of this kind, not too large, updates of the same "
         "shape. Otherwise `Refuse`, of the whole message."],
        file="overlay/asked.py", fill=RED,
    )  # fmt: skip
    routed = step(
        picture, _LEFT, judged.bottom + _GAP, _WIDE, "`Routing.want`: the tables follow",
        ["`Table` has what came from every link. For each other neighbour: what overlaps none of "
         "its advertisements is left out, if there are advertisements."],
        file="overlay/routing.py", fill=GREEN,
    )  # fmt: skip
    reduced = step(
        picture, _LEFT, routed.bottom + _GAP, _WIDE, "`Policy.step`: what is forwarded",
        ["`Sources`, then by the policy `Covering`, `Subsumption`, or `Covering` and `Merging`. "
         "Each keeps a smaller set of filters that covers the one before it, and says by a "
         "`Difference` how that has changed."],
        file="overlay/policy/__init__.py", fill=BLUE,
    )  # fmt: skip
    told = step(
        picture, _LEFT, reduced.bottom + _GAP, _WIDE, "`Link.tell`: one message for each",
        ["At most one `Change` for each neighbour, with the next number of that link, kept until "
         "it is acknowledged."],
        file="overlay/link.py", fill=BLUE,
    )  # fmt: skip
    seen = step(
        picture, _RIGHT, top, _WIDE, "`Events.published`: is it new?",
        ["The numbers of a publisher rise. One that was seen goes no further; a client is told so "
         "by `Refuse`."],
        file="overlay/events.py", fill=RED,
    )  # fmt: skip
    fit = step(
        picture, _RIGHT, seen.bottom + _GAP, _WIDE, "`Events._event_refusal`: why not?",
        ["Of a client: not too large, as the schema says, among what the publisher has advertised. "
         "Of a broker: as the schema says. Otherwise `Refuse`."],
        file="overlay/events.py", fill=RED,
    )  # fmt: skip
    matched = step(
        picture, _RIGHT, fit.bottom + _GAP, _WIDE, "`Table.match`: who wants it?",
        ["Every link with an entry that the event meets; under the policy flood, every "
         "neighbour."],
        file="overlay/table.py", fill=GREEN,
    )  # fmt: skip
    gone = step(
        picture, _RIGHT, matched.bottom + _GAP, _WIDE, "`Events._route`: where it goes",
        ["`Deliver` to clients, with the subscriptions it meets. `Send` to neighbours, but not "
         "back to the one it came from."],
        file="overlay/events.py", fill=BLUE,
    )  # fmt: skip
    end = max(told.bottom, gone.bottom) + _GAP
    effects = step(
        picture, _LEFT, end, whole, "Effects, in order: for whoever drives the broker",
        ["`Persist`: write down the change that came in, before anything else. `Send`: a `Change` "
         "to each neighbour that is told something, then `Acknowledge` to where it came from. "
         "`Deliver`: an event to a client."],
        file="overlay/messages.py", fill=YELLOW,
    )  # fmt: skip
    note = step(
        picture, _LEFT, effects.bottom + 12, whole, "Other inputs",
        ["`Advertise` goes the way of a change; `Routing.offer` may pull filters towards where it "
         "came from. `Tick` resends, and lets policies rebuild and merge. `LinkUp`, `Hello`, "
         "`LinkDown`, `Restart` and `Acknowledge` keep both ends of a link of one mind."],
        fill=GREY,
    )  # fmt: skip
    for lane_start in (numbered, seen):
        aside = lane_start.x + 0.85 * lane_start.width  # of what stands above the lane
        picture.elbow([(aside, came.bottom), (aside, top)])
    left, right = (numbered, judged, routed, reduced, told), (seen, fit, matched, gone)
    for lane in (left, right):
        for one, other in itertools.pairwise(lane):
            down(picture, one, other)
        picture.elbow([(lane[-1].middle, lane[-1].bottom), (lane[-1].middle, end)])
    return picture.svg(_WIDTH, note.bottom + 14)
