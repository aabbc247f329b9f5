const dayMs = 86_400_000;

/** How long a key may live, as it is chosen. */
export const expiries = [
  ["never", "Never"],
  ["7", "In 7 days"],
  ["30", "In 30 days"],
  ["90", "In 90 days"],
  ["365", "In a year"],
  ["day", "On a day…"],
] as const;

/** When that is, as ISO text; a day that was chosen is over at its end. */
export function expiryOf(choice: string, day: string, now: number): string | null {
  if (choice === "never") return null;
  if (choice === "day") return `${day}T23:59:59Z`;
  return new Date(now + Number(choice) * dayMs).toISOString();
}
