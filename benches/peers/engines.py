"""Engines that are used from Python: each loads tables from Parquet files, or reads those for each query, and gives clients that
run SQL and return rows, or columns of Arrow.
"""

import argparse
import importlib.metadata
import json
import os


class DuckDb:
    """Tables of its own, a cursor for each client."""

    package = "duckdb"

    def __init__(self, tables, threads, from_files):
        import duckdb

        self.connection = duckdb.connect(config={"threads": threads})
        for name, path in tables.items():
            if from_files:
                self.connection.execute(f"create view {name} as select * from read_parquet('{path}')")
            else:
                self.connection.execute(f"create table {name} as select * from read_parquet(?)", [path])

    def client(self):
        cursor = self.connection.cursor()
        return lambda sql: cursor.execute(sql).fetchall()

    def columns(self):
        cursor = self.connection.cursor()
        return lambda sql: cursor.sql(sql).to_arrow_table()


class DataFusion:
    """Record batches in memory, in as many partitions as there are threads."""

    package = "datafusion"
    batch_rows = 8192

    def __init__(self, tables, threads, from_files):
        os.environ["TOKIO_WORKER_THREADS"] = str(threads)
        import datafusion
        import pyarrow.parquet

        config = datafusion.SessionConfig()
        config = config.with_target_partitions(threads).with_batch_size(self.batch_rows)
        self.context = datafusion.SessionContext(config)
        for name, path in tables.items():
            if from_files:
                self.context.register_parquet(name, path)
                continue
            table = pyarrow.parquet.read_table(path).combine_chunks()
            batches = table.to_batches(max_chunksize=self.batch_rows)
            partitions = [batches[start::threads] for start in range(threads)]
            self.context.register_record_batches(name, partitions)

    def client(self):
        def rows(sql):
            batches = self.context.sql(sql).collect()
            return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]

        return rows

    def columns(self):
        import pyarrow

        return lambda sql: pyarrow.Table.from_batches(self.context.sql(sql).collect())


class DataFusionSmallBatches(DataFusion):
    """With batches of 1,024 rows, so that its tasks yield more often."""

    batch_rows = 1024


class Polars:
    """Data frames, the streaming engine."""

    package = "polars"

    def __init__(self, tables, threads, from_files):
        os.environ["POLARS_MAX_THREADS"] = str(threads)
        import polars

        read = polars.scan_parquet if from_files else polars.read_parquet
        frames = {name: read(path) for name, path in tables.items()}
        self.context = polars.SQLContext(frames)

    def client(self):
        return lambda sql: self.context.execute(sql).collect(engine="streaming").rows()

    def columns(self):
        return lambda sql: self.context.execute(sql).collect(engine="streaming").to_arrow()


ENGINES = {
    "duckdb": DuckDb,
    "datafusion": DataFusion,
    "datafusion-1024": DataFusionSmallBatches,
    "polars": Polars,
}


def versions():
    """The version of each engine's package; null where it is not installed."""
    found = {}
    for name, engine in ENGINES.items():
        try:
            found[name] = importlib.metadata.version(engine.package)
        except importlib.metadata.PackageNotFoundError:
            found[name] = None
    return found


def asked(story, *more):
    """What a script was called with, and its workload: None if only versions were asked for, which it has printed then. `more` are
    further arguments, as a name and its settings.
    """
    parser = argparse.ArgumentParser(description=story.splitlines()[0])
    parser.add_argument("--versions", action="store_true", help="print which engines are installed, as JSON")
    parser.add_argument("engine", nargs="?", choices=sorted(ENGINES))
    parser.add_argument("workload", nargs="?")
    parser.add_argument("--threads", type=int, default=2)
    for name, settings in more:
        parser.add_argument(name, **settings)
    options = parser.parse_args()
    if options.versions:
        print(json.dumps(versions()))
        return options, None
    if options.workload is None:
        parser.error("an engine and a workload are needed")
    with open(options.workload, encoding="utf-8") as file:
        return options, json.load(file)
