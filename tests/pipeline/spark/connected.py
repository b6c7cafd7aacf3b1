"""A client of Spark Connect that matches a table and a stream, and counts the table.

Prints what it finds as JSON.
"""

import json
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from tidegate.pipeline import ParquetFolder, Store, gather, match, match_stream


def main(folder: Path) -> None:
    """Both examples of the documentation, on a server that this process starts."""
    spark = SparkSession.builder.remote("local[2]").getOrCreate()
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    store = Store.create(folder / "store")
    store.add("alice", "symbol = 'IBM' AND price < :limit", parameters={"limit": 10.0})
    store.add("bob", "price > 50 OR symbol LIKE 'S%'", subscriber="robert")
    trades = [(1, "IBM", 9.5), (2, "SAP", 60.0), (3, "IBM", 11.0)]
    events = spark.createDataFrame(trades, "event INT, symbol STRING, price DOUBLE")
    found: dict[str, Any] = {"batch": rows(match(events, store))}
    counted = gather(events, store)
    found["statistics"] = [counted.events, counted.counts.predicates["symbol = 'IBM'"]]
    events.write.parquet(str(folder / "events"))
    stream = spark.readStream.schema(events.schema).parquet(str(folder / "events"))
    store.update("alice", limit=12.0)
    query = match_stream(
        stream,
        store,
        ParquetFolder(str(folder / "out")),
        checkpoint=str(folder / "checkpoint"),
        trigger={"availableNow": True},
    )
    query.awaitTermination()
    found["foreachBatch"] = rows(spark.read.parquet(str(folder / "out")))
    writer = match(stream, store).writeStream.format("parquet")
    writer = writer.option("path", str(folder / "plain"))
    writer = writer.option("checkpointLocation", str(folder / "plain-checkpoint"))
    writer.trigger(availableNow=True).start().awaitTermination()
    found["stream"] = rows(spark.read.parquet(str(folder / "plain")))
    print(json.dumps(found))
    spark.stop()


def rows(notifications: DataFrame) -> list[list[Any]]:
    """Who was told of which event, at which version."""
    wanted = notifications.select("event", "subscriber", "version").collect()
    return sorted([row.event, row.subscriber, row.version] for row in wanted)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
