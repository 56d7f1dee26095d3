"""One query of `cargo xtask bench kinds` on an engine that is used from Python.

The bench writes the query and its known answer: `benches/src/kinds.rs` says what is measured. Prints one line of JSON: the time and
the CPU time of each run, and the process's peak of memory. An answer stays in the engine's columns while the clock runs.

    python3 kinds.py --versions
    python3 kinds.py duckdb workload.json --threads 2 --runs 5
"""

import json
import math
import resource
import time

from engines import ENGINES, asked

# DataFusion's averages of decimals have six digits behind the point.
PRECISION, DIGITS = 1e-9, 1e-6


def value(of):
    return of if isinstance(of, str) else float(of)


def verify(name, rows, known):
    rows = sorted(tuple(value(of) for of in row) for row in rows)
    known = [tuple(row) for row in known]
    same = len(rows) == len(known) and all(
        a == b or (isinstance(a, float) and isinstance(b, (int, float)) and math.isclose(a, b, rel_tol=PRECISION, abs_tol=DIGITS))
        for row, other in zip(rows, known)
        for a, b in zip(row, other)
    )
    if not same:
        raise SystemExit(f"{name} gave {rows[:3]} ..., not {known[:3]} ...")


def measured(columns, workload, runs):
    """The times of `runs` runs behind one that is not counted; each answer is checked."""
    times_ms, cpu_ms = [], []
    for _ in range(runs + 1):
        start, cpu = time.monotonic(), time.process_time()
        table = columns(workload["sql"])
        times_ms.append((time.monotonic() - start) * 1e3)
        cpu_ms.append((time.process_time() - cpu) * 1e3)
        rows = zip(*(column.to_pylist() for column in table.columns))
        verify(workload["name"], rows, workload["answer"])
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"times_ms": times_ms[1:], "cpu_ms": cpu_ms[1:], "peak_mib": peak_mib}


def main():
    options, workload = asked(
        __doc__,
        ("--runs", {"type": int, "default": 5}),
    )
    if workload is None:
        return
    engine = ENGINES[options.engine](workload["tables"], options.threads, workload["from_files"])
    print(json.dumps(measured(engine.columns(), workload, options.runs)), flush=True)


if __name__ == "__main__":
    main()
