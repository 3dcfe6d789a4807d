async function drawn() {
  if (data.instances.every((it) => it.pictures.length === 0)) return;
  drawings.svgs = JSON.parse(await unpacked("pictures"));
  choose(showing.instance, showing.run);
}

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
Promise.allSettled([drawn(), plotted()]).then((ended) => {
  const failed = ended.map((it, i) => [it, ["The pictures", "The charts"][i]]).filter(([it]) => it.status === "rejected");
  for (const [it, what] of failed) trouble(what, it.reason);
  root.dataset.ready = failed.length ? "not whole" : "yes";
});
