import { createStore } from "./kit/create-store.ts";
import { readItem, writeItem } from "./kit/storage.ts";

const themes = ["system", "light", "dark"] as const;
type Theme = (typeof themes)[number];

const storageKey = "modelgate-theme";
const stored = readItem(storageKey);
const chosen = createStore<Theme>(themes.find((theme) => theme === stored) ?? "system");
const dark = matchMedia("(prefers-color-scheme: dark)");
const systemIsDark = createStore(dark.matches);
dark.addEventListener("change", ({ matches }) => systemIsDark.set(matches));

export function applyTheme(theme = chosen.get()): void {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

export function setTheme(theme: Theme): void {
  writeItem(storageKey, theme === "system" ? null : theme);
  // First, because charts read their colours as soon as the store announces the change.
  applyTheme(theme);
  chosen.set(theme);
}

export const useTheme = chosen.use;

/** Whether the effective theme is dark, for canvas drawing. */
export function useIsDark(): boolean {
  const [theme, isSystemDark] = [chosen.use(), systemIsDark.use()];
  return theme === "system" ? isSystemDark : theme === "dark";
}
