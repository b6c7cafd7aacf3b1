"""How are events read from files?

Parquet, JSON lines and CSV, as a batch or as a stream of the files that come; and XML, where each
file is one event, with its path and its content as columns. Types of the others are those of a
schema if there is one: columns of CSV are found by their names in the first line, whatever their
order, and those that the schema does not have are texts. Without a schema they are what Spark
infers from the files that are there. Lines that cannot be read are not lost: their text is in the
column `_corrupt_record`, and they come out of `match` as malformed events.
"""

import glob
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tidegate.errors import TidegateError
from tidegate.filters.expression import attribute_path
from tidegate.filters.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

FORMATS: Final = ("parquet", "json", "csv", "xml")
CORRUPT: Final = "_corrupt_record"

_SUFFIXES: Final = {
    ".parquet": "parquet",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".csv": "csv",
    ".xml": "xml",
}
_WHOLE_FILES: Final = "path STRING, modificationTime TIMESTAMP, length BIGINT, content BINARY"
_PACKED: Final = (".gz", ".bz2", ".zst", ".snappy", ".lz4")


@dataclass(frozen=True, slots=True)
class EventFiles:
    """Files of events: a path or a pattern of paths, and what the files hold."""

    path: str
    format: str

    @property
    def document(self) -> str | None:
        """The column that has the document, where an event is nothing else."""
        return "content" if self.format == "xml" else None

    @classmethod
    def find(cls, path: str, format: str | None, *, later: bool = False) -> "EventFiles":
        """The files at a path; they must be there unless they may come `later`.

        What they hold is told by their names, if not by `format`.
        """
        if "://" in path:
            return cls(path, format or _format([path], path))
        place = os.path.abspath(path)
        matches = glob.glob(place)
        if not matches and not (later and glob.has_magic(place)):
            raise TidegateError(f"there are no events at {path}")
        if later and os.path.isfile(place):
            raise TidegateError(
                f"a stream takes the files of a folder, or of a pattern such as "
                f"{os.path.dirname(path) or '.'}/*{Path(path).suffix}; {path} is a file"
            )
        names = [name for match in matches for name in _files(match)]
        if not names and not later:
            raise TidegateError(f"there are no files of events in {path}")
        return cls(place, format or _format(names, path))

    def batch(self, spark: "SparkSession", schema: Schema | None) -> "DataFrame":
        """All events that are there."""
        return self._load(self._reader(spark.read, self._types(spark, schema)))

    def stream(
        self, spark: "SparkSession", schema: Schema | None, files: int | None = None
    ) -> "DataFrame":
        """The events that are there and those to come; so many files in a micro-batch at most."""
        types = self._types(spark, schema, stream=True)
        reader = self._reader(spark.readStream, types)
        if files is not None:
            reader = reader.option("maxFilesPerTrigger", files)
        return self._load(reader)

    def _load(self, reader: Any) -> "DataFrame":
        events: DataFrame = reader.load(self.path)
        return events if self.document is None else events.select("path", self.document)

    def _reader(self, reader: Any, types: "StructType | None") -> Any:
        if self.document is not None:  # whole files, whose columns are always the same
            return reader.format("binaryFile").schema(_WHOLE_FILES)
        reader = reader.format(self.format)
        if self.format == "csv":
            reader = reader.option("header", True).option("enforceSchema", False)
            reader = reader.option("inferSchema", types is None)
        if types is None:
            return reader
        if self.format != "parquet" and CORRUPT not in types.names:
            reader = reader.option("columnNameOfCorruptRecord", CORRUPT)
            types = _copy(types).add(CORRUPT, "string")
        return reader.schema(types)

    def _types(
        self, spark: "SparkSession", schema: Schema | None, stream: bool = False
    ) -> "StructType | None":
        """What to read the files as; None if Spark is to see for itself."""
        if self.document is not None:
            return None
        if schema is not None and self.format == "json":
            return spark_schema(schema)
        if schema is not None and self.format == "csv":
            return self._named(spark, spark_schema(schema))
        if self.format == "parquet" and not stream:
            return None
        there = any(True for match in glob.glob(self.path) for _ in _files(match))
        if not there and "://" not in self.path:
            if schema is None:
                raise TidegateError(
                    f"there are no files in {self.path} yet: say with --schema what they will hold"
                )
            return spark_schema(schema)
        return self._reader(spark.read, None).load(self.path).schema  # type: ignore[no-any-return]

    def _named(self, spark: "SparkSession", types: "StructType") -> "StructType":
        """The types of the columns that CSV files have, in their order."""
        from pyspark.sql.types import StringType, StructField, StructType

        if not glob.glob(self.path):
            return types
        names = self._reader(spark.read, None).option("inferSchema", False).load(self.path).columns
        if not names:
            return types
        known = {field.name: field for field in types.fields}
        return StructType([known.get(name, StructField(name, StringType())) for name in names])


def spark_schema(schema: Schema) -> "StructType":
    """A schema as Spark has it; every column may be NULL, as Spark makes those it reads."""
    from pyspark.sql.types import StructType

    top: dict[str, Any] = {}
    for name in schema:
        *around, own = attribute_path(name)
        place = top
        for step in around:
            inside = place.setdefault(step, {})
            if not isinstance(inside, dict):
                inside = place[step] = {}
            place = inside
        if schema[name].type.name == "struct":
            place.setdefault(own, {})
        else:
            place[own] = schema[name].type.name
    read = StructType.fromDDL(", ".join(_columns(top, " ")))
    assert isinstance(read, StructType)
    return read


def _columns(fields: dict[str, Any], between: str) -> Iterator[str]:
    for name, kind in fields.items():
        spelled = f"STRUCT<{', '.join(_columns(kind, ': '))}>" if isinstance(kind, dict) else kind
        quoted = name.replace("`", "``")
        yield f"`{quoted}`{between}{spelled}"


def _copy(types: "StructType") -> "StructType":
    from pyspark.sql.types import StructType

    return StructType(list(types.fields))


def _files(path: str) -> Iterator[str]:
    """The files that Spark reads at a path, a folder's and those of folders in it."""
    if os.path.isfile(path):
        yield path
        return
    for place, folders, names in os.walk(path):
        folders[:] = [name for name in folders if name[0] not in "._"]
        yield from (os.path.join(place, name) for name in names if name[0] not in "._")


def _format(names: list[str], path: str) -> str:
    found = {_SUFFIXES.get(_suffix(name)) for name in names}
    [kind] = found if len(found) == 1 else [None]
    if kind is None:
        raise TidegateError(
            f"what the files of {path} hold is not clear; say --format {' or '.join(FORMATS)}"
        )
    return kind


def _suffix(name: str) -> str:
    path = Path(name.lower())
    inner = Path(path.stem).suffix
    return inner if path.suffix in _PACKED and inner != ".xml" else path.suffix
