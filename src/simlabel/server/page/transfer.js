// Tables in, with progress and what could not be read; tables out.

import { get, may, remove, upload } from "./api.js";
import { h, put, notice, table, when } from "./dom.js";

export async function transfer(main) {
  const file = h("input", { type: "file", name: "file", required: true, accept: ".csv,.tsv,.txt,.json,.jsonl,.ndjson,.xlsx,.parquet" });
  const column = h("input", { name: "label_column", autocomplete: "off" });
  const separator = h("input", { name: "separator", autocomplete: "off", maxLength: 10, size: 4 });
  const id = h("input", { name: "id_column", autocomplete: "off" });
  const jobs = h("div", { "aria-live": "polite" });
  async function send(event) {
    event.preventDefault();
    const asked = new URLSearchParams({ name: file.files[0].name.slice(0, 100) });
    for (const input of [column, separator, id]) if (input.value) asked.set(input.name, input.value);
    try {
      await upload(`/api/imports?${asked}`, file.files[0]);
      notice("The file is here; its rows are being imported.");
      await fill();
    } catch (problem) {
      notice(problem.message);
    }
  }
  async function fill() {
    const found = (await get("/api/jobs")).jobs;
    put(jobs, ...found.map(job));
    if (!found.length) put(jobs, h("p", { className: "soft" }, "No imports so far."));
  }
  put(main, h("h1", null, "Import and export"),
    may("administration") ? h("form", { className: "bar", onsubmit: send },
      h("label", null, "CSV, JSON Lines, xlsx or Parquet", file), h("label", null, "Column of tags", column),
      h("label", null, "Between tags", separator), h("label", null, "Column of ids", id),
      h("button", { type: "submit", className: "main" }, "Import")) : null,
    h("h2", null, "Imports"), jobs,
    h("h2", null, "Export"),
    h("p", null, ["csv", "jsonl", "xlsx"].flatMap((format, place) => [place ? " · " : "",
      h("a", { href: `/api/export?format=${format}`, download: `items.${format}` }, format)])),
    h("p", { className: "soft" }, "In CSV and xlsx an apostrophe stands before what a spreadsheet would take for a formula."));
  await fill();
  const timer = setInterval(() => fill().catch(() => {}), 1000);
  return () => clearInterval(timer);
}

function job(one) {
  const running = one.state === "waiting";
  const far = `${one.done} of ${one.total ?? "?"} rows: ${one.new} new, ${one.updated} updated, ${one.unchanged} unchanged`;
  const problems = one.problems.map((each) => [each.row === null ? "–" : String(each.row), each.problem]);
  return h("section", { className: "card", "aria-label": `Import of ${one.name}` },
    h("p", null, `${one.name} · ${when(one.at)} · ${one.actor} · ${running ? "running" : one.state} · ${far}`),
    running ? h("progress", { max: one.total ?? 1, value: one.total ? one.done : undefined, "aria-label": `Import of ${one.name}` }) : null,
    running && may("administration") ? h("button", { onclick: () => remove(`/api/jobs/${one.id}`).catch((problem) => notice(problem.message)) }, "Cancel") : null,
    problems.length ? table("What could not be read", ["Row", "Why"], problems) : null);
}
