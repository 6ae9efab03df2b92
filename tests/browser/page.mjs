// Opens an HTML report in headless Chromium, works with it as a reader would, and prints what it saw as JSON.
//
//   node page.mjs CHROMIUM REPORT.html [SCREENSHOT.png]
//
// `tests/validators.rs` runs it, with puppeteer-core from target/validators, and checks what it prints.

import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [, , browserPath, page, screenshot] = process.argv;
const require = createRequire(process.env.LLMVERIFY_NODE_MODULES + "/");
const puppeteer = require("puppeteer-core");

const browser = await puppeteer.launch({
  executablePath: browserPath,
  headless: true,
  args: ["--no-sandbox", "--disable-gpu", "--force-color-profile=srgb"],
});
try {
  const tab = await browser.newPage();
  const seen = { dialogs: 0, requests: [], errors: [], console: [] };
  tab.on("dialog", async (dialog) => { seen.dialogs += 1; await dialog.dismiss(); });
  tab.on("request", (request) => { if (!request.url().startsWith("file:")) seen.requests.push(request.url()); });
  tab.on("pageerror", (error) => seen.errors.push(String(error)));
  tab.on("console", (message) => { if (message.type() === "error") seen.console.push(message.text()); });
  await tab.setViewport({ width: 1240, height: 900 });
  await tab.goto(pathToFileURL(page).href, { waitUntil: "load" });

  const column = (index) => tab.$$eval("tr.record", (rows, index) => rows.map((row) => row.cells[index].textContent), index);
  const visible = () => tab.$$eval("tr.record", (rows) => rows.filter((row) => !row.hidden).length);
  seen.rows = await visible();
  seen.charts = await tab.$$eval("svg", (charts) => charts.filter((chart) => chart.querySelector("title") && chart.getBoundingClientRect().width > 0).length);
  seen.untitled = await tab.$$eval("svg", (charts) => charts.filter((chart) => !chart.querySelector("title")).length);
  seen.headings = await tab.$$eval("h2", (headings) => headings.map((heading) => heading.textContent));
  seen.pwned = await tab.evaluate(() => typeof window.pwned);

  const sortBy = async (title) => {
    await tab.evaluate((title) => Array.from(document.querySelectorAll("#worst th button")).find((button) => button.textContent === title).click(), title);
  };
  await sortBy("P");
  seen.descending = await column(1);
  await sortBy("P");
  seen.ascending = await column(1);
  await sortBy("verdict");
  seen.verdicts = await column(0);

  const type = async (words) => {
    await tab.$eval("#search", (input, words) => { input.value = words; input.dispatchEvent(new Event("input")); }, words);
    return visible();
  };
  if (seen.rows > 0) {
    const name = (await column(3))[0];
    seen.found = await type(name.slice(0, 12));
    seen.nothing = await type("no such words anywhere");
    seen.all = await type("");
    await tab.select("#verdict", "block");
    seen.blocked = await visible();
    await tab.select("#verdict", "");

    const rows = Math.min(seen.rows, 40);
    for (let index = 0; index < rows; index += 1) {
      await tab.evaluate((index) => document.querySelectorAll("button.open")[index].click(), index);
    }
    seen.opened = await tab.$$eval("tr.opened .case", (cases) => cases.length);
    seen.waterfalls = await tab.$$eval("table.waterfall svg rect", (bars) => bars.length);
    seen.quotes = await tab.$$eval(".evidence q", (quotes) => quotes.slice(0, 400).map((quote) => quote.textContent));
    seen.text = (await tab.$eval("main", (main) => main.textContent)).slice(0, 2_000_000);
    seen.markup = await tab.$$eval("main img, main a[href^='javascript'], main iframe, main object, main script, main [onclick], main [onerror], main [onload]", (found) => found.length);
    // A second click closes; the first stays open for the picture.
    for (let index = 1; index < rows; index += 1) {
      await tab.evaluate((index) => document.querySelectorAll("button.open")[index].click(), index);
    }
    seen.left = await tab.$$eval("tr.opened", (cases) => cases.length);
    seen.keyboard = await tab.evaluate(() => { const button = document.querySelectorAll("button.open")[0]; button.focus(); return document.activeElement === button; });
  }
  await new Promise((resolve) => setTimeout(resolve, 100));
  seen.pwnedAfter = await tab.evaluate(() => typeof window.pwned);
  seen.wide = await tab.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
  await tab.setViewport({ width: 390, height: 844 });
  seen.narrow = await tab.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
  await tab.setViewport({ width: 1240, height: 900 });
  if (screenshot) {
    await tab.evaluate(() => document.activeElement.blur());
    await tab.screenshot({ path: screenshot, fullPage: process.env.FULL_PAGE !== undefined, clip: process.env.CLIP ? JSON.parse(process.env.CLIP) : undefined, captureBeyondViewport: true });
    if (process.env.DARK) {
      await tab.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "dark" }]);
      await tab.screenshot({ path: process.env.DARK, fullPage: true });
    }
  }
  if (process.env.PDF) await tab.pdf({ path: process.env.PDF, format: "A4" });
  process.stdout.write(JSON.stringify(seen));
} finally {
  await browser.close();
}
