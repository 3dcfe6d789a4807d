// ---- Charts, of the runs that the filters leave, in the page's colours.

const DASHES = { solid: "solid", dashed: "dash", dotted: "dot", dashdot: "dashdot" };
const MANY = 400; // points of a policy beyond which the box alone is shown
const STEPS = 500; // steps of a profile that are drawn at the most: an eye tells no more apart
const FAR = 3; // the ratio beyond which a profile's axis is logarithmic
const WIDE = 2; // the gap beyond which gaps stand on a logarithmic axis, as multiples of the reference
const SAME = 1e-9; // a ratio this close to another is the same
const hidden = new Map([...problems.keys()].map((name) => [name, new Set()])); // by the keys

// Plotly reads some markup in all of its texts.
const escaped = (name) => name.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
const cut = (name, most) => (name.length > most ? `${name.slice(0, most - 1)}…` : name);

function shown(name) {
  const rows = state.passing.filter((row) => row[at.problem] === name);
  const names = new Set(rows.map((row) => row[at.policy]));
  const policies = [...problems.get(name).policies].filter(([policy]) => names.has(policy));
  return { rows, policies };
}

// The steps of a performance profile, as Profile.steps() of schedopt/analysis/profiles.py has them.
function steps(ratios, instances) {
  const found = [[1], [0]];
  const finite = ratios.filter((ratio) => ratio !== null).sort((a, b) => a - b);
  finite.forEach((ratio, i) => {
    const last = found[0].length - 1;
    if (ratio > found[0][last] * (1 + SAME)) {
      found[0].push(ratio);
      found[1].push(0);
    }
    found[1][found[1].length - 1] = (i + 1) / instances;
  });
  return found;
}

function thin(numbers) {
  const last = numbers.length - 1;
  return last < STEPS ? numbers : Array.from({ length: STEPS + 1 }, (_, i) => numbers[Math.floor((last * i) / STEPS)]);
}

function profile(name) {
  const { rows, policies } = shown(name);
  const cases = new Set(rows.map((row) => row[at.case]));
  const instances = problems.get(name).instances.filter((instance) => cases.has(instance));
  if (!instances.length) return null;
  const found = policies.map(([policy, { colour, dash, ratios }]) => {
    const mine = instances.filter((instance) => instance in ratios).map((instance) => ratios[instance]);
    return { policy, colour, dash, steps: steps(mine, instances.length) };
  });
  const far = Math.max(...found.map((it) => it.steps[0].at(-1)));
  const end = far > 1 ? 1 + 1.05 * (far - 1) : 1.1;
  const log = end > FAR;
  return {
    data: found.map(({ policy, colour, dash, steps: [x, y] }) => ({
      type: "scatter",
      mode: "lines",
      name: escaped(policy),
      meta: policy, // as it is, for the page's legend
      x: [...thin(x), end],
      y: [...thin(y), y.at(-1)],
      line: { shape: "hv", width: 2, color: colour, dash: DASHES[dash] },
      visible: !hidden.get(name).has(policy),
      hovertemplate: "within a factor of %{x:.4~g} on %{y:.1%}<extra>%{fullData.name}</extra>",
    })),
    layout: {
      xaxis: { title: { text: "ratio to the best" }, type: log ? "log" : "linear", range: log ? [0, Math.log10(end)] : [1, end] },
      yaxis: { title: { text: `share of ${counted(instances.length, "instance")}` }, tickformat: ".0%", range: [-0.02, 1.03] },
    },
  };
}

// Between the two next to it, as numpy's default is.
function quantile(sorted, share) {
  const place = (sorted.length - 1) * share;
  const low = Math.floor(place);
  return sorted[low] + (place - low) * ((sorted[low + 1] ?? sorted[low]) - sorted[low]);
}

// The same jitter each time, so that a point stays where it is while others are filtered away.
const jitter = (row) => 0.5 * (((row[at.case] * 0.618034 + row[at.seed] * 0.414214) % 1) - 0.5);

function gaps(name) {
  const { rows, policies } = shown(name);
  const known = rows.filter((row) => row[at.gap] !== null);
  const wide = known.some((row) => row[at.gap] > WIDE);
  const place = (row) => row[at.gap] + (wide ? 1 : 0);
  const found = policies
    .map(([policy, look]) => ({ policy, ...look, rows: known.filter((row) => row[at.policy] === policy) }))
    .filter((it) => it.rows.length)
    .map((it) => ({ ...it, sorted: it.rows.map(place).sort((a, b) => a - b) }));
  if (!found.length) return null;
  found.sort((a, b) => quantile(b.sorted, 0.5) - quantile(a.sorted, 0.5) || b.sorted.at(-1) - a.sorted.at(-1));
  const most = narrow.matches ? 18 : 34;
  const times = { title: { text: "times the reference" }, type: "log", hoverformat: ".4~g" };
  const part = { title: { text: "gap to the reference" }, tickformat: ".3~p", hoverformat: ".3~p", rangemode: "tozero" };
  return {
    data: found.flatMap((it, i) => [box(it, i), ...(it.rows.length > MANY ? [] : [points(it, i, place)])]),
    layout: {
      xaxis: wide ? times : part,
      yaxis: {
        tickmode: "array",
        tickvals: found.map((_, i) => i),
        ticktext: found.map((it) => escaped(cut(it.policy, most))), // hovering shows them in full
        range: [-0.6, found.length - 0.4],
        showgrid: false,
      },
      height: 110 + 34 * Math.max(3, found.length),
    },
  };
}

