// Small parts: elements, requests, and quantities with their units. Text goes in by textContent.

export const byId = (id) => document.getElementById(id);

export function element(tag, text, className) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

/** A request to this server; `body` makes it a POST. Throws `LoggedOut` if there is no session. */
export async function ask(path, body, signal) {
  const options = { signal, credentials: "same-origin", cache: "no-store" };
  if (body !== undefined) {
    options.method = "POST";
    options.headers = { "Content-Type": "application/json" };
    options.body = JSON.stringify(body);
  }
  const response = await fetch(path, options);
  const isJson = (response.headers.get("Content-Type") ?? "").startsWith("application/json");
  const answer = isJson ? await response.json() : await response.text();
  if (response.status === 401 && path !== "/api/login") throw new LoggedOut();
  return { isOk: response.ok, status: response.status, answer };
}

export class LoggedOut extends Error {}

/** A time in milliseconds, with three digits and its unit. */
export function time(ms) {
  if (ms < 0.0005) return "0 ms";
  if (ms < 1) return `${digits(ms * 1000)} µs`;
  if (ms < 1000) return `${digits(ms)} ms`;
  if (ms < 100_000) return `${digits(ms / 1000)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}

export function bytes(count) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (count >= 1024 && unit < units.length - 1) {
    count /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? count : digits(count)} ${units[unit]}`;
}

export const count = (number) => number.toLocaleString("en");

const digits = (value) => (value < 9.995 ? value.toFixed(2) : value < 99.95 ? value.toFixed(1) : value.toFixed(0));

/** The colour of a statement: neighbours in number are far apart on the wheel. */
export function colour(statement, isDark) {
  const hue = (statement * 137.508) % 360;
  return `hsl(${hue.toFixed(1)} ${isDark ? "62% 62%" : "60% 47%"})`;
}
