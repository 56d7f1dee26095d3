// The box for SQL: a statement, its result or its plan, and an end to it.

import { LoggedOut, ask, byId, count, element, time } from "./parts.js";

export class Sql {
  constructor(loggedOut) {
    this.loggedOut = loggedOut;
    this.running = null;
    byId("run").addEventListener("click", () => this.run(""));
    byId("explain").addEventListener("click", () => this.run("EXPLAIN "));
    byId("analyze").addEventListener("click", () => this.run("EXPLAIN ANALYZE "));
    byId("stop").addEventListener("click", () => this.stop());
    byId("sql").addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.run("");
    });
  }

  /** Ends what runs: the server ends a statement whose request is gone. */
  stop() {
    this.running?.abort();
  }

  clear() {
    this.stop();
    byId("result").replaceChildren();
    this.hide();
  }

  async run(prefix) {
    const text = byId("sql").value.trim();
    if (this.running || text === "") return;
    const sql = /^explain\b/i.test(text) ? text : prefix + text;
    const running = new AbortController();
    this.running = running;
    this.hide();
    this.setRunning(true);
    const began = performance.now();
    const clock = setInterval(() => {
      byId("outcome").textContent = `runs for ${time(performance.now() - began)}`;
    }, 100);
    try {
      const asked = await ask("/api/sql", { sql, class: byId("class").value }, running.signal);
      clearInterval(clock);
      if (asked.isOk) this.show(asked.answer);
      else this.fail(asked.answer);
    } catch (error) {
      clearInterval(clock);
      if (error instanceof LoggedOut) this.loggedOut();
      else if (running.signal.aborted) byId("outcome").textContent = "cancelled";
      else this.fail({ error: { code: "", message: "the server did not answer" } });
    } finally {
      clearInterval(clock);
      this.running = null;
      this.setRunning(false);
    }
  }

  hide() {
    byId("sql-error").hidden = true;
    byId("result").hidden = true;
    byId("outcome").textContent = "";
  }

  setRunning(isRunning) {
    for (const id of ["run", "explain", "analyze"]) byId(id).disabled = isRunning;
    byId("stop").hidden = !isRunning;
  }

  fail(answer) {
    const place = byId("sql-error");
    const error = answer?.error ?? { code: "", message: String(answer) };
    place.replaceChildren();
    if (error.code) place.append(element("code", error.code));
    place.append(error.message);
    place.hidden = false;
    byId("outcome").textContent = "failed";
  }

  show({ tag, columns, rows, is_cut, is_value_cut, took_ms, notice }) {
    const result = byId("result");
    const parts = [time(took_ms)];
    if (columns.length > 0) {
      const isPlan = columns.length === 2 && columns[0].name === "plan_type" && columns[1].name === "plan";
      result.replaceChildren(...(isPlan ? plans(rows) : [table(columns, rows)]));
      result.hidden = false;
      result.scrollTo(0, 0);
      if (!isPlan) parts.unshift(`${is_cut ? "the first " : ""}${count(rows.length)} ${rows.length === 1 ? "row" : "rows"}`);
      if (is_cut) parts.push("cut at 1,000 rows or 1 MiB");
      if (is_value_cut) parts.push("long values are cut");
    } else {
      parts.unshift(tag);
    }
    if (notice) parts.push(notice);
    byId("outcome").textContent = parts.join(" · ");
  }
}

function table(columns, rows) {
  const made = element("table");
  const head = element("tr");
  for (const { name, is_number } of columns) head.append(element("th", name, is_number ? "number" : ""));
  const body = element("tbody");
  for (const row of rows) {
    const line = element("tr");
    row.forEach((value, index) => {
      const kind = columns[index].is_number ? "number" : "";
      line.append(value === null ? element("td", "NULL", `${kind} null`) : element("td", value, kind));
    });
    body.append(line);
  }
  const top = element("thead");
  top.append(head);
  made.append(top, body);
  return made;
}

function plans(rows) {
  return rows.flatMap(([kind, plan]) => [element("h3", kind ?? ""), element("pre", plan ?? "")]);
}
