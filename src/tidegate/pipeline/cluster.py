"""The documented path to `cluster`, which is at home in `spark.cluster`."""

from tidegate.pipeline.spark.cluster import cluster

__all__ = ["cluster"]
