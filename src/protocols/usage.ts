import type { AnswerUsage } from "../contract/index.ts";
import { isRecord } from "../lib/json.ts";

/**
 * The `usage` of an answer of OpenAI's dialect, or of one of its events: at the top level or in one of its members, as in
 * `response` of the Responses protocol. Later reports replace earlier ones.
 *
 * @example
 * readUsage({ response: { usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 } } })?.total_tokens; // => 5
 */
export function readUsage(part: Record<string, unknown>, before?: AnswerUsage): AnswerUsage | undefined {
  const places = [part, ...Object.values(part).filter(isRecord)];
  const usage = places.map((place) => place.usage).find(isRecord);
  return usage === undefined ? before : (usage as unknown as AnswerUsage);
}
