import { createStore } from "../kit/create-store.ts";
import { readItem, writeItem } from "../kit/storage.ts";

/**
 * Time zone of the times in the dashboard: UTC, which also counts days, budgets and invoices, or the browser's own
 * zone. Days and months are in UTC either way.
 */
export type Zone = "utc" | "local";

const storageKey = "modelgate-time-zone";
const chosen = createStore<Zone>(readItem(storageKey) === "local" ? "local" : "utc");

export const getZone = chosen.get;
export const useZone = chosen.use;

export function setZone(zone: Zone): void {
  writeItem(storageKey, zone === "utc" ? null : zone);
  chosen.set(zone);
}

/** Label next to times: `UTC`, or the browser's own zone such as `GMT-8`. */
function zoneName(zone: Zone = chosen.get(), at: Date = new Date()): string {
  if (zone === "utc") return "UTC";
  const parts = new Intl.DateTimeFormat("en-US", { timeZoneName: "short" }).formatToParts(at);
  return parts.find(({ type }) => type === "timeZoneName")?.value ?? "local";
}

export function useZoneName(): string {
  return zoneName(useZone());
}

/** A moment in the words of a control for date and time, which knows no time zone; empty for no moment. */
export function toInput(moment: string | null): string {
  const at = moment === null ? Number.NaN : Date.parse(moment);
  if (Number.isNaN(at)) return "";
  const offsetMs = chosen.get() === "utc" ? 0 : new Date(at).getTimezoneOffset() * 60_000;
  return new Date(at - offsetMs).toISOString().slice(0, 16);
}

/** The moment that a control for date and time shows; empty for none. */
export function fromInput(text: string): string {
  if (text === "") return "";
  return new Date(chosen.get() === "utc" ? `${text}Z` : text).toISOString();
}
