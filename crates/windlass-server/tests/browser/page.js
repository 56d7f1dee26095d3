// Drives the page as a person would. Evaluated in it by `integration/browser.rs`, which gets what the
// last expression resolves to, or the error.

(async () => {
  const byId = (id) => document.getElementById(id);
  const until = async (what, isSo) => {
    // A hang fails after a minute.
    for (let tries = 0; tries < 1200; tries += 1) {
      const found = isSo();
      if (found) return found;
      await new Promise((done) => setTimeout(done, 50));
    }
    throw new Error(`never: ${what}; the page says: ${document.body.innerText.slice(0, 500)}`);
  };
  const isShown = (id) => !byId(id).hidden;
  const assert = (isSo, what) => {
    if (!isSo) throw new Error(what);
  };
  const run = async (sql, button = "run") => {
    byId("sql").value = sql;
    byId(button).click();
    await until(`the end of ${sql}`, () => !byId("run").disabled);
  };

  await until("the login", () => isShown("login"));
  assert(!isShown("server"), "nothing is shown before the login");
  byId("login-user").value = "alice";
  byId("login-password").value = "wrong";
  byId("login-form").requestSubmit();
  await until("a refusal", () => isShown("login-error"));
  assert(byId("login-error").textContent.includes("password authentication failed"), "the refusal's text");
  byId("login-password").value = "wonderland";
  byId("login-form").requestSubmit();
  await until("the page", () => isShown("server"));
  assert(!isShown("login") && byId("user").textContent === "alice", "alice is logged in");

  await run("select '<b id=evil>x</b><img src=x onerror=alert(1)>' as html, null as nothing, 41 + 1 as n");
  assert(!document.querySelector("#evil") && !document.querySelector("#result img"), "text stays text");
  const cells = [...document.querySelectorAll("#result td")].map((cell) => cell.textContent);
  assert(cells[0].startsWith("<b id=evil>") && cells[1] === "NULL" && cells[2] === "42", `cells: ${cells}`);
  assert(byId("outcome").textContent.startsWith("1 row"), byId("outcome").textContent);

  await run("select i from generate_series(1, 5000) as a(i)");
  assert(document.querySelectorAll("#result tbody tr").length === 1000, "a thousand rows");
  assert(byId("outcome").textContent.includes("cut"), byId("outcome").textContent);

  await run("select * from nowhere");
  assert(isShown("sql-error") && byId("sql-error").textContent.startsWith("42P01"), byId("sql-error").textContent);

  await run("select count(*) from cities", "analyze");
  assert(document.querySelector("#result pre").textContent.includes("WindlassExec"), "the plan");

  // A statement is seen in the table and in the lanes, and its own button ends it.
  const endless = "select count(*) from generate_series(1, 20000000000) as a(i) where i % 7 = 3";
  byId("sql").value = endless;
  byId("run").click();
  const row = await until("the statement", () =>
    [...document.querySelectorAll("#statements tbody tr")].find((one) => one.innerText.includes(endless)));
  const canvas = byId("canvas");
  const isColoured = () => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    for (let at = 0; at < data.length; at += 4) {
      const [red, green, blue, alpha] = data.slice(at, at + 4);
      if (alpha === 255 && Math.max(red, green, blue) - Math.min(red, green, blue) > 60) return true;
    }
    return false;
  };
  await until("a colour in the lanes", isColoured);
  row.querySelector("button").click();
  await until("its end", () => !byId("run").disabled);
  assert(byId("sql-error").textContent.startsWith("57014"), byId("sql-error").textContent);
  await until("an empty table", () => byId("statements").innerText.includes("Nothing runs."));

  // The box's own button ends it by letting go of the request.
  byId("sql").value = endless;
  byId("run").click();
  await until("the statement again", () => byId("statements").innerText.includes(endless));
  byId("stop").click();
  await until("an empty table again", () => byId("statements").innerText.includes("Nothing runs."));
  assert(byId("outcome").textContent === "cancelled", byId("outcome").textContent);

  const normal = [...document.querySelectorAll("#times tbody tr")].find((one) => one.innerText.includes("normal"));
  assert(/\d (µs|ms|s)/.test(normal.innerText), normal.innerText);
  assert(document.documentElement.scrollWidth <= document.documentElement.clientWidth, "the page is too wide");

  byId("logout").click();
  await until("the login again", () => isShown("login"));
  return "done";
})()
