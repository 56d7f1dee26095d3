"""Questions of `cargo xtask bench kinds` and `concurrent` on an engine that is used from Python.

The bench writes the questions and their known answers: `benches/src/kinds/setup.rs` says what is measured. Prints one line of JSON:
the time of each question, the elapsed and the CPU time of all, and the process's peak of memory after loading. Answers stay in the engine's
columns until the clock has stopped.

    python3 kinds.py --versions
    python3 kinds.py duckdb workload.json --threads 2
"""

import json
import math
import threading
import time

from engines import ENGINES, asked

# DataFusion's averages of decimals have six digits behind the point.
PRECISION, DIGITS = 1e-9, 1e-6


def value(of):
    return of if isinstance(of, str) else float(of)


def verify(question, table):
    name, known = question["name"], question["answer"]
    rows = zip(*(column.to_pylist() for column in table.columns))
    rows = sorted(tuple(value(of) for of in row) for row in rows)
    known = [tuple(row) for row in known]
    same = len(rows) == len(known) and all(
        a == b or (isinstance(a, float) and isinstance(b, (int, float)) and math.isclose(a, b, rel_tol=PRECISION, abs_tol=DIGITS))
        for row, other in zip(rows, known)
        for a, b in zip(row, other)
    )
    if not same:
        raise SystemExit(f"{name} gave {rows[:3]} ..., not {known[:3]} ...")


def ask(columns, question):
    """The question, its answer, and its time in ms."""
    start = time.monotonic()
    table = columns(question["sql"])
    return question, table, (time.monotonic() - start) * 1e3


def measured(engine, workload):
    """All clients' questions, asked at once behind one round of them that is not counted."""
    questions, clients, each = workload["questions"], workload["clients"], workload["each"]
    columns = engine.columns()
    forget_peak()
    for question in questions:
        verify(question, ask(columns, question)[1])
    asked, failed = [], []
    ready = threading.Barrier(clients + 1)

    def client(first, columns):
        try:
            ready.wait()
            for at in range(first, first + each):
                asked.append(ask(columns, questions[at % len(questions)]))
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=client, args=(number, engine.columns())) for number in range(clients)]
    for thread in threads:
        thread.start()
    start, cpu = time.monotonic(), time.process_time()
    ready.wait()
    for thread in threads:
        thread.join()
    wall_ms, cpu_ms = (time.monotonic() - start) * 1e3, (time.process_time() - cpu) * 1e3
    if failed:
        raise failed[0]
    for question, table, _ in asked:
        verify(question, table)
    return {"times_ms": [of for _, _, of in asked], "wall_ms": wall_ms, "cpu_ms": cpu_ms, "peak_mib": peak_mib()}


def forget_peak():
    """Counts the peak from here on, without what loading took. `man proc_pid_clear_refs` has the 5."""
    with open("/proc/self/clear_refs", "w", encoding="ascii") as refs:
        refs.write("5")


def peak_mib():
    """The greatest resident memory: `ru_maxrss` would count that of the bench, which started this process."""
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:")) / 1024


def main():
    options, workload = asked(__doc__)
    if workload is None:
        return
    engine = ENGINES[options.engine](workload["tables"], options.threads, workload["from_files"])
    print(json.dumps(measured(engine, workload)), flush=True)


if __name__ == "__main__":
    main()
