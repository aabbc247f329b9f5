import { useSyncExternalStore } from "react";

export const themes = ["system", "light", "dark"] as const;
export type Theme = (typeof themes)[number];

const storageKey = "modelgate-theme";
const listeners = new Set<() => void>();
const systemIsDark = matchMedia("(prefers-color-scheme: dark)");
let chosen = readTheme();

systemIsDark.addEventListener("change", announce);

/** Shows the theme that was chosen on this device. */
export function applyTheme(): void {
  if (chosen === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen;
}

export function chooseTheme(theme: Theme): void {
  chosen = theme;
  try {
    if (theme === "system") localStorage.removeItem(storageKey);
    else localStorage.setItem(storageKey, theme);
  } catch {
    // A browser that keeps nothing: the choice holds until the page is left.
  }
  applyTheme();
  announce();
}

export function useTheme(): Theme {
  return useSyncExternalStore(subscribe, () => chosen);
}

/** Whether what is on the screen is dark, for what CSS does not paint. */
export function useIsDark(): boolean {
  return useSyncExternalStore(subscribe, () => (chosen === "system" ? systemIsDark.matches : chosen === "dark"));
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function announce(): void {
  for (const listener of listeners) listener();
}

function readTheme(): Theme {
  try {
    return themes.find((theme) => theme === localStorage.getItem(storageKey)) ?? "system";
  } catch {
    return "system";
  }
}
