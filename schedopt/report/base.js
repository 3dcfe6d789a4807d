// What all parts share. Names come from users: they are only ever set as text, never as markup.
const data = JSON.parse(document.getElementById("data").textContent);
const at = Object.fromEntries(data.columns.map((name, i) => [name, i]));
const problems = new Map(Object.entries(data.problems).map(([name, it]) => [name, { ...it, policies: new Map(Object.entries(it.policies)) }]));
const $ = (id) => document.getElementById(id);
const make = (tag, words = {}, ...children) => {
  const element = Object.assign(document.createElement(tag), words);
  element.append(...children);
  return element;
};
const narrow = window.matchMedia("(max-width: 640px)");

// Numbers as schedopt/formats.py writes them: a tie, which only few fractions can be, goes to the even digit.
const fixed = (value, places) => {
  const [size, scaled] = [Math.abs(value), Math.abs(value) * 10 ** places];
  const tie = Number.isInteger(size * 2 ** (places + 1)) && scaled % 1 === 0.5;
  const text = (tie ? (2 * Math.round(scaled / 2)) / 10 ** places : size).toFixed(places);
  return value < 0 ? `-${text}` : text;
};
const thousands = (text) => {
  const [whole, part] = text.split(".");
  const apart = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return part === undefined ? apart : `${apart}.${part}`;
};
const number = (value) => {
  if (value === null) return "–";
  const size = Math.abs(value);
  if (value === 0) return "0";
  if (size < 1e-6 || size >= 1e15) return Number(value.toPrecision(6)).toExponential().replace(/([+-])(\d)$/, "$10$2");
  if (Number.isInteger(value)) return thousands(fixed(value, 0));
  const text = thousands(fixed(value, Math.max(0, 5 - Math.floor(Math.log10(size)))));
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
};
const percent = (value) => {
  if (value === null) return "–";
  const size = Math.abs(value);
  if (size <= 1e-9) return "0.00%";
  if (size >= 1e-4) return `${fixed(100 * value, 2)}%`;
  if (size >= 1e-6) return `${fixed(100 * value, 4)}%`;
  return value > 0 ? "<0.0001%" : ">-0.0001%";
};
const seconds = (value) => {
  if (value >= 7200) return `${thousands(fixed(value / 3600, 1))} h`;
  if (value >= 600) return `${fixed(value / 60, 0)} min`;
  const [scale, unit] = value >= 1 || value === 0 ? [1, "s"] : value >= 1e-3 ? [1e3, "ms"] : [1e6, "µs"];
  return `${+(scale * value).toPrecision(3)} ${unit}`;
};
const counted = (count, what) => `${count.toLocaleString("en")} ${what}${count === 1 ? "" : "s"}`;

// What is missing goes last whichever way the rest is sorted; equals keep their order.
const ordered = (value, sign) => (a, b) => {
  const [x, y] = [value(a), value(b)];
  if (x === null || y === null) return (x === null) - (y === null);
  return sign * (typeof x === "string" ? x.localeCompare(y, "en", { numeric: true }) : x - y);
};

// A spreadsheet computes what begins like a formula, and may start programs: an apostrophe stops it.
const cell = (value) => {
  const text = typeof value === "string" && /^[=+\-@\t\r']/.test(value) ? `'${value}` : String(value ?? "");
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};
const download = (name, heads, rows) => {
  const text = [heads, ...rows].map((row) => row.map(cell).join(",")).join("\n");
  const url = URL.createObjectURL(new Blob([`${text}\n`], { type: "text/csv" }));
  make("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
};

// Large parts come packed, at a fraction of their size; the browser unpacks them.
const unpacked = async (id) => {
  const packed = Uint8Array.from(atob($(id).textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
};
const trouble = (what, error) => {
  $("trouble").append(make("span", { textContent: `${what} cannot be shown in this browser (${error.message}); the rest of the page is complete. ` }));
  $("trouble").hidden = false;
};
