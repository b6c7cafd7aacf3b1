"""How are experiments run, anywhere?

- `code`: which code, and which machine, a row comes from
- `results`: rows on disk, one Parquet file for each point and seed
- `tasks`: what has to be computed, and how one task does it
- `published`: rows beside a report, from which a run goes on
- `job`: all of it as one Spark job
- `frames`: workloads as Spark DataFrames; this and `job` are what knows Spark in the lab
"""
