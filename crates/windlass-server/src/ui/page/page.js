// The page: a login, and twice a second what the server does now. Loads nothing from elsewhere.

import { Lanes } from "./lanes.js";
import { LoggedOut, ask, byId, bytes, colour, count, element, time } from "./parts.js";
import { Sql } from "./sql.js";

const EVERY_MS = 500;

const lanes = new Lanes();
const sql = new Sql(showLogin);
let isLoggedIn = false;
let timer = 0;

byId("login-form").addEventListener("submit", logIn);
byId("logout").addEventListener("click", logOut);
for (const button of document.querySelectorAll("[data-span]")) {
  button.addEventListener("click", () => {
    for (const other of document.querySelectorAll("[data-span]")) {
      other.setAttribute("aria-pressed", String(other === button));
    }
    lanes.show(Number(button.dataset.span));
  });
}
// A page that is not seen does not ask.
document.addEventListener("visibilitychange", () => {
  clearTimeout(timer);
  if (!document.hidden && isLoggedIn) look();
});
look();

async function logIn(event) {
  event.preventDefault();
  const user = byId("login-user").value;
  const password = byId("login-password").value;
  const place = byId("login-error");
  place.hidden = true;
  try {
    const { isOk, answer } = await ask("/api/login", { user, password });
    if (isOk) {
      byId("login-password").value = "";
      look();
      return;
    }
    place.textContent = answer?.error?.message ?? String(answer);
  } catch {
    place.textContent = "the server does not answer";
  }
  place.hidden = false;
}

async function logOut() {
  sql.clear();
  clearTimeout(timer);
  try {
    await ask("/api/logout", {});
  } catch {
    // The session ends by itself.
  }
  showLogin();
}

async function showLogin() {
  isLoggedIn = false;
  clearTimeout(timer);
  const access = await ask("/api/access").catch(() => ({ answer: {} }));
  byId("login-secret").hidden = access.answer.has_passwords === false;
  byId("server").hidden = true;
  byId("login").hidden = false;
  byId("login-user").focus();
}

/** Asks what the server does, and again later. */
async function look() {
  clearTimeout(timer);
  try {
    const { isOk, answer } = await ask(`/api/live?since=${lanes.since}`, undefined, AbortSignal.timeout(10_000));
    if (isOk) show(answer);
    else complain("the server is too busy to tell");
  } catch (error) {
    if (error instanceof LoggedOut) {
      showLogin();
      return;
    }
    complain("no answer");
  }
  if (!document.hidden) timer = setTimeout(look, EVERY_MS);
}

function complain(what) {
  if (isLoggedIn) byId("state").textContent = what;
  else showLogin();
}

function show(live) {
  isLoggedIn = true;
  byId("login").hidden = true;
  byId("server").hidden = false;
  byId("state").textContent = live.is_draining ? "the server shuts down" : "";
  byId("user").textContent = live.user;
  byId("running").textContent = count(live.running);
  byId("waiting").textContent = count(live.waiting);
  byId("connections").textContent = count(live.connections);
  const most = live.memory_bytes_max;
  byId("memory").textContent = bytes(live.memory_bytes) + (most === null ? "" : ` of ${bytes(most)}`);
  lanes.take(live.lanes, live.statements);
  showStatements(live);
  showTimes(live.times);
}

function showStatements({ statements, statements_more }) {
  const body = document.querySelector("#statements tbody");
  const before = new Map([...body.children].map((row) => [row.dataset.number, row]));
  const rows = statements.map((statement) => {
    const row = before.get(String(statement.number)) ?? statementRow(statement);
    const cells = row.children;
    const { is_running } = statement;
    cells[3].textContent = is_running ? "running" : "waiting";
    cells[3].className = is_running ? "" : "waits";
    cells[4].textContent = time(statement.since_ms);
    cells[5].textContent = time(statement.cpu_ms);
    cells[6].textContent = time(statement.waited_ms);
    cells[7].textContent = bytes(statement.memory_bytes);
    return row;
  });
  if (rows.length === 0) {
    const row = element("tr");
    const cell = element("td", "Nothing runs.", "empty");
    cell.colSpan = 10;
    row.append(cell);
    rows.push(row);
  }
  // A button that is pressed stays: rows are moved only if others have come or gone.
  const isSame = body.children.length === rows.length && rows.every((row, index) => body.children[index] === row);
  if (!isSame) body.replaceChildren(...rows);
  byId("statements-hint").textContent = statements_more > 0 ? `and ${count(statements_more)} more` : "";
}

function statementRow({ number, user, class: name, text, may_cancel }) {
  const row = element("tr");
  row.dataset.number = String(number);
  const first = element("td", undefined, "number");
  const swatch = element("span", undefined, "swatch");
  swatch.style.background = colour(number, matchMedia("(prefers-color-scheme: dark)").matches);
  first.append(swatch, String(number));
  const words = text === null ? element("td", "another user’s", "text hidden-text") : element("td", text, "text");
  words.title = text ?? "";
  const last = element("td");
  if (may_cancel) {
    const button = element("button", "Cancel", "danger small");
    button.type = "button";
    button.setAttribute("aria-label", `Cancel statement ${number}`);
    button.addEventListener("click", () => cancel(number, button));
    last.append(button);
  }
  const cells = ["", "", "", "", ""].map(() => element("td", "", "number"));
  cells[0].className = "";
  row.append(first, element("td", user), element("td", name), ...cells, words, last);
  return row;
}

async function cancel(number, button) {
  button.disabled = true;
  try {
    await ask("/api/cancel", { number });
  } catch (error) {
    button.disabled = false;
    if (error instanceof LoggedOut) showLogin();
  }
}

function showTimes({ window_s, classes }) {
  const rows = classes.map(({ class: name, count: ended, p50_ms, p99_ms }) => {
    const row = element("tr");
    row.append(element("td", name), element("td", count(ended), "number"));
    for (const value of [p50_ms, p99_ms]) row.append(element("td", ended > 0 ? time(value) : "–", "number"));
    return row;
  });
  document.querySelector("#times tbody").replaceChildren(...rows);
  byId("times-hint").textContent = `Statements that ended in the last ${window_s} s.`;
}
