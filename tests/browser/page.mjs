// Opens the page of `watchdog report --html` in Chromium, as people do, and prints what it found as JSON.
//   node page.mjs look MODULES PAGE FOLDER     text, keyboard, filters, accessibility; screenshots and a PDF go into FOLDER
//   node page.mjs measure MODULES PAGE         milliseconds to load, and to show what a filter chose
import { createRequire } from "node:module";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [mode, modules, file, folder] = process.argv.slice(2);
const require = createRequire(resolve(modules, "node_modules/") + "/");
const { chromium } = require("playwright-core");
const url = pathToFileURL(resolve(file)).href;
const profile = mkdtempSync(join(tmpdir(), "watchdog-page-"));
const args = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync"];
const context = await chromium.launchPersistentContext(profile, {
  executablePath: "/usr/bin/chromium", args, viewport: { width: 1180, height: 900 }, colorScheme: "light",
});
const found = { errors: [], requests: [] };
const page = context.pages()[0] ?? (await context.newPage());
// axe reads the pixels of the charts again and again, of which the browser warns now and then.
const ofTheLook = (text) => text.includes("willReadFrequently");
page.on("console", (said) => ["error", "warning"].includes(said.type()) && !ofTheLook(said.text()) && found.errors.push(said.text()));
page.on("pageerror", (error) => found.errors.push(String(error)));
page.on("request", (request) => request.url() !== url && found.requests.push(request.url()));

const texts = (selector) => page.$$eval(selector, (all) => all.map((each) => (each.checkVisibility() ? each.innerText : [...each.children].map((cell) => cell.textContent).join(" ") || each.textContent).replace(/\s+/g, " ").trim()));
const rows = (id) => texts(`#${id} tbody tr`);

async function contrast() {
  const axe = require.resolve("axe-core/axe.min.js");
  // The page's policy keeps any other script out, so this one comes in through the debugger.
  await page.evaluate(require("node:fs").readFileSync(axe, "utf8") + "; undefined");
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  return violations.map((each) => `${each.id}: ${each.nodes.map((node) => node.target.join(" ")).slice(0, 4).join(", ")}`);
}

// What the chart shows, as a number that another chart does not share.
const drawn = () => page.$$eval("#chart-days canvas", ([canvas]) => {
  if (!canvas) return null;
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let sum = 0;
  for (let at = 0; at < data.length; at += 4) sum = (sum * 31 + data[at] * 7 + data[at + 1] * 3 + data[at + 3]) % 2147483647;
  return sum;
});

async function choose(id, value) {
  await (["reason", "agent"].includes(id) ? page.selectOption(`#${id}`, value) : page.fill(`#${id}`, value));
  return { shown: (await texts("#shown"))[0], specs: await rows("table-specs"), agents: await rows("table-agents"), cost: (await page.isVisible("#cost-told")) ? (await texts("#cost-told"))[0] : null, days: await rows("table-days"), held: await rows("table-held"), chart: await drawn() };
}

