// ---- Light and dark: as the system says, until the button is pressed.

const dark = window.matchMedia("(prefers-color-scheme: dark)");
const root = document.documentElement;

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
    charts();
  });
  dark.addEventListener("change", charts);
}

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

theme();
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
