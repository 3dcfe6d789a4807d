// ---- Filters, which hold for the charts and for the table of all runs.

const PAGE = narrow.matches ? 25 : 100;
const values = Object.fromEntries(["problem", "policy", "seed"].map((name) => [name, new Set(data.rows.map((row) => row[at[name]]))]));
const several = (name) => values[name].size > 1;
// Policies that drew random numbers ran with several seeds; the others' one seed says nothing.
const seeds = new Map();
for (const row of data.rows) seeds.set(row[at.policy], (seeds.get(row[at.policy]) ?? new Set()).add(row[at.seed]));
const seeded = (row) => (seeds.get(row[at.policy]).size > 1 ? `, seed ${row[at.seed]}` : "");
const state = { by: null, down: false, shown: PAGE, found: data.rows };
const haystacks = new Map(data.rows.map((row) => {
  const words = [row[at.instance], row[at.problem], row[at.policy], row[at.note], data.instances[row[at.case]].file];
  return [row, words.join("\n").toLowerCase()];
}));

function filtered() {
  const words = $("find").value.toLowerCase().split(/\s+/).filter(Boolean);
  const [problem, policy] = [$("problem").value, $("policy").value];
  const least = $("least").value === "" ? null : Number($("least").value) / 100;
  const any = words.length > 0 || problem !== "" || policy !== "" || least !== null;
  $("clear").disabled = !any;
  if (!any) return data.rows;
  return data.rows.filter(
    (row) =>
      (!problem || row[at.problem] === problem) &&
      (!policy || row[at.policy] === policy) &&
      (least === null || (row[at.gap] !== null && row[at.gap] >= least)) &&
      words.every((word) => haystacks.get(row).includes(word)),
  );
}

function refresh() {
  state.passing = filtered();
  state.found = [...state.passing];
  if (state.by !== null) state.found.sort(ordered((row) => row[at[state.by]], state.down ? -1 : 1));
  state.shown = PAGE;
  const [found, all] = [state.found.length, data.rows.length];
  $("shown").textContent = found === all ? counted(all, "run") : `${found.toLocaleString("en")} of ${counted(all, "run")}`;
  for (const section of document.querySelectorAll("section.problem")) {
    section.hidden = !state.passing.some((row) => row[at.problem] === section.dataset.problem);
  }
  for (const line of document.querySelectorAll(".summary tbody tr")) {
    line.setAttribute("aria-selected", String(line.cells[0].dataset.value === $("policy").value));
  }
  draw();
  charts();
}

function filters() {
  for (const name of ["problem", "policy"]) {
    for (const value of values[name]) $(name).append(make("option", { value, textContent: value }));
    $(name).addEventListener("change", refresh);
  }
  $("problem").parentElement.hidden = !several("problem");
  // Text as it is typed; not when it loses focus, which would replace a link that is being pressed.
  for (const id of ["find", "least"]) $(id).addEventListener("input", refresh);
  $("filters").addEventListener("submit", (event) => event.preventDefault());
  $("clear").addEventListener("click", () => {
    $("filters").reset();
    refresh();
  });
}

// ---- All runs: one table, sorted here, drawn a page at a time.

const COLUMNS = [
  { name: "instance", text: true, whole: true, cell: instanceLink },
  { name: "problem", text: true, hidden: !several("problem") },
  { name: "policy", text: true, whole: true, cell: (row) => named(row[at.policy]) },
  { name: "seed", hidden: !several("seed") },
  { name: "objective", cell: (row) => number(row[at.objective]) },
  { name: "reference", cell: (row) => number(row[at.reference]) },
  { name: "gap", cell: gauge },
  { name: "proven", cell: (row) => (row[at.proven] ? "yes" : "no") },
  { name: "seconds", label: "time", cell: (row) => seconds(row[at.seconds]) },
  { name: "note", hidden: !data.rows.some((row) => row[at.note]), text: true, whole: true, cell: note },
].filter((column) => !column.hidden).map((column) => ({ label: column.name, ...column }));
const reach = data.rows.reduce((most, row) => Math.max(most, row[at.gap] ?? 0), 0);

