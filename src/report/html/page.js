
"use strict";
(() => {
  const table = document.getElementById("worst");
  const body = table.tBodies[0];
  const rows = Array.from(body.querySelectorAll("tr.record"));
  const data = JSON.parse(document.getElementById("data").textContent);
  const severity = { block: 2, flag: 1, accept: 0, not_assessed: -1 };

  // Text reaches the page only as text: there is no way to markup from here.
  const element = (name, className, ...children) => {
    const made = document.createElement(name);
    if (className) made.className = className;
    for (const child of children) if (child !== null && child !== undefined) made.append(child);
    return made;
  };
  const drawn = (name, attributes) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
    return made;
  };
  // What is unseen or turns text around is shown as an escape, as in every other format.
  const unsafe = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|\udb40[\udc00-\udc7f]/g;
  const shown = (value) => String(value).replace(unsafe, (found) => {
    const code = found.codePointAt(0);
    return code === 10 ? "\\n" : code < 128 ? "\\x" + code.toString(16).padStart(2, "0") : "\\u{" + code.toString(16) + "}";
  });
  const signed = (value) => (value < 0 ? "\u2212" : "+") + Math.abs(value).toFixed(3);
  const logit = (share) => Math.log(share / (1 - share));

  const bars = (from, to, low, high, className, title) => {
    const width = 200;
    const at = (value) => (width * (value - low)) / (high - low || 1);
    const svg = drawn("svg", { viewBox: "0 0 " + width + " 12", role: "img", "aria-label": title });
    const label = drawn("title", {});
    label.textContent = title;
    svg.append(label);
    if (low < 0 && high > 0) svg.append(drawn("line", { class: "zero", x1: at(0).toFixed(1), x2: at(0).toFixed(1), y1: 0, y2: 12 }));
    const left = Math.min(at(from), at(to));
    const length = Math.max(Math.abs(at(to) - at(from)), 1.5);
    svg.append(drawn("rect", { class: className, x: left.toFixed(1), y: 2, width: length.toFixed(1), height: 8 }));
    return svg;
  };

  // From the prior through every signal to the posterior, in log odds.
  const waterfall = (answer) => {
    const title = element("h4", "", answer.question + "  ");
    if (answer.reason) {
      title.append(element("span", "muted", "not assessed: " + shown(answer.reason)));
      return element("div", "", title);
    }
    title.append(element("span", "verdict " + answer.verdict, answer.verdict), element("span", "muted", "  P = " + answer.posterior.toFixed(4) + ({ proof: ", proven", fact: ", by a fact" }[answer.class] || "")));
    const start = logit(Math.min(Math.max(answer.prior, 1e-6), 1 - 1e-6));
    let sum = start;
    const levels = [0, start];
    for (const signal of answer.signals) levels.push((sum += signal.log_odds));
    levels.push((sum += answer.absent_log_odds));
    const low = Math.min(...levels) - 0.1;
    const high = Math.max(...levels) + 0.1;
    const rows = element("tbody");
    const row = (name, detail, value, svg, className) => {
      rows.append(element("tr", className, element("td", "", name), element("td", "n", detail), element("td", "n", value), element("td", "bars", svg)));
    };
    row("prior", answer.prior.toFixed(4), signed(start), bars(0, start, low, high, "level", "prior " + signed(start)));
    sum = start;
    for (const signal of answer.signals) {
      const to = sum + signal.log_odds;
      const ratio = signal.fitted ? "fitted" : "LR " + (signal.ratio >= 100 ? Math.round(signal.ratio) : Number(signal.ratio.toPrecision(3))) + " · " + signal.score.toFixed(2);
      const name = shown(signal.id);
      row(name, ratio, signed(signal.log_odds), bars(sum, to, low, high, signal.log_odds >= 0 ? "up" : "down", name + " " + signed(signal.log_odds)), "");
      if (signal.detail) {
        const cell = element("td", "", shown(signal.detail));
        cell.colSpan = 4;
        rows.append(element("tr", "detail", cell));
      }
      sum = to;
    }
    if (answer.absent.length) {
      const to = sum + answer.absent_log_odds;
      const title = "not found: " + answer.absent.map(shown).join(", ");
      row(answer.absent.length + " not found", "", signed(answer.absent_log_odds), bars(sum, to, low, high, answer.absent_log_odds >= 0 ? "up" : "down", title), "absent");
      sum = to;
    }
    row("posterior", answer.posterior.toFixed(4), signed(sum), bars(0, sum, low, high, "level", "posterior " + signed(sum)));
    return element("div", "", title, element("table", "waterfall", rows));
  };

  const evidence = (record) => {
    const box = element("div");
    if (record.findings.length) {
      const list = element("ul", "evidence");
      for (const found of record.findings) {
        list.append(element("li", "",
          element("code", "", shown(found.rule)), " ", element("span", "severity " + found.severity, found.severity), " ",
          element("span", "muted", shown(found.place)), element("q", "", shown(found.excerpt)),
          found.detail ? element("span", "muted", shown(found.detail)) : null));
      }
      const more = record.findings_total - record.findings.length;
      box.append(element("h4", "", "Evidence"), list);
      if (more > 0) box.append(element("p", "note", "and " + more + " more"));
    }
    if (record.grounding) {
      const list = element("ul", "evidence");
      for (const claim of record.grounding.claims) {
        const bad = claim.verdict === "unsupported" || claim.verdict === "contradicted";
        list.append(element("li", "",
          element("span", bad ? "verdict block" : "muted", claim.verdict), " ",
          element("span", "muted", claim.support.toFixed(2) + "  " + shown(claim.reason)),
          element("q", bad ? "bad" : "", shown(claim.text)),
          claim.closest && bad ? element("span", "muted", "closest: " + shown(claim.closest)) : null));
      }
      box.append(element("h4", "", "Grounding ", element("span", "muted", shown(record.grounding.summary))), list);
    }
    for (const problem of record.problems) box.append(element("p", "note", "Problem: " + shown(problem)));
    if (!box.childNodes.length) box.append(element("p", "none", "No place in the text is marked."));
    return box;
  };

  const opened = (record) => {
    const facts = [record.id === record.place ? null : "id " + record.id, record.session ? "session " + record.session : null, record.label ? "label " + record.label : null];
    const line = element("p", "muted", facts.filter(Boolean).map(shown).join(" · "));
    line.append(element("br"), element("code", "", "llmverify explain " + shown(record.source) + " --line " + record.line));
    const questions = element("div", "", ...record.questions.map(waterfall));
    return element("div", "case", element("p", "", shown(record.explanation)), line, questions, evidence(record));
  };

  const toggle = (row) => {
    const button = row.querySelector("button.open");
    const next = row.nextElementSibling;
    if (next && next.classList.contains("opened")) {
      next.remove();
      button.setAttribute("aria-expanded", "false");
      return;
    }
    const cell = element("td", "", opened(data[Number(row.dataset.index)]));
    cell.colSpan = row.cells.length;
    row.after(element("tr", "opened", cell));
    button.setAttribute("aria-expanded", "true");
  };
  body.addEventListener("click", (event) => {
    const row = event.target.closest("tr.record");
    if (row && !window.getSelection().toString()) toggle(row);
  });

  const search = document.getElementById("search");
  const verdict = document.getElementById("verdict");
  const question = document.getElementById("question");
  const words = rows.map((row) => (row.textContent + " " + JSON.stringify(data[Number(row.dataset.index)])).toLowerCase());
  const filter = () => {
    const wanted = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    rows.forEach((row, index) => {
      const isShown = wanted.every((word) => words[index].includes(word))
        && (!verdict.value || row.dataset.verdict === verdict.value)
        && (!question.value || row.dataset.questions.split(" ").includes(question.value));
      row.hidden = !isShown;
      const next = row.nextElementSibling;
      if (next && next.classList.contains("opened")) next.hidden = !isShown;
      count += isShown ? 1 : 0;
    });
    document.getElementById("shown").textContent = count + " of " + rows.length;
  };
  for (const input of [search, verdict, question]) input.addEventListener("input", filter);
  document.getElementById("filter").addEventListener("submit", (event) => event.preventDefault());

  const keys = {
    verdict: (row) => severity[row.dataset.verdict] * 10 + Number(row.cells[1].dataset.value),
    number: (row, column) => Number(row.cells[column].dataset.value),
    text: (row, column) => row.cells[column].textContent.toLowerCase(),
    place: (row) => data[Number(row.dataset.index)].source + "\u0000" + String(data[Number(row.dataset.index)].line).padStart(12, "0"),
  };
  const sort = (head, column) => {
    const key = keys[head.dataset.sort];
    const up = head.getAttribute("aria-sort") === "descending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const sorted = rows.map((row, index) => [key(row, column), index, row]);
    sorted.sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0) * (up ? 1 : -1) || a[1] - b[1]);
    for (const [, , row] of sorted) {
      const next = row.nextElementSibling;
      body.append(row);
      if (next && next.classList.contains("opened")) body.append(next);
    }
  };
  Array.from(table.tHead.rows[0].cells).forEach((head, column) => {
    if (!head.dataset.sort) return;
    const button = element("button", "", head.textContent);
    button.type = "button";
    button.addEventListener("click", () => sort(head, column));
    head.replaceChildren(button);
  });

  document.getElementById("filter").hidden = rows.length === 0;
  filter();
})();
