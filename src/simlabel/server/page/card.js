// One item: its content, its tags and where they came from, suggestions and why, what can be done with it.

import { get, may, post, remove } from "./api.js";
import { h, put, notice, percent, when } from "./dom.js";

const SOURCES = { person: "by", import: "imported by", accepted: "suggested, accepted by", automatic: "automatic, by" };

export async function labelNames() {
  return (await get("/api/labels")).labels.map((label) => label.name);
}

export function contentList(content) {
  const shown = Object.entries(content).filter(([, value]) => value !== null && value !== "");
  return h("dl", { className: "content" }, shown.flatMap(([name, value]) => [
    h("dt", null, name), h("dd", null, Array.isArray(value) ? value.join(", ") : String(value))]));
}

export class Card {
  constructor(item, { onchange, ondone, names }) {
    this.item = item;
    this.onchange = onchange;
    this.ondone = ondone;
    this.names = names;
    this.element = h("article", { className: "card", "aria-labelledby": "card-title" });
    this.draw();
  }

  draw() {
    const { item } = this;
    this.why = h("div", { id: "why", "aria-live": "polite" });
    put(this.element,
      h("h2", { id: "card-title", tabIndex: -1 }, item.title),
      h("p", { className: "soft" }, this.state()),
      contentList(item.content),
      h("h3", null, "Tags"), this.tags(),
      may("tagging") ? this.adding() : null,
      h("h3", null, "Suggestions"), this.suggestions(), this.why,
      may("tagging") ? this.actions() : null);
  }

  state() {
    const { item } = this;
    const said = item.status === "done" ? `done by ${item.actor}, ${when(item.at)}` : "waiting: tags that nobody touched are unknown";
    return `${item.name} · ${said}`;
  }

  tags() {
    if (!this.item.tags.length) return h("p", { className: "soft" }, "none so far");
    return h("ul", { className: "tags" }, this.item.tags.map((tag) => {
      const rejected = tag.state === "rejected";
      const origin = `${rejected ? "rejected" : SOURCES[tag.source]} ${rejected ? "by " : ""}${tag.actor}, ${when(tag.at)}`;
      return h("li", { className: `tag ${tag.state}` },
        h("span", { className: "name" }, tag.label), h("span", { className: "soft" }, origin),
        may("tagging")
          ? h("button", { type: "button", title: `Take back: ${tag.label}`, "aria-label": `Take back ${tag.label}`,
            onclick: () => this.say("clear", tag.label) }, "×")
          : null);
    }));
  }

  adding() {
    const input = h("input", { id: "add", name: "label", autocomplete: "off", maxLength: 200, list: "names" });
    return h("form", { className: "bar", onsubmit: (event) => {
      event.preventDefault();
      if (input.value.trim()) this.say("tags", input.value.trim());
    } },
    h("label", null, "Add a tag", input),
    h("datalist", { id: "names" }, this.names.map((name) => h("option", { value: name }))),
    h("button", { type: "submit" }, "Add"));
  }

  suggestions() {
    if (!this.item.suggestions.length) return h("p", { className: "soft" }, "none");
    return h("ol", { className: "suggestions" }, this.item.suggestions.map((one, place) => h("li", null,
      h("kbd", { "aria-hidden": "true" }, String(place + 1)),
      h("span", { className: "name" }, one.label),
      h("meter", { min: 0, max: 1, value: one.probability, "aria-label": `Probability of ${one.label}` }),
      h("span", null, percent(one.probability)),
      h("span", { className: "buttons" },
        may("tagging") ? [
          h("button", { type: "button", className: "accept", "aria-label": `Accept ${one.label}`, onclick: () => this.accept(place) }, "Accept"),
          h("button", { type: "button", "aria-label": `Reject ${one.label}`, onclick: () => this.reject(place) }, "Reject")] : [],
        h("button", { type: "button", "aria-label": `Why ${one.label}?`, onclick: () => this.explain(place) }, "Why?")))));
  }

  actions() {
    const { item } = this;
    const done = item.status === "done";
    return h("div", { className: "bar" },
      done
        ? h("button", { type: "button", onclick: () => this.act("reopen") }, "Reopen")
        : h("button", { type: "button", className: "main", onclick: () => this.done() }, "Done"),
      h("button", { type: "button", onclick: () => this.putAway() }, "Put away"),
      may("administration") ? h("button", { type: "button", className: "bad", onclick: () => this.forget() }, "Forget…") : null);
  }

  accept(place) {
    const one = this.item.suggestions[place];
    return one && this.say("tags", one.label, { probability: one.probability });
  }

  reject(place) {
    const one = this.item.suggestions[place];
    return one && this.say("reject", one.label);
  }

  async say(what, label, more = {}) {
    const words = { tags: "tagged", reject: "rejected", clear: "taken back" };
    await this.guarded(async () => {
      await post(`/api/items/${this.item.id}/${what}`, { label, ...more });
      await this.refresh();
      notice(`${label}: ${words[what]}`);
    });
  }

  async act(what) {
    await this.guarded(async () => {
      await post(`/api/items/${this.item.id}/${what}`);
      await this.refresh();
    });
  }

  async done() {
    await this.guarded(async () => {
      await post(`/api/items/${this.item.id}/done`);
      notice(`${this.item.title}: done`);
      await (this.ondone ? this.ondone() : this.refresh());
    });
  }

  async putAway() {
    await this.guarded(async () => {
      await remove(`/api/items/${this.item.id}`);
      notice(`${this.item.title}: put away; undo brings it back`);
      await (this.ondone ? this.ondone() : this.onchange?.());
    });
  }

  async forget() {
    const asked = "Forget this item for good? It is erased from the store, its log, the model and its snapshots, "
      + "and cannot be undone. Backups that were made before still have it.";
    if (!window.confirm(asked)) return;
    await this.guarded(async () => {
      const { erased } = await post(`/api/items/${this.item.id}/forget`);
      notice(erased ? "Forgotten: every trace is gone." : "Forgotten; the last traces are being erased.");
      await (this.ondone ? this.ondone() : this.onchange?.());
    });
  }

  async explain(place) {
    const one = this.item.suggestions[place];
    if (!one) return;
    await this.guarded(async () => {
      const told = await get(`/api/items/${this.item.id}/explain?label=${encodeURIComponent(one.label)}`);
      put(this.why, reasons(told));
    });
  }

  async refresh() {
    this.item = await get(`/api/items/${this.item.id}`);
    this.names = await labelNames();
    const at = document.activeElement?.id;
    this.draw();
    (at === "add" ? this.element.querySelector("#add") : this.element.querySelector("h2"))?.focus();
    await this.onchange?.();
  }

  async guarded(work) {
    try {
      await work();
    } catch (problem) {
      notice(problem.message);
    }
  }
}

function reasons(told) {
  const side = (value) => (value >= 0 ? h("span", { className: "for" }, "for") : h("span", { className: "against" }, "against"));
  return h("section", { className: "why", "aria-label": `Why ${told.label}` },
    h("p", null, `${told.label}: ${percent(told.probability)}, where ${percent(told.usual)} of the items have it.`),
    told.words.length ? h("p", null, "Words: ", told.words.flatMap((word, place) => [
      place ? ", " : "", h("strong", null, word.term), " (", side(word.contribution), ")"])) : null,
    h("p", null, "Items that count most:"),
    h("ul", null, told.items.map((one) => h("li", null,
      side(one.contribution), " ", h("a", { href: `#item/${one.item}` }, one.title),
      one.shared.length ? h("span", { className: "soft" }, ` — shares ${one.shared.join(", ")}`) : null))));
}
