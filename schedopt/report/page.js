"use strict";
(() => {
  // Names come from users: they are only ever set as text, never as markup.
  const data = JSON.parse(document.getElementById("data").textContent);
  const at = Object.fromEntries(data.columns.map((name, i) => [name, i]));
  const $ = (id) => document.getElementById(id);
  const make = (tag, words = {}, ...children) => {
    const element = Object.assign(document.createElement(tag), words);
    element.append(...children);
    return element;
  };

  const hundredths = new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
  const digits = new Intl.NumberFormat("en", { maximumSignificantDigits: 6 });
  const number = (value) => (value === null ? "–" : digits.format(value));
  const percent = (value) => {
    if (value === null) return "–";
    const small = value !== 0 && Math.abs(value) < 1e-4;
    return small ? `${(100 * value).toExponential(1)}%` : `${hundredths.format(100 * value)}%`;
  };
  const seconds = (value) => {
    const [scale, unit] = value >= 1 || value === 0 ? [1, "s"] : value >= 1e-3 ? [1e3, "ms"] : [1e6, "µs"];
    return `${+(scale * value).toPrecision(3)} ${unit}`;
  };

  // ---- All runs: one table, filtered and sorted here, drawn a page at a time.

  const narrow = window.matchMedia("(max-width: 640px)");
  const PAGE = narrow.matches ? 25 : 100;
  const values = { problem: null, policy: null, seed: null };
  for (const name in values) values[name] = new Set(data.rows.map((row) => row[at[name]]));
  const several = (name) => values[name].size > 1;
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
  const state = { by: null, down: false, shown: PAGE, found: data.rows };
  const reach = data.rows.reduce((most, row) => Math.max(most, row[at.gap] ?? 0), 0);

  function named(name) {
    return make("span", { className: "name", textContent: name, title: name });
  }

  function instanceLink(row) {
    const link = make("button", { type: "button", className: "link" });
    link.append(named(row[at.instance]));
    link.addEventListener("click", () => {
      choose(row[at.case]);
      $("case").scrollIntoView({ block: "start" });
    });
    return link;
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

  function haystack(row) {
    const file = data.instances[row[at.case]].file;
    return [row[at.instance], row[at.problem], row[at.policy], row[at.note], file].join("\n").toLowerCase();
  }
  const haystacks = new Map(data.rows.map((row) => [row, haystack(row)]));

  function refresh() {
    const words = $("find").value.toLowerCase().split(/\s+/).filter(Boolean);
    const problem = $("problem").value;
    const policy = $("policy").value;
    const least = $("least").value === "" ? null : Number($("least").value) / 100;
    state.found = data.rows.filter(
      (row) =>
        (!problem || row[at.problem] === problem) &&
        (!policy || row[at.policy] === policy) &&
        (least === null || (row[at.gap] !== null && row[at.gap] >= least)) &&
        words.every((word) => haystacks.get(row).includes(word)),
    );
    if (state.by !== null) state.found.sort(order(at[state.by], state.down ? -1 : 1));
    state.shown = PAGE;
    draw();
  }

  // What is missing goes last whichever way the rest is sorted; equals keep the bench's order.
  function order(i, sign) {
    return (a, b) => {
      const [x, y] = [a[i], b[i]];
      if (x === null || y === null) return (x === null) - (y === null);
      return sign * (typeof x === "string" ? x.localeCompare(y, "en", { numeric: true }) : x - y);
    };
  }

  function draw() {
    const body = document.createDocumentFragment();
    for (const row of state.found.slice(0, state.shown)) {
      const line = make("tr");
      for (const column of COLUMNS) {
        const cell = make("td");
        cell.dataset.label = column.label;
        if (column.text) cell.classList.add("text");
        if (column.whole) cell.classList.add("whole");
        if (column.name === "note") cell.classList.add("note");
        const value = column.cell ? column.cell(row) : row[at[column.name]];
        if (value === "") cell.classList.add("empty");
        cell.append(value);
        line.append(cell);
      }
      body.append(line);
    }
    $("rows").tBodies[0].replaceChildren(body);
    const [found, all] = [state.found.length, data.rows.length];
    const runs = all === 1 ? "1 run" : `${all} runs`;
    $("shown").textContent = found === all ? runs : `${found} of ${runs}`;
    $("more").hidden = found <= state.shown;
    for (const head of $("rows").tHead.rows[0].cells) {
      if (head.dataset.by === state.by) head.setAttribute("aria-sort", state.down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    }
    $("sort").value = state.by === null ? "" : `${state.by} ${state.down ? "down" : "up"}`;
  }

  function sortBy(name, down) {
    Object.assign(state, { by: name, down });
    refresh();
  }

  function table() {
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
    for (const name of ["problem", "policy"]) {
      for (const value of values[name]) {
        $(name).append(make("option", { value, textContent: value }));
      }
    }
    $("problem").parentElement.hidden = !several("problem");
    // Text as it is typed; not when it loses focus, which would replace a link that is being pressed.
    for (const id of ["find", "least"]) $(id).addEventListener("input", refresh);
    for (const id of ["problem", "policy"]) $(id).addEventListener("change", refresh);
    $("find").form.addEventListener("submit", (event) => event.preventDefault());
    $("sort").addEventListener("change", () => {
      const [by, way] = $("sort").value.split(" ");
      sortBy(by || null, way === "down");
    });
    $("more").addEventListener("click", () => {
      state.shown += 5 * PAGE;
      draw();
    });
    refresh();
  }

  // ---- One instance: its certificate, how the policies stand, its picture.

  function certificate(it) {
    const words = { textContent: it.proven ? "proven optimal" : "not proven", className: it.proven ? "seal" : "seal open" };
    const pairs = [
      ["instance", it.name],
      ["file", it.file],
      ["reference", it.reference === null ? "none" : number(it.reference)],
      ["bound", it.bound === null ? "unknown" : number(it.bound)],
      ["certificate", make("span", words)],
      ["", explained(it)],
      ["formulation", it.formulation ?? "none"],
      ["solver", it.solver ?? "none"],
      ["time", seconds(it.seconds)],
    ];
    $("certificate").replaceChildren(
      ...pairs.flatMap(([name, value]) => [make("dt", { textContent: name }), make("dd", {}, value)]),
    );
  }

  function explained(it) {
    if (it.reference === null) return "The solver has no solution: there is nothing to measure policies against.";
    if (it.proven) return "The bound meets the reference: nothing can be better.";
    if (it.bound === null) return "No bound is known: policies may well be better than the reference.";
    const apart = Math.abs(it.reference - it.bound) / Math.max(1e-10, Math.abs(it.reference));
    return `The optimum lies between reference and bound, which are ${percent(apart)} apart.`;
  }

  function standing(rows) {
    const sorted = [...rows].sort(order(at.gap, 1));
    const most = Math.max(...rows.map((row) => row[at.gap] ?? 0), 1e-12);
    const bars = make("div", { className: "bars" });
    for (const row of sorted) {
      const gap = row[at.gap];
      const bar = make("b");
      bar.style.width = gap === null ? "0" : `${Math.max(0, (100 * gap) / most)}%`;
      bar.hidden = gap === null;
      const seed = row[at.seed] ? `, seed ${row[at.seed]}` : "";
      const otherwise = row[at.objective] === null ? "no result" : `${number(row[at.objective])}, no gap`;
      const value = make("span", { textContent: gap === null ? otherwise : percent(gap), title: row[at.note] });
      bars.append(make("span", { textContent: row[at.policy] + seed }), make("span", {}, bar), value);
    }
    $("standing").replaceChildren(bars);
  }

  function choose(number) {
    const it = data.instances[number];
    $("pick").value = String(number);
    certificate(it);
    standing(data.rows.filter((row) => row[at.case] === number));
    const drawing = $(`picture-${number}`);
    const none = make("p", { className: "quiet", textContent: "Not drawn in this report; schedopt plot draws it." });
    $("picture").replaceChildren(drawing ? drawing.content.cloneNode(true) : none);
  }

  function instances() {
    const all = data.instances.every((it) => it.drawn);
    $("drawn").hidden = all || !data.instances.some((it) => it.drawn);
    data.instances.forEach((it, i) => {
      const label = `${it.name}${several("problem") ? ` (${it.problem})` : ""}${it.drawn && !all ? " ▣" : ""}`;
      $("pick").append(make("option", { value: String(i), textContent: label }));
    });
    $("pick").parentElement.hidden = data.instances.length === 1;
    $("pick").addEventListener("change", () => choose(Number($("pick").value)));
    const telling = data.instances.findIndex((it) => it.drawn && it.proven);
    const first = telling >= 0 ? telling : data.instances.findIndex((it) => it.drawn);
    if (data.instances.length) choose(Math.max(0, first));
  }

  // ---- Charts, in the page's colours.

  function looks() {
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    const axis = { gridcolor: colour("--line"), zerolinecolor: colour("--line"), linecolor: colour("--line") };
    return {
      font: { color: colour("--ink"), family: getComputedStyle(document.body).fontFamily, size: 13 },
      hoverlabel: { bgcolor: colour("--card"), bordercolor: colour("--line"), font: { color: colour("--ink") }, align: "left", namelength: 40 },
      axis,
    };
  }

  // Long names would leave no room for what they name; hovering shows them in full.
  function shortNames(chart) {
    const most = narrow.matches ? 18 : 34;
    const names = chart.data.map((trace) => trace.meta);
    const escaped = (name) => name.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
    const short = (name) => escaped(name.length > most ? `${name.slice(0, most - 1)}…` : name);
    return { tickmode: "array", tickvals: chart.data.map((trace) => trace.name), ticktext: names.map(short) };
  }

  function layout(chart, place) {
    const { font, hoverlabel, axis } = looks();
    const named = place.dataset.chart === "gaps" ? shortNames(chart) : {};
    return {
      height: 340,
      showlegend: false, // the page has its own, which wraps and can be reached by keyboard
      margin: { l: 55, r: 15, t: 15, b: 50 },
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      dragmode: narrow.matches ? false : "zoom", // a finger scrolls the page
      ...chart.layout,
      font,
      hoverlabel,
      xaxis: { ...chart.layout.xaxis, ...axis, automargin: true, fixedrange: narrow.matches },
      yaxis: { ...chart.layout.yaxis, ...axis, ...named, automargin: true, fixedrange: narrow.matches },
    };
  }

  function keys(place, chart) {
    const buttons = chart.data.map((trace, i) => {
      const line = make("i");
      const dash = { solid: "solid", dash: "dashed", dot: "dotted" }[trace.line.dash];
      Object.assign(line.style, { borderTopColor: trace.line.color, borderTopStyle: dash });
      const button = make("button", { type: "button" }, line, make("span", { textContent: trace.meta, title: trace.meta }));
      button.setAttribute("aria-pressed", "true");
      button.addEventListener("click", () => {
        const shown = button.getAttribute("aria-pressed") !== "true";
        button.setAttribute("aria-pressed", String(shown));
        trace.visible = shown;
        window.Plotly.restyle(place, { visible: shown }, [i]);
      });
      return button;
    });
    place.after(make("div", { className: "keys" }, ...buttons));
  }

  function charts() {
    for (const place of document.querySelectorAll(".chart")) {
      const chart = data.charts[place.dataset.problem][place.dataset.chart];
      const none = chart.data.length === 0;
      place.classList.toggle("quiet", none);
      if (none) place.textContent = "Nothing to show: no run has a gap.";
      else window.Plotly.react(place, chart.data, layout(chart, place), { responsive: true, displaylogo: false, displayModeBar: false });
    }
  }

  // Plotly comes packed, at two fifths of its size; the browser unpacks it.
  async function plotly() {
    const packed = Uint8Array.from(atob($("plotly").textContent), (letter) => letter.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    const source = await new Response(stream).text();
    document.head.append(make("script", { textContent: source }));
    for (const place of document.querySelectorAll('.chart[data-chart="profile"]')) {
      keys(place, data.charts[place.dataset.problem].profile);
    }
    charts();
    narrow.addEventListener("change", charts);
    document.documentElement.dataset.ready = "yes";
  }

  // ---- Light and dark: as the system says, until the button is pressed.

  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;

  function recolour() {
    if (window.Plotly) charts();
  }

  function theme() {
    try {
      const kept = localStorage.getItem("schedopt-theme");
      if (kept) root.dataset.theme = kept;
    } catch { /* a page from a file may have no storage: the choice then holds until it is closed */ }
    $("theme").addEventListener("click", () => {
      const now = root.dataset.theme ?? (dark.matches ? "dark" : "light");
      root.dataset.theme = now === "dark" ? "light" : "dark";
      try {
        localStorage.setItem("schedopt-theme", root.dataset.theme);
      } catch { /* as above */ }
      recolour();
    });
    dark.addEventListener("change", recolour);
  }

  theme();
  instances();
  table();
  plotly().catch((error) => {
    $("trouble").textContent = `The charts cannot be shown in this browser (${error.message}); the rest of the page is complete.`;
    $("trouble").hidden = false;
    root.dataset.ready = "without charts";
  });
})();
