// Which view is shown, who sits here, and how the desk is.

import { get, may, signedIn, signOut } from "./api.js";
import { $, h, put, notice } from "./dom.js";
import { inbox, items, oneItem } from "./inbox.js";
import { labels } from "./labels.js";
import { history, people, signingIn } from "./people.js";
import { quality } from "./quality.js";
import { transfer } from "./transfer.js";

const VIEWS = { inbox: ["Inbox", inbox], items: ["Items", items], labels: ["Labels", labels], quality: ["Quality", quality],
  transfer: ["Import/export", transfer], history: ["History", history], people: ["People", people] };
let leave = null;
let shown = 0;

async function show() {
  const [view, argument] = location.hash.slice(1).split("/");
  const name = view === "item" || view in VIEWS ? view : "inbox";
  const turn = ++shown;
  leave?.();
  leave = null;
  document.title = `${VIEWS[name]?.[0] ?? "Item"} · Tagging desk`;
  put($("views"), ...Object.entries(VIEWS).filter(([key]) => key !== "people" || may("administration")).map(([key, [title]]) =>
    h("a", { href: `#${key}`, "aria-current": key === name ? "page" : null }, title)));
  try {
    const left = name === "item" ? await oneItem($("main"), argument) : await VIEWS[name][1]($("main"));
    if (turn === shown) leave = left ?? null;
    else left?.();
  } catch (problem) {
    if (problem.status === 401) await start();
    else {
      put($("main"), h("h1", null, "This did not work"), h("p", null, problem.message));
      notice(problem.message);
    }
  }
}

async function state() {
  const status = await get("/api/status");
  const behind = status.position - status.model_position;
  const words = [`${status.items.waiting} waiting, ${status.items.done} done`];
  if (!status.model) words.push("no model yet: it needs two items that are done");
  else words.push(behind > 0 ? "the model is learning the last changes" : "the model knows all changes");
  if (status.read_only) words.push("the store can only be read");
  if (status.problem) words.push(status.problem);
  $("state").textContent = words.join(" · ");
}

async function start() {
  let session;
  try {
    session = await signedIn();
  } catch (problem) {
    if (problem.status !== 401) throw problem;
    signingIn($("main"), start);
    return;
  }
  put($("person"), `${session.name} (${session.role}) `, session.needs_token
    ? h("button", { type: "button", onclick: async () => { await signOut(); location.reload(); } }, "Sign out") : "");
  await show();
  await state();
}

window.addEventListener("hashchange", () => { show(); $("main").focus(); });
setInterval(() => state().catch(() => { $("state").textContent = "The server does not answer."; }), 3000);
start().catch((problem) => notice(problem.message));
