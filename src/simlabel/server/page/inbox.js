// Items that wait, most useful first, one of them leased to whoever sits here.

import { get, may, post } from "./api.js";
import { Card, labelNames } from "./card.js";
import { h, put, notice, percent } from "./dom.js";

const HELP = [["1–9", "accept a suggestion"], ["Shift 1–9", "reject it"], ["w", "why the first one"],
  ["a", "add a tag"], ["d", "done, next"], ["s", "skip"], ["u", "undo"]];

export async function inbox(main) {
  const skipped = [];
  let card = null;
  const list = h("ol", { className: "list", "aria-label": "Waiting items" });
  const place = h("div", { className: "second" });
  const help = h("p", { className: "soft keys" }, HELP.flatMap(([key, what]) => [h("kbd", null, key), ` ${what}  `]));
  put(main, h("h1", null, "Inbox"), may("tagging") ? help : null,
    h("div", { className: "two" }, h("section", { "aria-label": "Queue" }, list), place));

  async function fill() {
    const { items } = await get("/api/queue?limit=15");
    put(list, ...items.map((item) => h("li", null,
      h("a", { href: `#item/${item.id}` }, item.title),
      h("p", { className: "soft" }, item.lease ? `${item.lease.holder} is at it` : "",
        item.suggestions.slice(0, 3).map((one) => ` ${one.label} ${percent(one.probability)}`).join(",")))));
    if (!items.length) put(list, h("li", null, "Nothing waits. Import a table, or add items."));
  }

  async function next() {
    const { item } = await post("/api/queue/next", { skip: skipped.slice(-500) });
    if (!item) {
      card = null;
      put(place, h("p", { className: "card" }, "Nothing waits for you."));
    } else {
      card = new Card(item, { names: await labelNames(), onchange: fill, ondone: next });
      put(place, card.element);
      card.element.querySelector("h2").focus();
    }
    await fill();
  }

  async function skip() {
    if (!card) return;
    skipped.push(card.item.id);
    await post(`/api/queue/${card.item.id}/release`);
    await next();
  }

  async function undo() {
    const { seq } = await post("/api/undo");
    notice(`Undone (change ${seq}).`);
    if (card) await card.refresh().catch(next);
    else await next();
  }

  async function key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !may("tagging")) return;
    if (event.target.matches("input, select, textarea")) return;
    const digit = /^Digit([1-9])$/.exec(event.code)?.[1];
    const work = digit && card ? () => (event.shiftKey ? card.reject(digit - 1) : card.accept(digit - 1))
      : { w: () => card?.explain(0), a: () => card?.element.querySelector("#add").focus(), d: () => card?.done(), s: skip, u: undo }[event.key];
    if (!work) return;
    event.preventDefault();
    try {
      await work();
    } catch (problem) {
      notice(problem.message);
    }
  }

  document.addEventListener("keydown", key);
  const renewing = setInterval(() => card && post(`/api/queue/${card.item.id}/lease`).catch(() => {}), 240000);
  if (may("tagging")) await next();
  else await fill();
  return () => {
    document.removeEventListener("keydown", key);
    clearInterval(renewing);
  };
}

export async function oneItem(main, id) {
  const item = await get(`/api/items/${id}`);
  const history = h("div");
  const card = new Card(item, { names: await labelNames(), onchange: past });
  async function past() {
    const { changes } = await get(`/api/items/${id}/history`);
    put(history, h("h3", null, "What happened to it"),
      h("ol", { className: "list" }, changes.map((one) => h("li", null, line(one)))));
  }
  put(main, h("h1", null, "Item"), card.element, history);
  await past();
}

export function line(one) {
  const at = new Date(one.at * 1000).toLocaleString();
  const undone = one.undone_by ? ` (undone by ${one.undone_by})` : "";
  return `${one.seq} · ${at} · ${one.actor} · ${one.kind} ${one.labels.join(", ")}${undone}`;
}

export async function items(main) {
  const list = h("ol", { className: "list", "aria-label": "Items" });
  const text = h("input", { type: "search", name: "text" });
  const status = h("select", { name: "status" }, h("option", { value: "" }, "all"),
    h("option", { value: "waiting" }, "waiting"), h("option", { value: "done" }, "done"));
  async function find(event) {
    event?.preventDefault();
    const asked = new URLSearchParams({ limit: 50 });
    if (text.value) asked.set("text", text.value);
    if (status.value) asked.set("status", status.value);
    const found = (await get(`/api/items?${asked}`)).items;
    put(list, ...found.map((item) => h("li", null,
      h("a", { href: `#item/${item.id}` }, item.title),
      h("p", { className: "soft" }, `${item.status === "done" ? `done by ${item.actor}` : "waiting"} · `
        + item.tags.filter((tag) => tag.state === "present").map((tag) => tag.label).join(", ")))));
    if (!found.length) put(list, h("li", null, "Nothing found."));
  }
  put(main, h("h1", null, "Items"),
    h("form", { className: "bar", onsubmit: find }, h("label", null, "Words", text), h("label", null, "State", status),
      h("button", { type: "submit" }, "Find")), list);
  await find();
}
