// Labels: how often, how well recognized, doubtful tags; rename, merge, describe, delete.

import { get, may, patch, post, remove } from "./api.js";
import { h, put, notice, percent, table } from "./dom.js";

export async function labels(main) {
  const place = h("div");
  const doubtful = h("div");
  put(main, h("h1", null, "Labels"), place, h("h2", null, "Probably wrong, probably missing"), doubtful);

  async function change(work, said) {
    try {
      await work();
      notice(said);
      await fill();
    } catch (problem) {
      notice(problem.message);
    }
  }

  async function fill() {
    const found = (await get("/api/labels")).labels;
    put(place, table("Labels, the most frequent first", ["Label", "Items", "Leave-one-out F1", "What it means", "Change"],
      found.map((label) => [label.name, String(label.items), percent(label.f1), label.description || "–", buttons(label, found)])));
  }

  function buttons(label, all) {
    if (!may("administration")) return "";
    const into = h("select", { "aria-label": `Merge ${label.name} into` }, h("option", { value: "" }, "merge into…"),
      all.filter((other) => other.id !== label.id).map((other) => h("option", { value: other.id }, other.name)));
    into.addEventListener("change", () => into.value && change(
      () => post(`/api/labels/${label.id}/merge`, { into: Number(into.value) }), `${label.name}: merged`));
    const ask = (what, was) => window.prompt(`${what} for ${label.name}`, was);
    return h("span", { className: "bar" },
      h("button", { type: "button", "aria-label": `Rename ${label.name}`, onclick: () => {
        const name = ask("New name", label.name);
        if (name) change(() => patch(`/api/labels/${label.id}`, { name }), `${label.name} is ${name} now`);
      } }, "Rename"),
      h("button", { type: "button", "aria-label": `Describe ${label.name}`, onclick: () => {
        const description = ask("Description", label.description);
        if (description !== null) change(() => patch(`/api/labels/${label.id}`, { description }), `${label.name}: described`);
      } }, "Describe"),
      into,
      h("button", { type: "button", className: "bad", "aria-label": `Delete ${label.name}`, onclick: () =>
        window.confirm(`Take ${label.name} away from ${label.items} items? This can be undone under History.`)
        && change(() => remove(`/api/labels/${label.id}`), `${label.name}: deleted`) }, "Delete"));
  }

  async function doubts() {
    const { suspicious } = await get("/api/suspicious?limit=50");
    if (!suspicious.length) {
      put(doubtful, h("p", { className: "soft" }, "Nothing that the other items contradict."));
      return;
    }
    const settle = (one, what) => change(async () => {
      await post(`/api/items/${one.item}/${what}`, { label: one.label });
      await doubts();
    }, `${one.label}: settled`);
    const button = (one, what, words) => h("button", { type: "button", "aria-label": `${words}: ${one.label}, ${one.title}`,
      onclick: () => settle(one, what) }, words);
    put(doubtful, table("Tags that the other items contradict", ["Item", "Label", "What is doubtful", "Probability", "Settle"],
      suspicious.map((one) => [h("a", { href: `#item/${one.item}` }, one.title), one.label,
        one.given ? "probably wrong" : "probably missing", percent(one.probability),
        may("tagging") ? h("span", { className: "bar" },
          one.given ? button(one, "reject", "Take away") : [button(one, "tags", "Add"), button(one, "reject", "No")]) : ""])));
  }

  await fill();
  await doubts();
}
