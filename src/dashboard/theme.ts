import { createStore } from "./kit/create-store.ts";

const themes = ["system", "light", "dark"] as const;
type Theme = (typeof themes)[number];

const storageKey = "modelgate-theme";
const chosen = createStore(readTheme());
const dark = matchMedia("(prefers-color-scheme: dark)");
const systemIsDark = createStore(dark.matches);
dark.addEventListener("change", ({ matches }) => systemIsDark.set(matches));

export function applyTheme(theme = chosen.get()): void {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

export function setTheme(theme: Theme): void {
  try {
    if (theme === "system") localStorage.removeItem(storageKey);
    else localStorage.setItem(storageKey, theme);
  } catch {
    // Storage is blocked: the theme lasts until the page is closed.
  }
  // First, because charts read their colours when they are told of the change.
  applyTheme(theme);
  chosen.set(theme);
}

export const useTheme = chosen.use;

/** Whether the effective theme is dark, for canvas drawing. */
export function useIsDark(): boolean {
  const [theme, isSystemDark] = [chosen.use(), systemIsDark.use()];
  return theme === "system" ? isSystemDark : theme === "dark";
}

function readTheme(): Theme {
  try {
    return themes.find((theme) => theme === localStorage.getItem(storageKey)) ?? "system";
  } catch {
    return "system";
  }
}
