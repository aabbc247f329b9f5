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

/**
 * The moment of a time of day such as `18:00`, in seconds since 1970.
 *
 * @param day A date such as `2027-01-31`; empty: today, or tomorrow where it is later already.
 */
export function toNextMoment(day: string, time: string, now: number = Date.now()): number {
  const today = toInput(new Date(now).toISOString()).slice(0, 10);
  const at = Date.parse(fromInput(`${day || today}T${time}`));
  if (day !== "" || at > now) return at / 1000;
  const tomorrow = new Date(Date.parse(`${today}T00:00Z`) + 86_400_000).toISOString().slice(0, 10);
  return Date.parse(fromInput(`${tomorrow}T${time}`)) / 1000;
}