function box({ policy, colour, sorted }, i) {
  const marks = { lowerfence: 0, q1: 0.25, median: 0.5, q3: 0.75, upperfence: 1 };
  const found = Object.entries(marks).map(([mark, share]) => [mark, [quantile(sorted, share)]]);
  return {
    type: "box",
    orientation: "h",
    name: escaped(policy),
    meta: policy,
    y: [i],
    width: 0.6,
    line: { color: colour, width: 1.5 },
    ...Object.fromEntries(found),
  };
}

function points({ policy, colour, rows }, i, place) {
  const said = (row) => escaped(cut(row[at.instance], 60)) + seeded(row);
  return {
    type: "scatter",
    mode: "markers",
    name: escaped(policy),
    meta: policy,
    x: rows.map(place),
    y: rows.map((row) => i + jitter(row)),
    text: rows.map((row) => `${said(row)}<br>gap ${escaped(percent(row[at.gap]))}`),
    marker: { color: colour, size: 6, opacity: 0.75 },
    hovertemplate: "%{text}<extra>%{fullData.name}</extra>",
  };
}

function looks() {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  const axis = { gridcolor: colour("--line"), zerolinecolor: colour("--line"), linecolor: colour("--line"), automargin: true, fixedrange: narrow.matches };
  return {
    font: { color: colour("--ink"), family: getComputedStyle(document.body).fontFamily, size: 13 },
    hoverlabel: { bgcolor: colour("--card"), bordercolor: colour("--line"), font: { color: colour("--ink") }, align: "left", namelength: 40 },
    axis,
  };
}

function layout(chart) {
  const { font, hoverlabel, axis } = looks();
  return {
    height: 340,
    showlegend: false, // the page has its own, which wraps and can be reached by keyboard
    hovermode: "closest",
    margin: { l: 55, r: 15, t: 15, b: 50 },
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    dragmode: narrow.matches ? false : "zoom", // a finger scrolls the page
    ...chart.layout,
    font,
    hoverlabel,
    xaxis: { ...chart.layout.xaxis, ...axis },
    yaxis: { ...chart.layout.yaxis, ...axis },
  };
}

function key(name, trace) {
  const line = make("i");
  const [style] = Object.entries(DASHES).find(([, dash]) => dash === trace.line.dash);
  Object.assign(line.style, { borderTopColor: trace.line.color, borderTopStyle: style === "dashdot" ? "double" : style });
  const button = make("button", { type: "button" }, line, make("span", { textContent: trace.meta, title: trace.meta }));
  button.addEventListener("click", () => {
    const gone = hidden.get(name);
    if (!gone.delete(trace.meta)) gone.add(trace.meta);
    charts();
  });
  return button;
}

// The page's own legend, which stays as it is while the same policies are shown.
const legends = new Map();
function keys(place, name, chart) {
  if (!legends.has(place)) legends.set(place, { element: make("div", { className: "keys" }), names: "" });
  const legend = legends.get(place);
  const names = JSON.stringify(chart.data.map((trace) => trace.meta));
  if (legend.names !== names) {
    legend.names = names;
    legend.element.replaceChildren(...chart.data.map((trace) => key(name, trace)));
    place.after(legend.element);
  }
  chart.data.forEach((trace, i) => legend.element.children[i].setAttribute("aria-pressed", String(trace.visible)));
}

function charts() {
  if (!window.Plotly) return;
  for (const place of document.querySelectorAll(".chart")) {
    const name = place.closest("section").dataset.problem;
    if (place.closest("section").hidden) continue;
    const chart = (place.dataset.chart === "profile" ? profile : gaps)(name);
    place.classList.toggle("quiet", chart === null);
    if (chart === null) {
      window.Plotly.purge(place);
      place.textContent = "Nothing to show: no run that the filters leave counts here.";
      legends.get(place)?.element.replaceChildren();
      legends.delete(place);
      continue;
    }
    if (!place.querySelector(".plotly")) place.textContent = "";
    window.Plotly.react(place, chart.data, layout(chart), { responsive: true, displaylogo: false, displayModeBar: false });
    if (place.dataset.chart === "profile") keys(place, name, chart);
  }
}
