"""GROUP BY queries on an engine that is used from Python.

Started by `cargo xtask bench groups`, which writes the tables, the queries and the known answers, and does the same with our own
engine: `benches/src/groups.rs` says what is measured. Each query prints one line of JSON: its name, and a time for each run.

    python3 group_by.py --versions
    python3 group_by.py duckdb workload.json --threads 2 --runs 5
"""

import argparse
import json
import time

from engines import ENGINES, versions


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
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--versions", action="store_true", help="print which engines are installed, as JSON")
    parser.add_argument("engine", nargs="?", choices=sorted(ENGINES))
    parser.add_argument("workload", nargs="?")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    if options.versions:
        print(json.dumps(versions()))
        return
    if options.workload is None:
        parser.error("an engine and a workload are needed")
    with open(options.workload, encoding="utf-8") as file:
        workload = json.load(file)
    client = ENGINES[options.engine](workload["tables"], options.threads, from_files=False).client()
    for query in workload["queries"]:
        print(json.dumps(measured(client, query, options.runs)), flush=True)


if __name__ == "__main__":
    main()
