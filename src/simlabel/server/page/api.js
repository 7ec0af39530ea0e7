// The one door to the server: every change has a key, so that sending it twice does it once.

export class Problem extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

const session = { csrf: null, name: null, role: null };

async function ask(method, path, body, headers = {}) {
  const options = { method, headers: { ...headers }, credentials: "same-origin" };
  if (body !== undefined) {
    options.headers["content-type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  if (method !== "GET") {
    if (session.csrf) options.headers["x-csrf-token"] = session.csrf;
    options.headers["idempotency-key"] = crypto.randomUUID();
  }
  const answer = await sent(path, options);
  if (answer.ok) return answer.json();
  const said = await answer.json().catch(() => ({}));
  throw new Problem(answer.status, said.detail ?? `The server answered ${answer.status}.`);
}

// A server that is just coming back is asked again, with the same key.
async function sent(path, options) {
  for (let tries = 0; ; tries += 1) {
    try {
      return await fetch(path, options);
    } catch {
      if (tries === 20) throw new Problem(0, "The server does not answer; what you did last may not be stored.");
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  }
}

export const get = (path) => ask("GET", path);
export const post = (path, body = {}) => ask("POST", path, body);
export const patch = (path, body) => ask("PATCH", path, body);
export const remove = (path) => ask("DELETE", path);

export async function signedIn() {
  try {
    const found = await get("/api/session");
    if (found.csrf || found.needs_token) return Object.assign(session, found);
  } catch (problem) {
    if (problem.status !== 401) throw problem;
  }
  return signIn(null);
}

export async function signIn(token) {
  return Object.assign(session, await ask("POST", "/api/session", { token }));
}

export async function signOut() {
  await remove("/api/session");
  session.csrf = null;
}

export const may = (role) => ["reading", "tagging", "administration"].indexOf(session.role)
  >= ["reading", "tagging", "administration"].indexOf(role);

export async function upload(path, file) {
  const headers = { "content-type": "application/octet-stream" };
  if (session.csrf) headers["x-csrf-token"] = session.csrf;
  const answer = await fetch(path, { method: "POST", body: file, headers });
  const said = await answer.json();
  if (!answer.ok) throw new Problem(answer.status, said.detail);
  return said;
}
