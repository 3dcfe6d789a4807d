async function plotted() {
  document.head.append(make("script", { textContent: await unpacked("plotly") }));
  charts();
  narrow.addEventListener("change", charts);
}

theme(() => charts());
for (const when of ["beforeprint", "afterprint"]) window.addEventListener(when, charts); // as wide as it is then
filters();
runs();
summaries();
instances();
refresh();
followed();
plotted().then(
  () => { root.dataset.ready = "yes"; },
  (error) => {
    trouble("The charts", error);
    root.dataset.ready = "not whole";
  },
);
