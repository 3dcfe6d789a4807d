// ---- One instance: its certificate, and how the policies stand.

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
  $("certificate").replaceChildren(...pairs.flatMap(([name, value]) => [make("dt", { textContent: name }), make("dd", {}, value)]));
}

function explained(it) {
  if (it.reference === null) return "The solver has no solution: there is nothing to measure policies against.";
  if (it.proven) return "The bound meets the reference: nothing can be better.";
  if (it.bound === null) return "No bound is known: policies may well be better than the reference.";
  const apart = Math.abs(it.reference - it.bound) / Math.max(1e-10, Math.abs(it.reference));
  return `The optimum lies between reference and bound, which are ${percent(apart)} apart.`;
}

function standing(instance) {
  const runs = [...data.rows.keys()].filter((run) => data.rows[run][at.case] === instance);
  runs.sort(ordered((run) => data.rows[run][at.gap], 1));
  const most = Math.max(...runs.map((run) => data.rows[run][at.gap] ?? 0), 1e-12);
  const bars = make("div", { className: "bars" });
  for (const run of runs) {
    const row = data.rows[run];
    const gap = row[at.gap];
    const bar = make("b");
    bar.style.width = gap === null ? "0" : `${Math.max(0, (100 * gap) / most)}%`;
    bar.hidden = gap === null;
    const name = row[at.policy] + seeded(row);
    const otherwise = row[at.objective] === null ? "no result" : `${number(row[at.objective])}, no gap`;
    const value = make("span", { textContent: gap === null ? otherwise : percent(gap), title: row[at.note] });
    bars.append(make("span", {}, name), make("span", {}, bar), value);
  }
  $("standing").replaceChildren(bars);
}

function choose(instance) {
  const it = data.instances[instance];
  $("pick").value = String(instance);
  certificate(it);
  standing(instance);
}

function followed() {
  const instance = Number(new URLSearchParams(location.hash.slice(1)).get("instance") ?? NaN);
  if (!Number.isInteger(instance) || !(instance in data.instances)) return;
  choose(instance);
  $("case").scrollIntoView({ block: "start" });
}

function instances() {
  data.instances.forEach((it, i) => {
    const label = `${it.name}${several("problem") ? ` (${it.problem})` : ""}`;
    $("pick").append(make("option", { value: String(i), textContent: label }));
  });
  $("case").hidden = data.instances.length === 0;
  $("pick").parentElement.hidden = data.instances.length === 1;
  $("pick").addEventListener("change", () => choose(Number($("pick").value)));
  const first = data.instances.findIndex((it) => it.proven);
  if (data.instances.length) choose(Math.max(0, first));
  window.addEventListener("hashchange", followed);
}
