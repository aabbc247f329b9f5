/** A model, or a row of a catalogue. */
interface Retiring {
  /** UTC day when its provider retires it; absent: no day is announced. */
  readonly retiredOn?: string | undefined;
}

/** Whether its provider ends it within 60 days. */
export function retiresSoon(model: Retiring, now: number = Date.now()): boolean {
  return !isRetired(model, now) && isRetired(model, now + 60 * 86_400_000);
}

export function isRetired({ retiredOn }: Retiring, now: number = Date.now()): boolean {
  return retiredOn !== undefined && Date.parse(retiredOn) <= now;
}
