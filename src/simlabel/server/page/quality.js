// How good the suggestions are, over time; calibration; what changed; retune.

import { get, may, post } from "./api.js";
import { h, put, notice, percent, plot, table, when } from "./dom.js";

const FIGURES = [["f1_micro", "F1 over all tags"], ["f1_macro", "F1, mean over labels"], ["average_precision", "Average precision"]];

export async function quality(main) {
  const place = h("div");
  const bar = h("progress", { "aria-label": "Retune", max: 1, value: 0, hidden: true });
  const said = h("p", { role: "status" });
  const button = h("button", { type: "button", className: "main", onclick: retune }, "Retune");
  put(main, h("h1", null, "Quality"),
    may("administration") ? h("div", { className: "bar" }, button, bar) : null, said, place);

  async function retune() {
    try {
      const { started } = await post("/api/retune");
      notice(started ? "Retuning; the old model answers until the new one is in." : "A retune is under way.");
      await watch();
    } catch (problem) {
      notice(problem.message);
    }
  }

  async function watch() {
    const status = await get("/api/status");
    button.disabled = status.retuning;
    bar.hidden = !status.retuning;
    const far = status.progress;
    if (far?.total) Object.assign(bar, { max: far.total, value: far.done });
    else bar.removeAttribute("value");
    said.textContent = status.retuning ? `Choosing anew: ${far ? `${far.what}, ${far.done} of ${far.total ?? "?"}` : "starting"}` : "";
    return status.retuning;
  }

  async function fill() {
    const found = await get("/api/quality");
    const { now } = found;
    const past = found.over_time.filter((one) => one.f1_micro !== null).reverse();
    const before = found.week.quality_before;
    put(place,
      h("p", { className: "soft" }, "Each item is judged by the others alone (leave-one-out)."),
      now?.why_not ? h("p", null, `Not measured: ${now.why_not}.`) : null,
      now && !now.why_not ? table("Figures now and a week ago", ["Figure", "Now", "A week ago, or first"],
        FIGURES.map(([key, title]) => [title, percent(now[key]), percent(before?.[key])])) : h("p", null, now ? "" : "Not measured yet."),
      past.length > 1 ? h("section", null, h("h2", null, "F1 over time"), plot("F1 over all tags", past.map((one) => [one.at, one.f1_micro])),
        h("p", { className: "soft" }, `${when(past[0].at)} to ${when(past.at(-1).at)}`)) : null,
      now?.calibration ? h("section", null, h("h2", null, "Calibration"),
        plot("How often what is said is true", now.calibration.map((one) => [one.said, one.true])),
        table("Of what was said with a probability, so much was true", ["Said", "True", "Pairs"],
          now.calibration.map((one) => [percent(one.said), percent(one.true), String(one.n)]))) : null,
      h("h2", null, "Changes in seven days"),
      h("ul", null, Object.entries(found.week.changes).map(([kind, n]) => h("li", null, `${kind}: ${n}`))));
  }

  await fill();
  let retuning = await watch();
  const timer = setInterval(async () => {
    const was = retuning;
    retuning = await watch().catch(() => retuning);
    if (was && !retuning) {
      notice("Retuned.");
      await fill().catch(() => {});
    }
  }, 1000);
  return () => clearInterval(timer);
}
