"""The documented path to `start` and `session`, which are at home in `spark.session`."""

from tidegate.pipeline.spark.session import session, start

__all__ = ["session", "start"]
