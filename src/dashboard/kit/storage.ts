type Area = "localStorage" | "sessionStorage";

/** Reads an item of the browser's storage; `null` if there is no such item or the browser blocks storage. */
export function readItem(key: string, area: Area = "localStorage"): string | null {
  try {
    return window[area].getItem(key);
  } catch {
    return null;
  }
}

/** Stores an item; `null` removes it. Where the storage is blocked or full, the value lasts until the page is closed. */
export function writeItem(key: string, value: string | null, area: Area = "localStorage"): void {
  try {
    if (value === null) window[area].removeItem(key);
    else window[area].setItem(key, value);
  } catch {
    // As the description says.
  }
}

/** A list that was stored as JSON; empty for anything else. */
export function readList(key: string, area?: Area): unknown[] {
  try {
    const list: unknown = JSON.parse(readItem(key, area) ?? "[]");
    return Array.isArray(list) ? list : [];
  } catch {
    return [];
  }
}
