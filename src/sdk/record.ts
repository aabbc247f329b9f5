/**
 * Whether a value is a JSON object: neither `null` nor an array.
 *
 * @example
 * [isRecord({}), isRecord([]), isRecord(null)]; // => [true, false, false]
 */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
