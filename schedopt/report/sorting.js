// ---- Tables that their headings sort, by what stands in each cell's data-value.

function mark(table, by, down) {
  for (const head of table.tHead.rows[0].cells) {
    if (head.dataset.by === by) head.setAttribute("aria-sort", down ? "descending" : "ascending");
    else head.removeAttribute("aria-sort");
  }
}

function sortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, i) => {
    const text = head.textContent;
    head.dataset.by = text;
    const button = make("button", { type: "button", textContent: text, title: head.title });
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      const value = (line) => {
        const held = line.cells[i].dataset.value;
        return held === "" ? null : i === 0 || Number.isNaN(Number(held)) ? held : Number(held);
      };
      const body = table.tBodies[0];
      body.append(...[...body.rows].sort(ordered(value, down ? -1 : 1)));
      mark(table, text, down);
    });
    head.replaceChildren(button);
  });
}
