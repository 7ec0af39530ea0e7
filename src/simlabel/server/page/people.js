// The journal with undo; tokens; signing in.

import { get, may, post, remove, signIn } from "./api.js";
import { h, put, notice, table } from "./dom.js";
import { line } from "./inbox.js";

const LASTING = ["undo", "forget", "token"];

export async function history(main) {
  const list = h("ol", { className: "list", "aria-label": "Changes" });
  async function fill() {
    const { changes } = await get("/api/changes?limit=100");
    put(list, ...changes.map((one) => h("li", { className: "bar" }, h("span", null, line(one)),
      one.items.length === 1 ? h("a", { href: `#item/${one.items[0]}` }, `item ${one.items[0]}`) : null,
      may("tagging") && !one.undone_by && !LASTING.includes(one.kind)
        ? h("button", { type: "button", "aria-label": `Undo change ${one.seq}`, onclick: () => undo(one.seq) }, "Undo") : null)));
  }
  async function undo(seq) {
    try {
      await post(`/api/changes/${seq}/undo`);
      notice(`Change ${seq} is undone.`);
    } catch (problem) {
      notice(problem.message);
    }
    await fill();
  }
  put(main, h("h1", null, "History"), list);
  await fill();
}

export async function people(main) {
  const place = h("div");
  const name = h("input", { name: "name", required: true, maxLength: 200, autocomplete: "off" });
  const role = h("select", { name: "role" }, ["administration", "tagging", "reading"].map((each) => h("option", null, each)));
  const secret = h("p", { role: "status" });
  async function make(event) {
    event.preventDefault();
    try {
      const made = await post("/api/tokens", { name: name.value, role: role.value });
      put(secret, `The token of ${name.value}, shown this once: `, h("code", null, made.token));
      await fill();
    } catch (problem) {
      notice(problem.message);
    }
  }
  async function fill() {
    const { tokens } = await get("/api/tokens");
    put(place, tokens.length ? table("Tokens", ["Name", "Role", ""], tokens.map((one) => [one.name, one.role,
      one.revoked ? "revoked" : h("button", { type: "button", className: "bad", "aria-label": `Revoke the token of ${one.name}`,
        onclick: async () => { await remove(`/api/tokens/${one.id}`); await fill(); } }, "Revoke")]))
      : h("p", { className: "soft" }, "There are no tokens: whoever sits at this machine may do everything. From the first one on, all need one."));
  }
  put(main, h("h1", null, "People"), h("form", { className: "bar", onsubmit: make },
    h("label", null, "Name", name), h("label", null, "May do", role), h("button", { type: "submit" }, "Make a token")), secret, place);
  await fill().catch((problem) => notice(problem.message));
}

export function signingIn(main, done) {
  const token = h("input", { type: "password", name: "token", required: true, autocomplete: "current-password" });
  put(main, h("h1", null, "Sign in"), h("form", { className: "bar", onsubmit: async (event) => {
    event.preventDefault();
    try {
      await signIn(token.value.trim());
      await done();
    } catch (problem) {
      notice(problem.message);
    }
  } }, h("label", null, "Token", token), h("button", { type: "submit", className: "main" }, "Sign in")),
  h("p", { className: "soft" }, "Who runs the desk makes tokens, for reading, tagging or administration."));
  token.focus();
}
