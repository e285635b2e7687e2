// Drives the console in Chromium. Reads the plan from standard input; prints a JSON line per cell.
import { readFileSync } from "node:fs";
import { AxeBuilder } from "@axe-core/playwright";
import { chromium } from "playwright-core";

const plan = JSON.parse(readFileSync(0, "utf8"));
const { open, locked } = plan;
const FLAGS = [
  "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync",
];
const browser = await chromium.launch({ executablePath: plan.chromium, args: FLAGS });

const check = (good, words) => {
  if (!good) throw new Error(words);
};

// A request of a client, with the sandbox's key unless another is named.
const ask = async (body, key = open.key) => {
  const answer = await fetch(`${open.data}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
    body: JSON.stringify(body),
  });
  await answer.text();
  return answer.headers.get("x-request-id");
};
const chat = (model, words, more = {}) => ({ model, messages: [{ role: "user", content: words }], ...more });
const admin = async (path, body) => {
  const options = body ? { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) } : {};
  const answer = await fetch(open.admin + path, options);
  check(answer.ok, `${path}: ${answer.status}`);
  return answer.json();
};

// What the pages have to show.
const seed = async () => {
  const names = {};
  for (let turn = 0; turn < 6; turn += 1) {
    for (const model of ["claude-sonnet-5-5", "gemini-3-flash", "bardo/auto", "gpt-5.5"]) {
      const hints = { session_id: `session-${turn % 3}`, cache: "default" };
      names.request = await ask(chat(model, `Question ${turn % 4}`, { bardo: hints, temperature: model === "gpt-5.5" ? undefined : 0, stream: turn % 2 === 0 }));
    }
    const hints = { subsystem: ["dream_rem", "risk", "curator"][turn % 3], golem_id: `golem-${turn % 2}`, vitality: 0.7, sustainability: 1.2, tick: turn };
    await ask(chat("bardo/auto", "What now?", { bardo: hints }));
  }
  await ask(chat("gpt-5.5", "Refused", { temperature: 1.5 }));
  names.request = await ask(chat("openrouter/claude-sonnet-5-5", "A question for the timeline", { bardo: { session_id: "session-1" } }));
  await admin("/admin/keys", { name: "<script>alert(1)</script>", scopes: ["rpm=20", "spend-day=5", "model=gpt-*"], deposit_usd: "10" });
  const made = await admin("/admin/keys", { name: "team-a", tier: "pro", scopes: ["spend-month=50"], deposit_usd: "25" });
  return { ...names, key: made.id, account: made.account };
};

// A page of a new context that fails on errors of the browser's console, such as a refused style.
const visit = async (path, { width = 1440, scheme = "light", base = open.admin, refused = false } = {}) => {
  const context = await browser.newContext({ viewport: { width, height: width > 500 ? 900 : 740 }, colorScheme: scheme });
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  page.problems = [];
  page.on("console", (message) => {
    if (message.type() === "error" && !(refused && message.text().includes("Failed to load resource"))) page.problems.push(message.text());
  });
  page.on("pageerror", (error) => page.problems.push(error.message));
  const answer = await page.goto(base + path);
  page.status = answer.status();
  return page;
};
const leave = async (page) => {
  const problems = page.problems;
  await page.context().close();
  check(problems.length === 0, `the browser's console: ${problems.join("; ")}`);
};

const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
// The rules whose outcome depends on colors. All others say the same of a dark page as of the light one.
const COLOR_RULES = ["color-contrast", "link-in-text-block"];

const accessible = async (page, scheme = "light") => {
  // The pages have no frames of other origins, so axe needs no second page to join its results.
  const axe = new AxeBuilder({ page }).setLegacyMode(true);
  const { violations } = await (scheme === "dark" ? axe.withRules(COLOR_RULES) : axe.withTags(TAGS)).analyze();
  const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  const words = serious.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map((node) => `${node.target.join(" ")} ${node.failureSummary?.split("\n")[1] ?? ""}`).join(" | ")}`);
  check(serious.length === 0, words.join("\n"));
};

const focusShows = async (page) => {
  const seen = await page.evaluate(() => {
    const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
    return document.activeElement === document.body || (outlineStyle !== "none" && outlineWidth !== "0px");
  });
  check(seen, "the focus does not show");
};

// The page is reached from its begin by Tab alone, and what has the focus shows it.
const byKeyboard = async (page) => {
  await page.keyboard.press("Tab");
  check(await page.evaluate(() => document.activeElement.className === "skip"), "the first stop is not the link to the content");
  await page.keyboard.press("Enter");
  check(await page.evaluate(() => document.activeElement.id === "main"), "the link to the content leads elsewhere");
  await page.keyboard.press("Tab");
  await focusShows(page);
};

const SHOTS = { overview: 1, requests: 1, receipt: 1, keys: 1, playground: 1, connect: 1, routing: 1, providers: 1, cache: 1, golems: 1 };

// A page stays open after its light cell, and changes its colors for the dark one.
let kept = { place: "", page: null };

const pageCell = async (cell, names) => {
  const [, name, width, scheme] = cell.scenario.split(".");
  const path = cell.path.replace(/\{(\w+)\}/g, (_, member) => encodeURIComponent(names[member]));
  const place = `${name}.${width}`;
  const isKept = scheme === "dark" && kept.place === place;
  const page = isKept ? kept.page : await visit(path, { width: Number(width), scheme, refused: name === "missing" });
  kept = { place, page };
  await page.emulateMedia({ colorScheme: scheme });
  check(page.status === (name === "missing" ? 404 : 200), `status ${page.status}`);
  await page.waitForFunction(() => [...document.querySelectorAll("[data-chart]")].every((chart) => chart.querySelector("canvas")));
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  check(wide <= 0, `the page is ${wide} px wider than the screen`);
  if (isKept) await focusShows(page);
  else await byKeyboard(page);
  await accessible(page, scheme);
  const isShown = SHOTS[name] && plan.screenshots && (width === "1440" || scheme === "light") && (scheme === "light" || name === "overview");
  if (isShown) {
    await page.evaluate(() => { document.activeElement.blur(); scrollTo(0, 0); });
    await page.screenshot({ path: `${plan.screenshots}/${name}-${width}-${scheme}.png` });
  }
  check(page.problems.length === 0, `the browser's console: ${page.problems.join("; ")}`);
  if (scheme === "dark") await leave(page);
};