function named(name) {
  return make("span", { className: "name", textContent: name, title: name });
}

function instanceLink(row) {
  return make("a", { href: `#instance=${row[at.case]}`, className: "link" }, named(row[at.instance]));
}

function gauge(row) {
  const gap = row[at.gap];
  if (gap === null) return "–";
  const bar = make("b");
  bar.style.width = `${reach > 0 ? Math.max(0, (100 * gap) / reach) : 0}%`;
  return make("span", {}, percent(gap), make("span", { className: "gauge" }, bar));
}

function note(row) {
  const words = make("span", { className: "clamp", textContent: row[at.note] });
  words.addEventListener("click", () => words.classList.toggle("whole"));
  return row[at.note] && words;
}

function draw() {
  const body = document.createDocumentFragment();
  for (const row of state.found.slice(0, state.shown)) {
    const line = make("tr");
    for (const column of COLUMNS) {
      const place = make("td");
      place.dataset.label = column.label;
      if (column.text) place.classList.add("text");
      if (column.whole) place.classList.add("whole");
      if (column.name === "note") place.classList.add("note");
      const value = column.cell ? column.cell(row) : row[at[column.name]];
      if (value === "") place.classList.add("empty");
      place.append(value);
      line.append(place);
    }
    body.append(line);
  }
  $("rows").tBodies[0].replaceChildren(body);
  $("more").hidden = state.found.length <= state.shown;
  mark($("rows"), state.by, state.down);
  $("sort").value = state.by === null ? "" : `${state.by} ${state.down ? "down" : "up"}`;
}

function sortBy(name, down) {
  Object.assign(state, { by: name, down });
  refresh();
}

function runs() {
  $("sort").append(make("option", { value: "", textContent: "as run" }));
  for (const column of COLUMNS) {
    const button = make("button", { type: "button", textContent: column.label });
    button.addEventListener("click", () => sortBy(column.name, state.by === column.name && !state.down));
    const head = make("th", { scope: "col" }, button);
    head.dataset.by = column.name;
    if (column.text) head.classList.add("text");
    $("rows").tHead.rows[0].append(head);
    for (const [way, sign] of [["up", "▲"], ["down", "▼"]]) {
      $("sort").append(make("option", { value: `${column.name} ${way}`, textContent: `${column.label} ${sign}` }));
    }
  }
  $("sort").addEventListener("change", () => {
    const [by, way] = $("sort").value.split(" ");
    sortBy(by || null, way === "down");
  });
  $("more").addEventListener("click", () => {
    state.shown += 5 * PAGE;
    draw();
  });
  $("save").addEventListener("click", () => {
    const file = (row) => data.instances[row[at.case]].file;
    download("runs.csv", [...data.columns.slice(0, -1), "file"], state.found.map((row) => [...row.slice(0, -1), file(row)]));
  });
}

// ---- Summaries: sorted by their headings; a policy's name filters the charts.

function summaries() {
  document.querySelectorAll("table.sortable").forEach(sortable);
  for (const line of document.querySelectorAll(".summary tbody tr")) {
    const button = make("button", { type: "button", className: "link", title: "show only this policy's runs in charts and table" });
    button.append(...line.cells[0].childNodes);
    button.addEventListener("click", () => {
      $("policy").value = $("policy").value === line.cells[0].dataset.value ? "" : line.cells[0].dataset.value;
      refresh();
    });
    line.cells[0].append(button);
  }
  for (const button of document.querySelectorAll(".download")) {
    const name = button.closest("section").dataset.problem;
    button.addEventListener("click", () => {
      const { standings } = problems.get(name);
      const heads = Object.keys(standings[0]);
      const text = (value) => (value !== null && typeof value === "object" ? JSON.stringify(value) : value);
      download(`summary-${name}.csv`, heads, standings.map((standing) => heads.map((head) => text(standing[head]))));
    });
  }
}
