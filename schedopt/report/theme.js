// ---- Light and dark: as the system says, until the button is pressed.

const dark = window.matchMedia("(prefers-color-scheme: dark)");
const root = document.documentElement;

function theme(changed) {
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
    changed();
  });
  dark.addEventListener("change", changed);
}
