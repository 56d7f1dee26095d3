"""GROUP BY queries on an engine that is used from Python.

Started by `cargo xtask bench groups`, which writes the tables, the queries and the known answers, and does the same with our own
engine: `benches/src/groups.rs` says what is measured. Each query prints one line of JSON: its name, and a time for each run.

    python3 group_by.py --versions
    python3 group_by.py duckdb workload.json --threads 2 --runs 5
"""

import json
import time

from engines import ENGINES, asked


def measured(client, query, runs):
    """The times of `runs` runs behind one that is not counted; each answer is checked."""
    known = [tuple(row) for row in query["answer"]]
    times_ms = []
    for _ in range(runs + 1):
        start = time.monotonic()
        rows = client(query["sql"])
        times_ms.append((time.monotonic() - start) * 1e3)
        if sorted(tuple(int(value) for value in row) for row in rows) != known:
            raise SystemExit(f"{query['name']} gave {rows[:5]} ..., not {known[:5]} ...")
    return {"name": query["name"], "times_ms": times_ms[1:]}


def main():
    options, workload = asked(
        __doc__,
        ("--runs", {"type": int, "default": 5}),
    )
    if workload is None:
        return
    client = ENGINES[options.engine](workload["tables"], options.threads, from_files=False).client()
    for query in workload["queries"]:
        print(json.dumps(measured(client, query, options.runs)), flush=True)


if __name__ == "__main__":
    main()
