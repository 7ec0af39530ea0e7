// Elements from plain values: texts are always texts, never markup.

export function h(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key in element && !key.includes("-") && key !== "list") element[key] = value;
    else element.setAttribute(key, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

export function svg(name, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

// What is in a place from now on; null is nothing.
export function put(place, ...children) {
  place.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined));
}

export const $ = (id) => document.getElementById(id);

let fading = 0;
export function notice(text) {
  $("notice").textContent = text;
  clearTimeout(fading);
  if (text) fading = setTimeout(() => { $("notice").textContent = ""; }, 8000);
}

export const percent = (value) => (value === null || value === undefined ? "–" : `${Math.round(value * 100)}%`);

export function when(seconds) {
  return new Date(seconds * 1000).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
}

export function table(caption, heads, rows) {
  return h("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": caption },
    h("table", null,
      h("caption", { className: "soft" }, caption),
      h("thead", null, h("tr", null, heads.map((head) => h("th", { scope: "col" }, head)))),
      h("tbody", null, rows.map((row) => h("tr", null, row.map((cell) => h("td", null, cell)))))));
}

// A line through points; in words for those who do not see it.
export function plot(title, points, { from = 0, to = 1 } = {}) {
  const [width, height, left, low] = [400, 160, 34, 140];
  const xs = points.map((point) => point[0]);
  const [first, last] = [Math.min(...xs), Math.max(...xs)];
  const x = (value) => left + ((value - first) / (last - first || 1)) * (width - left - 10);
  const y = (value) => low - ((value - from) / (to - from)) * (low - 10);
  const words = `${title}: from ${percent(points[0]?.[1])} to ${percent(points.at(-1)?.[1])}`;
  return svg("svg", { class: "plot", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": words },
    ...[from, (from + to) / 2, to].flatMap((value) => [
      svg("line", { class: "axis", x1: left, x2: width - 10, y1: y(value), y2: y(value) }),
      svg("text", { x: 0, y: y(value) + 4 }, percent(value))]),
    svg("polyline", { class: "line", points: points.map((point) => `${x(point[0])},${y(point[1])}`).join(" ") }),
    ...points.map((point) => svg("circle", { class: "dot", cx: x(point[0]), cy: y(point[1]), r: 3 })));
}
