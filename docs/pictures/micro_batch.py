"""A micro-batch of `match_stream`, from source to sink: what the driver does, and what tasks do."""

from typing import Final

from docs.pictures.flow import Box, down, step
from docs.pictures.svg import BLUE, GREEN, RED, YELLOW, Picture

_LEFT: Final = 14.0
_RIGHT: Final = 348.0
_WIDE: Final = 316.0
_GAP: Final = 26.0
_WIDTH: Final = _RIGHT + _WIDE + 14


def draw() -> str:
    """The whole way."""
    picture = Picture(
        "A micro-batch from source to sink",
        "The driver pins a version and a base, tasks match events with them, the driver puts the "
        "result in its place.",
    )
    whole = _WIDTH - 28
    source = step(
        picture, _LEFT, 14, whole, "Source",
        ["Spark reads the events of batch N. After a crash it reads the same ones, by the offsets "
         "in its checkpoint."],
        fill=YELLOW,
    )  # fmt: skip
    top = source.bottom + 34
    picture.text(_LEFT, top - 9, "The driver", bold=True)
    picture.text(_RIGHT, top - 9, "Tasks, on workers", bold=True)
    pinned = step(
        picture, _LEFT, top, _WIDE, "`_Step`: what is used",
        ["`identity`: which query is this? A file in the checkpoint says it.",
         "`pin`: which version? The newest; or, if batch N was run before, the one of its pin.",
         "`ensure_base`: which base? The newest up to that version."],
        file="pipeline/matching/stream.py", fill=BLUE,
    )  # fmt: skip
    planned = step(
        picture, _LEFT, pinned.bottom + _GAP, _WIDE, "`plan`: what Spark is told",
        ["`checked` casts events to the store's schema; those it cannot are malformed.",
         "One shard: `InPlace`. Several: `Route`, a shuffle, `AtShard`. Each has a `Run`, which "
         "says what is wanted, of which version and base."],
        file="pipeline/matching/match.py", fill=BLUE,
    )  # fmt: skip
    started = step(
        picture, _LEFT, planned.bottom + _GAP, _WIDE, "`ParquetFolder.commit`: begin",
        ["Nothing to do if batch=N is there. Otherwise `write_parquet` starts the job, into a "
         "folder of its own under _staging."],
        file="pipeline/matching/sinks.py", fill=BLUE,
    )  # fmt: skip
    found = step(
        picture, _RIGHT, top, _WIDE, "`Run.find_matcher`: a matcher",
        ["`kept_matcher` has one for each base, from task to task: the files of the base, mapped, "
         "and the tail.",
         "`Matcher.advance` applies the changes up to the pinned version to the tail."],
        file="pipeline/matching/run.py", fill=GREEN,
    )  # fmt: skip
    sent = step(
        picture, _RIGHT, found.bottom + _GAP, _WIDE, "`Router.route`: several shards only",
        ["A row for each shard whose summary the event meets, and for the tail if somebody there "
         "wants it. Spark shuffles the rows."],
        file="pipeline/matching/routing.py", fill=GREEN,
    )  # fmt: skip
    matched = step(
        picture, _RIGHT, sent.bottom + _GAP, _WIDE, "`Notifier`: who wants it",
        ["`sound` puts malformed events aside: they come out with an error.",
         "`Index.match_batch` of each shard that events visit, and of the tail. `Names` say whose "
         "the numbers are.",
         "Pairs, lists or counts, each with the version."],
        file="pipeline/matching/notifications.py", fill=GREEN,
    )  # fmt: skip
    placed_at = max(matched.bottom, started.bottom) + _GAP + 14
    placed = step(
        picture, _LEFT, placed_at, whole, "`ParquetFolder.commit`: end",
        ["The driver counts the rows in the files, writes down whose batch it is, has all of it on "
         "the disk, and renames the folder to batch=N."],
        file="pipeline/matching/sinks.py", fill=BLUE,
    )  # fmt: skip
    sink = step(
        picture, _LEFT, placed.bottom + _GAP, whole, "Sink",
        ["Readers see a whole batch or none. Run again, batch N matches the same events with the "
         "same version, and is not written twice."],
        fill=YELLOW,
    )  # fmt: skip
    other = step(
        picture, _LEFT, sink.bottom + _GAP + 8, whole, "Streaming `match` is another way",
        ["There is no step on the driver: Spark writes to a sink of its own. The version of the "
         "`Run` is None, and the first task that asks pins one: `Run.find_matcher` calls `known`, "
         "`pin` and, for the base, `choose`. Creating the object of a pin succeeds once; all other "
         "tasks, retries and replays read it."],
        file="pipeline/matching/run.py", fill=RED,
    )  # fmt: skip
    picture.elbow([(pinned.middle, source.bottom), (pinned.middle, top)])
    for one, next_one in ((pinned, planned), (planned, started), (found, sent), (sent, matched)):
        down(picture, one, next_one)
    _across(picture, started, found)
    picture.elbow([(matched.middle, matched.bottom), (matched.middle, placed.y)])
    picture.elbow([(placed.middle, placed.bottom), (placed.middle, sink.y)])
    return picture.svg(_WIDTH, other.bottom + 14)


def _across(picture: Picture, one: Box, other: Box) -> None:
    """From the last step of one lane to the first of the next."""
    middle = (one.x + one.width + other.x) / 2
    at, to = one.y + one.height / 2, other.y + 22
    picture.elbow([(one.x + one.width, at), (middle, at), (middle, to), (other.x, to)])
