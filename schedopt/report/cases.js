// ---- One instance: its certificate, how the policies stand, their pictures beside the reference's.

const drawings = { svgs: null }; // once they are unpacked
const showing = { instance: null, run: null };

function pictured(run) {
  return data.instances[data.rows[run][at.case]].pictures.some((picture) => picture.rows.includes(run) && picture.svg !== null);
}

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
    const who = pictured(run) ? make("a", { className: "link", href: `#instance=${instance}&run=${run}`, textContent: name }) : name;
    const otherwise = row[at.objective] === null ? "no result" : `${number(row[at.objective])}, no gap`;
    const value = make("span", { textContent: gap === null ? otherwise : percent(gap), title: row[at.note] });
    bars.append(make("span", {}, who), make("span", {}, bar), value);
  }
  $("standing").replaceChildren(bars);
}

function figure(picture) {
  const found = make("figure", { className: "picture" }, make("figcaption", { textContent: picture.caption }));
  if (picture.note) found.append(make("p", { className: "quiet", textContent: picture.note }));
  if (picture.svg !== null && drawings.svgs !== null) {
    const sheet = make("template", { innerHTML: drawings.svgs[picture.svg] }); // ours: it holds no script
    found.append(make("div", { className: "sheet" }, sheet.content));
  }
  return found;
}

function pictures(it) {
  const [reference, ...own] = it.pictures;
  $("whose").hidden = own.length < 2;
  if (!reference) {
    const none = "Not drawn in this report; schedopt plot draws it.";
    $("picture").replaceChildren(make("p", { className: "quiet", textContent: none }));
    return;
  }
  const options = own.map((picture, i) => make("option", { value: String(i), textContent: picture.caption }));
  $("solution").replaceChildren(...options);
  const wanted = own.findIndex((picture) => picture.rows.includes(showing.run));
  const chosen = Math.max(0, wanted);
  $("solution").value = String(chosen);
  $("picture").replaceChildren(...[own[chosen], reference].filter(Boolean).map(figure));
}

function choose(instance, run = null) {
  const it = data.instances[instance];
  Object.assign(showing, { instance, run });
  $("pick").value = String(instance);
  certificate(it);
  standing(instance);
  pictures(it);
}

function followed() {
  const asked = new URLSearchParams(location.hash.slice(1));
  const instance = Number(asked.get("instance") ?? NaN);
  if (!Number.isInteger(instance) || !(instance in data.instances)) return;
  choose(instance, asked.has("run") ? Number(asked.get("run")) : null);
  $(asked.has("run") ? "whose" : "case").scrollIntoView({ block: "start" });
  if ($("whose").hidden) $("case").scrollIntoView({ block: "start" });
}

function instances() {
  const drawn = data.instances.map((it) => it.pictures.some((picture) => picture.svg !== null));
  const all = drawn.every(Boolean);
  $("drawn").hidden = all || !drawn.some(Boolean);
  data.instances.forEach((it, i) => {
    const label = `${it.name}${several("problem") ? ` (${it.problem})` : ""}${drawn[i] && !all ? " ▣" : ""}`;
    $("pick").append(make("option", { value: String(i), textContent: label }));
  });
  $("case").hidden = data.instances.length === 0;
  $("pick").parentElement.hidden = data.instances.length === 1;
  $("pick").addEventListener("change", () => choose(Number($("pick").value)));
  $("solution").addEventListener("change", () => {
    const picture = data.instances[showing.instance].pictures[1 + Number($("solution").value)];
    choose(showing.instance, picture.rows[0]);
  });
  const telling = data.instances.findIndex((it, i) => drawn[i] && it.proven);
  const first = telling >= 0 ? telling : drawn.indexOf(true);
  if (data.instances.length) choose(Math.max(0, first));
  window.addEventListener("hashchange", followed);
}
