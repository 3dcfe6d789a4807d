"use strict";
// Names come from users: they are only ever set as text, never as markup.
const root = document.documentElement;
const make = (tag, words) => Object.assign(document.createElement(tag), words);

// Light and dark: as the system says, until the button is pressed.
const dark = window.matchMedia("(prefers-color-scheme: dark)");
try {
  const kept = localStorage.getItem("schedopt-theme");
  if (kept) root.dataset.theme = kept;
} catch { /* a page from a file may have no storage: the choice then holds until it is closed */ }
document.getElementById("theme").addEventListener("click", () => {
  const now = root.dataset.theme ?? (dark.matches ? "dark" : "light");
  root.dataset.theme = now === "dark" ? "light" : "dark";
  try {
    localStorage.setItem("schedopt-theme", root.dataset.theme);
  } catch { /* as above */ }
});

// What is missing goes last whichever way the rest is sorted; equals keep their order.
const ordered = (value, sign) => (a, b) => {
  const [x, y] = [value(a), value(b)];
  if (x === null || y === null) return (x === null) - (y === null);
  return sign * (typeof x === "string" ? x.localeCompare(y, "en", { numeric: true }) : x - y);
};
function sortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, i) => {
    const button = make("button", { type: "button", textContent: head.textContent, title: head.title });
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      const value = (line) => {
        const held = line.cells[i].dataset.value;
        return held === "" ? null : i === 0 || Number.isNaN(Number(held)) ? held : Number(held);
      };
      const body = table.tBodies[0];
      body.append(...[...body.rows].sort(ordered(value, down ? -1 : 1)));
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
    });
    head.replaceChildren(button);
  });
}

// A spreadsheet computes what begins like a formula, and may start programs: an apostrophe stops it.
const cell = (value) => {
  const text = /^[=+\-@\t\r']/.test(value) && Number.isNaN(Number(value)) ? `'${value}` : value;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};
const download = (name, rows) => {
  const text = rows.map((row) => row.map(cell).join(",")).join("\n");
  const url = URL.createObjectURL(new Blob([`${text}\n`], { type: "text/csv" }));
  make("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
};

for (const table of document.querySelectorAll("table.sortable")) {
  const [heads, rows] = [[...table.tHead.rows[0].cells].map((head) => head.textContent), [...table.tBodies[0].rows]];
  const whole = [heads, ...rows.map((row) => [...row.cells].map((cell) => cell.textContent))];
  for (const row of rows) [...row.cells].forEach((cell, i) => { cell.dataset.label = heads[i]; });
  sortable(table);
  const button = table.closest("figure").querySelector(".download");
  button.addEventListener("click", () => download(`${button.dataset.name}.csv`, whole));
}
root.dataset.ready = "yes";
