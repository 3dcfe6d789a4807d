// ---- A page of one result: its tables are sorted by their headings, and downloaded.

theme(() => {});
for (const table of document.querySelectorAll("table.sortable")) {
  const [heads, rows] = [[...table.tHead.rows[0].cells].map((head) => head.textContent), [...table.tBodies[0].rows]];
  const whole = rows.map((row) => [...row.cells].map((cell) => cell.textContent));
  for (const row of rows) [...row.cells].forEach((cell, i) => { cell.dataset.label = heads[i]; });
  sortable(table);
  const button = table.closest("figure").querySelector(".download");
  button.addEventListener("click", () => download(`${button.dataset.name}.csv`, heads, whole));
}
root.dataset.ready = "yes";