async function look() {
  await page.goto(url);
  found.light = { parts: await page.$$eval("h1, h2, form", (all) => all.filter((each) => each.checkVisibility()).map((each) => each.ariaLabel ?? each.innerText)), key: await texts("#key > div"), shown: (await texts("#shown"))[0], notes: await texts("#notes p"),
    specs: await rows("table-specs"), agents: await rows("table-agents"), aborts: await rows("table-aborts"), held: await rows("table-held"), strikes: await rows("table-strikes"), chart: await drawn(),
    violations: await contrast() };
  await page.screenshot({ path: join(folder, "light.png"), fullPage: true });
  await page.screenshot({ path: join(folder, "top.png") });
  await page.emulateMedia({ colorScheme: "dark" });
  // It is drawn anew once the browser has passed the change on; one that stays as it was is compared below.
  for (let n = 0; n < 200 && (await drawn()) === found.light.chart; n += 1) await page.waitForTimeout(50);
  found.dark = { key: await texts("#key > div"), chart: await drawn(), violations: await contrast() };
  await page.screenshot({ path: join(folder, "dark.png"), fullPage: true });
  await page.emulateMedia({ colorScheme: "light" });

  await page.setViewportSize({ width: 400, height: 800 });
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  found.narrow = { overflow: await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth) };
  await page.screenshot({ path: join(folder, "narrow.png"), fullPage: true });
  await page.setViewportSize({ width: 1180, height: 900 });

  // From the top of the page by Tab alone.
  await page.evaluate(() => { document.activeElement.blur(); scrollTo(0, 0); });
  found.keyboard = [];
  for (let step = 0; step < 18; step++) {
    await page.keyboard.press("Tab");
    found.keyboard.push(await page.evaluate(() => {
      const at = document.activeElement;
      const name = at.id || at.innerText.trim().slice(0, 30) || at.tagName;
      return { name, outlined: getComputedStyle(at).outlineStyle !== "none", opens: at.tagName === "SUMMARY" };
    }));
    const { opens } = found.keyboard.at(-1);
    if (opens && !found.opened) {
      await page.keyboard.press("Enter");
      found.opened = (await rows("table-days")).length;
    }
  }
  found.tree = await page.locator("body").ariaSnapshot();

  // Of no figures there is nothing to filter.
  if (found.light.specs.length) await filter();

  await page.emulateMedia({ media: "print", colorScheme: "dark" });
  found.print = { visible: await page.$$eval("search, summary", (all) => all.filter((each) => each.checkVisibility()).length),
    back: await page.$eval("body", (body) => getComputedStyle(body).backgroundColor), key: await texts("#key > div") };
  await page.emulateMedia({ media: null, colorScheme: "light" });
  await page.pdf({ path: join(folder, "print.pdf"), format: "A4", printBackground: true });
}

async function filter() {
  found.filters = {};
  const first = await page.$$eval("#worktrees option", (all) => all.map((each) => each.value));
  found.filters.worktree = await choose("worktree", first[0]);
  found.filters.nothing = await choose("worktree", "no such worktree");
  await page.click("button[type=reset]");
  await page.waitForFunction((shown) => document.getElementById("shown").innerText === shown, found.light.shown);
  found.filters.reset = (await texts("#shown"))[0];
  const specs = await page.$$eval("#specs option", (all) => all.map((each) => each.value));
  found.filters.spec = await choose("spec", specs[0]);
  await choose("spec", "");
  const reasons = await page.$$eval("#reason option", (all) => all.map((each) => each.value).filter(Boolean));
  found.filters.reasons = reasons;
  found.filters.reason = await choose("reason", reasons.at(-1));
  await choose("reason", "");
  const agents = await page.$$eval("#agent option", (all) => all.map((each) => each.value).filter(Boolean));
  found.filters.agents = {};
  for (const agent of agents) found.filters.agents[agent] = await choose("agent", agent);
  await choose("agent", "");
  const to = await page.getAttribute("#to", "max");
  found.filters.span = await choose("from", to);
  await page.click("button[type=reset]");
}

async function measure() {
  const loads = [], filters = {};
  for (let round = 0; round < 5; round++) {
    await page.goto("about:blank");
    await page.goto(url);
    loads.push(await page.evaluate(() => performance.getEntriesByType("navigation")[0].loadEventEnd));
  }
  const timed = (id, value) => page.evaluate(async ([id, value]) => {
    const field = document.getElementById(id), begun = performance.now();
    field.value = value;
    field.dispatchEvent(new Event("input", { bubbles: true }));
    const shown = performance.now() - begun;
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    return [shown, performance.now() - begun];
  }, [id, value]);
  const worktree = await page.$eval("#worktrees option", (each) => each.value);
  const reason = await page.$$eval("#reason option", (all) => all.map((each) => each.value).filter(Boolean).at(0));
  for (const [id, value] of [["worktree", worktree], ["worktree", ""], ["reason", reason], ["reason", ""], ["spec", "1"], ["spec", ""]]) {
    const times = [];
    for (let round = 0; round < 5; round++) times.push(await timed(id, value));
    const middle = (at) => times.map((each) => each[at]).sort((a, b) => a - b)[2];
    filters[`${id}=${value.slice(0, 20)}`] = { shown: Math.round(middle(0)), painted: Math.round(middle(1)) };
  }
  found.load = loads.map(Math.round);
  found.filters = filters;
}

try {
  await (mode === "measure" ? measure() : look());
} finally {
  await context.close();
  rmSync(profile, { recursive: true, force: true });
}
console.log(JSON.stringify(found, null, 1));
