// Light or dark, and the menu of narrow screens. Everything else is drawn by the service.
const lamina = {
  key: "lamina-theme",
  isDark() {
    const chosen = localStorage.getItem(this.key);
    return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  },
  apply() {
    document.documentElement.dataset.theme = this.isDark() ? "dark" : "light";
    globalThis.Quasar?.Dark.set(this.isDark());
  },
  theme() {
    localStorage.setItem(this.key, this.isDark() ? "light" : "dark");
    this.apply();
  },
  menu(button) {
    const open = document.querySelector(".side").classList.toggle("open");
    button.setAttribute("aria-expanded", String(open));
  },
};
lamina.apply();
addEventListener("load", () => lamina.apply());
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => lamina.apply());
