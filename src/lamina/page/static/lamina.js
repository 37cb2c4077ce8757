// Light or dark, the menu of narrow screens, copying. Everything else is drawn by the service.
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
  async copy(button) {
    await navigator.clipboard.writeText(button.previousElementSibling.textContent);
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 2000);
  },
};
lamina.apply();
addEventListener("load", () => lamina.apply());
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => lamina.apply());