const logIn = async (page, token) => {
  await page.getByLabel("Admin token").fill(token);
  await page.keyboard.press("Enter");
  await page.waitForURL((url) => !url.pathname.endsWith("/login"));
};

const DEEDS = {
  async "palette-opens-a-page-by-keyboard"() {
    const page = await visit("/console/");
    await page.keyboard.press("Control+k");
    await page.keyboard.type("circuits");
    await page.keyboard.press("Enter");
    await page.waitForURL("**/console/providers");
    await page.keyboard.press("Control+k");
    await page.keyboard.type("team-a");
    await page.locator("#palette-found .kind", { hasText: "key" }).first().waitFor();
    await accessible(page);
    await page.keyboard.press("Escape");
    check(!(await page.locator("#palette").isVisible()), "Escape does not close the palette");
    await leave(page);
  },
  async "theme-and-menu-by-keyboard"() {
    const page = await visit("/console/settings", { width: 360 });
    await page.locator("[data-menu]").focus();
    await page.keyboard.press("Enter");
    check((await page.locator("[data-menu]").getAttribute("aria-expanded")) === "true", "the menu stays closed");
    await accessible(page);
    const theme = page.locator("[data-theme-switch]");
    await theme.focus();
    await page.keyboard.press("Enter");
    await page.keyboard.press("Enter");
    const dark = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    await page.reload();
    check((await page.evaluate(() => document.documentElement.dataset.theme)) === "dark", "the theme is forgotten");
    check((await page.evaluate(() => getComputedStyle(document.body).backgroundColor)) === dark, "the theme is not worn");
    await leave(page);
  },
  async "filters-are-in-the-address"() {
    const page = await visit("/console/requests");
    await page.getByLabel("Model", { exact: true }).fill("gemini-3-flash");
    await page.keyboard.press("Enter");
    await page.waitForURL(/model=gemini-3-flash/);
    const copy = await visit(page.url().slice(open.admin.length));
    const models = await copy.locator("#list tbody tr td:nth-child(3)").allTextContents();
    check(models.length > 0 && models.every((text) => text.startsWith("gemini-3-flash")), `it lists ${models}`);
    const file = await copy.evaluate(async () => (await fetch(document.querySelector("a[download]").href)).text());
    check(file.startsWith("request_id,") && !file.includes("claude"), file.slice(0, 200));
    await leave(copy);
    await leave(page);
  },
  async "a-key-is-created-changed-and-revoked-by-keyboard"() {
    const page = await visit("/console/keys?new=1");
    await page.getByLabel("Name", { exact: true }).focus();
    await page.keyboard.type("by keyboard");
    await page.getByLabel("Cap per day, USD").focus();
    await page.keyboard.type("2.50");
    await page.keyboard.press("Enter");
    const key = (await page.locator(".secret code").first().textContent()).trim();
    check(key.startsWith("bardo_sk_"), `the key is ${key}`);
    await accessible(page);
    await page.getByRole("link", { name: "Show this key" }).press("Enter");
    check(!(await page.content()).includes(key), "the key is shown a second time");
    await page.getByLabel("Requests per minute").last().fill("7");
    await page.keyboard.press("Enter");
    await page.getByText("The limits are changed").waitFor();
    await page.getByRole("button", { name: "Revoke" }).press("Enter");
    await page.locator("dialog[open] button", { hasText: "Revoke" }).press("Enter");
    await page.getByText("The key is revoked").waitFor();
    await leave(page);
  },
  async "markup-in-names-is-text"() {
    const page = await visit("/console/keys");
    await page.getByRole("link", { name: "<script>alert(1)</script>" }).click();
    await page.getByRole("heading", { name: "<script>alert(1)</script>" }).waitFor();
    await leave(page);
  },
  async "the-playground-streams-two-models"() {
    const page = await visit("/console/playground?model=claude-sonnet-5-5&other=gemini-3-flash");
    await page.getByLabel("Prompt", { exact: true }).focus();
    await page.keyboard.press("Control+Enter");
    for (const arm of ["a", "b"]) {
      const place = page.locator(`[data-arm=${arm}]`);
      await place.getByRole("link", { name: "Receipt" }).waitFor();
      check((await place.locator(".answer").textContent()).length > 10, `${arm} has no answer`);
      check((await place.locator("[data-meta]").textContent()).includes("Cost: $"), `${arm} has no cost`);
    }
    for (const dialect of ["messages", "responses"]) {
      const before = await page.locator("[data-arm=a] [data-meta] a").getAttribute("href");
      await page.getByLabel("Dialect").selectOption(dialect);
      await page.getByRole("button", { name: "Send" }).press("Enter");
      await page.waitForFunction((old) => (document.querySelector("[data-arm=a] [data-meta] a")?.getAttribute("href") ?? old) !== old, before);
      check((await page.locator("[data-arm=a] .answer").textContent()).length > 10, `${dialect} has no answer`);
    }
    await page.getByRole("tab", { name: "Python" }).click();
    check((await page.locator("[data-code]").textContent()).includes("requests.post"), "there is no Python");
    await page.getByRole("button", { name: "Explain the route" }).click();
    await page.locator("#play-explained").waitFor();
    await accessible(page);
    if (plan.screenshots) {
      await page.evaluate(() => { document.activeElement.blur(); scrollTo(0, 0); });
      await page.screenshot({ path: `${plan.screenshots}/playground-1440-light.png` });
    }
    await leave(page);
  },
  async "a-tool-is-connected-and-its-first-request-is-seen"() {
    const page = await visit("/console/connect");
    await page.getByLabel("Name of a new key").fill("tools");
    await page.getByLabel("Deposit, USD").fill("5");
    await page.keyboard.press("Enter");
    await page.getByText("Waiting for the first request with this key").waitFor();
    const key = await page.locator("[data-fill-key]").inputValue();
    check((await page.locator("#claude-code code").first().textContent()).includes(key), "the key is not filled in");
    await page.locator("#codex [data-copy]").first().click();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    check(copied.includes(open.data), `copied ${copied}`);
    await page.waitForTimeout(300);
    await ask(chat("claude-sonnet-5-5", "Hello"), key);
    await page.getByText("Received: claude-sonnet-5-5").waitFor();
    await leave(page);
  },
  async "the-live-feed-shows-a-request"() {
    const page = await visit("/console/");
    await page.getByText("connected", { exact: true }).waitFor();
    await ask(chat("gemini-3-flash", "Are you there?"));
    await page.locator("[data-live] tr").first().waitFor();
    await page.locator("[data-live] a").first().click();
    await page.getByRole("heading", { name: "Timeline" }).waitFor();
    await leave(page);
  },
  async "calls-of-venice-appear-as-they-happen"() {
    const question = chat("venice/zai-org-glm-5-2", "Who may know?", { bardo: { subsystem: "dream_rem", tick: 7 } });
    for (const [width, scheme] of [[1440, "light"], [1440, "dark"], [360, "light"], [360, "dark"]]) {
      const page = await visit("/venice", { width, scheme, base: open.data });
      await page.keyboard.press("Tab");
      await page.keyboard.type(open.key);
      await page.keyboard.press("Enter");
      await page.getByText("Live.").waitFor();
      const before = await page.locator("#rows tr").count();
      await ask(question);
      await page.waitForFunction((count) => document.querySelectorAll("#rows tr").length > count, before);
      check(!(await page.content()).includes("Who may know?"), "the page shows the prompt");
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      check(wide <= 0, `the page is ${wide} px wider than the screen`);
      await accessible(page, scheme);
      await leave(page);
    }
  },
  async "an-empty-gateway-says-what-to-do-next"() {
    const page = await visit("/console/login", { base: locked.admin });
    await logIn(page, locked.token);
    for (const path of ["/", "/requests", "/keys", "/accounts", "/cache", "/providers/direct%2Fopenai"]) {
      await page.goto(`${locked.admin}/console${path}`);
      check((await page.locator(".empty").count()) > 0, `${path} has no empty state`);
      check((await page.locator(".empty").first().textContent()).length > 20, `${path} does not say what to do`);
      await accessible(page);
    }
    await leave(page);
  },
  async "a-login-leads-back-and-a-logout-ends-it"() {
    const page = await visit("/console/keys?q=a", { base: locked.admin, refused: true });
    check(page.url().includes("/console/login"), page.url());
    await accessible(page);
    await page.getByLabel("Admin token").fill("wrong");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").waitFor();
    await logIn(page, locked.token);
    check(page.url().endsWith("/console/keys?q=a"), page.url());
    await page.getByRole("button", { name: "Log out" }).press("Enter");
    await page.waitForURL("**/console/login");
    await page.goto(`${locked.admin}/console/keys`);
    check(page.url().includes("/console/login"), page.url());
    await leave(page);
  },
  async "a-reader-changes-nothing"() {
    const page = await visit("/console/login", { base: locked.admin });
    await logIn(page, locked.read_token);
    await page.goto(`${locked.admin}/console/keys`);
    check((await page.getByRole("button", { name: "Create key" }).count()) === 0, "a reader sees the form");
    await page.goto(`${locked.admin}/console/playground`);
    check(await page.getByRole("button", { name: "Send" }).isDisabled(), "a reader may send");
    await leave(page);
  },
  async "a-session-that-ended-changes-nothing"() {
    const page = await visit("/console/login", { base: locked.admin, refused: true });
    await logIn(page, locked.token);
    await page.goto(`${locked.admin}/console/keys?new=1`);
    await page.getByLabel("Name", { exact: true }).fill("lost");
    await page.context().clearCookies();
    await page.keyboard.press("Enter");
    await page.getByText("Nothing was changed").waitFor();
    await page.getByRole("link", { name: "Log in again" }).click();
    await logIn(page, locked.token);
    check(!(await page.content()).includes("lost"), "the key was created");
    await leave(page);
  },
};

const names = await seed();
for (const cell of plan.cells) {
  const started = performance.now();
  let detail = "";
  try {
    if (cell.scenario.startsWith("page.")) await pageCell(cell, names);
    else await DEEDS[cell.scenario.slice("deed.".length)]();
  } catch (error) {
    detail = String(error.message ?? error).slice(0, 2_000);
  }
  console.log(JSON.stringify({ id: cell.id, ok: !detail, detail, seconds: (performance.now() - started) / 1000 }));
}
await browser.close();
