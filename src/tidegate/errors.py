"""What can go wrong, and what a person is told about it.

Every error of Tidegate is a `TidegateError`. An error about a filter's text says what was wrong,
where (a caret under the place), and what to write instead.
"""

_WINDOW = 60


class TidegateError(Exception):
    """Anything Tidegate refuses."""


class TidegateWarning(UserWarning):
    """Something that is allowed, and hardly ever meant."""


class FilterError(TidegateError):
    """A filter that cannot be accepted: `reason`, `position` in `text`, what to write `instead`."""

    def __init__(
        self,
        reason: str,
        text: str | None = None,  # nothing is keyword-only, so that errors can be pickled
        position: int | None = None,
        instead: str | None = None,
    ) -> None:
        super().__init__(reason, text, position, instead)
        self.reason = reason
        self.text = text
        self.position = position
        self.instead = instead

    def __str__(self) -> str:
        lines = [self.reason]
        if self.text is not None and self.position is not None:
            lines[0] += f" (at position {self.position})"
            lines += _excerpt(self.text, self.position)
        if self.instead is not None:
            lines.append(f"  write instead: {self.instead}")
        return "\n".join(lines)


class FilterSyntaxError(FilterError):
    """The text is not a filter of the language."""


class FilterTypeError(FilterError):
    """A constant, a parameter or an attribute has a type that does not fit."""


class DocumentError(TidegateError):
    """A document that cannot be read: not well-formed, too large, or with what is not allowed."""


class ParameterError(TidegateError):
    """A parameter is missing, unknown or unbound."""


class SchemaError(TidegateError):
    """A schema that cannot be read, or two filters whose schemas differ."""


class SubscriptionError(TidegateError):
    """A subscription's id that is unknown, already there, or of the wrong kind."""


class IndexFileError(TidegateError):
    """An index file that is damaged, foreign or of another version."""


class StoreError(TidegateError):
    """A subscription store that is missing, foreign, damaged, or changed by too many at once."""


class StorageError(TidegateError):
    """What a broker wrote down is damaged or foreign, or it can write down nothing more."""


class FrameError(TidegateError):
    """What came on a connection is none of what can come there; the connection ends."""


class LinkError(TidegateError):
    """A broker that cannot be reached, or that has ended a connection: why."""


class MeasureError(TidegateError):
    """A measure was asked for where no distribution gives one."""


class ScenarioError(TidegateError):
    """A scenario that cannot be simulated: which key is wrong, and what is allowed there."""


class LabError(TidegateError):
    """An experiment that cannot be run or reported: which one, at which point, and why."""


def _excerpt(text: str, position: int) -> list[str]:
    """Two lines: the neighbourhood of `position` in `text`, and a caret under it."""
    start = max(0, position - _WINDOW // 2)
    stop = min(len(text), start + _WINDOW)
    shown = "".join(c if c.isprintable() else "·" for c in text[start:stop])
    head = "…" if start > 0 else ""
    tail = "…" if stop < len(text) else ""
    return [f"  {head}{shown}{tail}", "  " + " " * (len(head) + position - start) + "^"]
