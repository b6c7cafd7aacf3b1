"""Is everything that was written where it is looked for?

Executors write files and the driver puts them in their place. If they do not see the same disk
under that path, Spark notices nothing: the driver finds an empty folder, or half of the files, and
says that all went well. So the rows are counted as they are written, and once more from what the
files say at their ends.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from tidegate.errors import StoreError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def write_parquet(rows: "DataFrame", folder: Path, by: Sequence[str] = ()) -> None:
    """Write rows as Parquet files, in folders by these columns; refused if some are missing then.

    What is missing is on other machines. What is there is left for the caller to remove.
    """
    from pyspark.sql import Observation
    from pyspark.sql.functions import count, lit

    written = Observation()
    counted = rows.observe(written, count(lit(1)).alias("rows"))
    counted.write.partitionBy(*by).parquet(f"file://{folder}")
    expected = int(written.get["rows"])
    seen = sum(pq.read_metadata(file).num_rows for file in folder.rglob("*.parquet"))
    if seen != expected:
        raise StoreError(
            f"{folder}: {expected:,} rows were written, but only {seen:,} are there: the folder "
            "must be on a file system that the driver and all executors see under the same path"
        )
