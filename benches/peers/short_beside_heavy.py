"""A short query at a fixed pace beside clients with heavy ones, on an engine that is used from Python.

Started by `cargo xtask bench queries`, which writes the tables, the queries and the known answers, and does the same with our own
engine. The loads, the clock and what is told are those of `benches/src/queries/load.rs`: read there what they mean. Each load
prints one line of JSON.

    python3 short_beside_heavy.py --versions
    python3 short_beside_heavy.py duckdb workload.json --threads 2 --clients 0 2 8 --seconds 20 --pace-ms 50
"""

import json
import threading
import time
from decimal import Decimal

from engines import ENGINES, asked

WARM_UP_S = 1.0


class Clients:
    """The clients of an engine; each query's answer is checked."""

    def __init__(self, engine, workload):
        self.engine = engine
        self.workload = workload
        self.known = [known_group(group) for group in workload["answers"]["heavy"]]

    def short(self):
        """A client of the short query: runs it and gives the time when its answer was there."""
        query, sql, known = self.engine.client(), self.workload["short"], self.workload["answers"]["short"]

        def run():
            rows = query(sql)
            end = time.monotonic()
            if [tuple(row) for row in rows] != [(known,)]:
                raise SystemExit(f"the short query gave {rows}, not {known}")
            return end

        return run

    def heavy(self):
        """A client of the heavy query."""
        query, sql = self.engine.client(), self.workload["heavy"]

        def run():
            rows = query(sql)
            end = time.monotonic()
            if len(rows) != len(self.known) or not all(map(is_close, rows, self.known)):
                raise SystemExit(f"the heavy query gave {rows}, not {self.known}")
            return end

        return run


def known_group(group):
    (flag, status), sums, averages, count = group
    return flag, status, [Decimal(value) for value in sums], averages, count


def is_close(row, known):
    """Sums are exact. Averages are doubles or decimals, of as few as six places, depending on the engine."""
    flag, status, sums, averages, count = known
    return (
        (row[0], row[1], row[9]) == (flag, status, count)
        and all(Decimal(value) == exact for value, exact in zip(row[2:6], sums))
        and all(abs(float(value) - near) <= 1e-6 + 1e-9 * near for value, near in zip(row[6:9], averages))
    )


def paced(query, pace_s, lasts_s):
    """Asks `query` at a pace: latencies, how late the client woke, and how many it did not ask."""
    latencies, woke_late = [], []
    start = time.monotonic()
    count = round(lasts_s / pace_s)
    for number in range(count):
        due = start + pace_s * number
        now = time.monotonic()
        if now > due + lasts_s:
            return latencies, woke_late, count - number
        if now < due:
            time.sleep(due - now)
            woke_late.append(time.monotonic() - due)
        latencies.append(query() - due)
    return latencies, woke_late, 0


def run_load(clients, heavy_clients, pace_s, lasts_s):
    """One load, as a dictionary with the fields of `Measured`."""
    over = threading.Event()
    queries = []
    failed = []

    def back_to_back():
        try:
            query = clients.heavy()
            while not over.is_set():
                start = time.monotonic()
                queries.append((start, query()))
        except BaseException as error:
            failed.append(error)

    def alone():
        start = time.monotonic()
        if heavy_clients:
            time.sleep(lasts_s / 2)
        return start, time.monotonic()

    found = []

    def short_client():
        try:
            found.append(paced(clients.short(), pace_s, lasts_s))
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=back_to_back) for _ in range(heavy_clients)]
    for thread in threads:
        thread.start()
    time.sleep(WARM_UP_S)
    before = alone()
    start = time.monotonic()
    short = threading.Thread(target=short_client)
    short.start()
    short.join()
    beside = start, time.monotonic()
    after = alone()
    over.set()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]
    latencies, woke_late, unasked = found[0]

    def done(span):
        return sum(
            max(0.0, min(end, span[1]) - max(start, span[0])) / (end - start) for start, end in queries
        )

    def seconds(span):
        return span[1] - span[0]

    alone_s = seconds(before) + seconds(after)
    return {
        "clients": heavy_clients,
        "latencies_ms": [latency * 1e3 for latency in latencies],
        "woke_late_ms": [late * 1e3 for late in woke_late],
        "unasked": unasked,
        "heavy_alone_per_s": (done(before) + done(after)) / alone_s if heavy_clients else None,
        "heavy_beside_per_s": done(beside) / seconds(beside) if heavy_clients else None,
    }


def main():
    options, workload = asked(
        __doc__,
        ("--clients", {"type": int, "nargs": "+", "default": [0, 2, 8]}),
        ("--seconds", {"type": float, "default": 20.0}),
        ("--pace-ms", {"type": float, "default": 50.0}),
        ("--from-files", {"action": "store_true", "help": "each query reads the Parquet files"}),
    )
    if workload is None:
        return
    tables = {name: workload[name] for name in ("lineitem", "customer")}
    clients = Clients(ENGINES[options.engine](tables, options.threads, options.from_files), workload)
    # Each kind once beforehand, so that nothing is measured that happens only the first time.
    clients.short()()
    clients.heavy()()
    for heavy_clients in options.clients:
        measured = run_load(clients, heavy_clients, options.pace_ms / 1e3, options.seconds)
        print(json.dumps(measured), flush=True)


if __name__ == "__main__":
    main()
