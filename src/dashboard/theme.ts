import { useSyncExternalStore } from "react";

export const themes = ["system", "light", "dark"] as const;
export type Theme = (typeof themes)[number];

const storageKey = "modelgate-theme";
const listeners = new Set<() => void>();
const systemIsDark = matchMedia("(prefers-color-scheme: dark)");
let chosen = readTheme();

systemIsDark.addEventListener("change", notifyListeners);

/** Applies the theme stored on this device. */
export function applyTheme(): void {
  if (chosen === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen;
}

export function setTheme(theme: Theme): void {
  chosen = theme;
  try {
    if (theme === "system") localStorage.removeItem(storageKey);
    else localStorage.setItem(storageKey, theme);
  } catch {
    // Storage is blocked: the theme lasts until the page is closed.
  }
  applyTheme();
  notifyListeners();
}

export function useTheme(): Theme {
  return useSyncExternalStore(subscribe, () => chosen);
}

/** Whether the effective theme is dark, for canvas drawing. */
export function useIsDark(): boolean {
  return useSyncExternalStore(subscribe, () => (chosen === "system" ? systemIsDark.matches : chosen === "dark"));
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function notifyListeners(): void {
  for (const listener of listeners) listener();
}

function readTheme(): Theme {
  try {
    return themes.find((theme) => theme === localStorage.getItem(storageKey)) ?? "system";
  } catch {
    return "system";
  }
}
