import type { Call, ChatRequest } from "../../contract/index.ts";
import type { ChatOptions } from "./options.ts";

const effortsRising = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/** Brings `reasoning_effort` to what the model takes, and takes out what it rejects beside it. */
export function fitReasoning(
  body: Record<string, unknown>,
  call: Pick<Call<ChatRequest>, "request" | "warn">,
  options: ChatOptions,
): void {
  const hasTools = Array.isArray(body.tools) && body.tools.length > 0;
  if (hasTools) body.reasoning_effort ??= options.toolEffortDefault;
  const asked = body.reasoning_effort;
  if (typeof asked !== "string") return;
  const efforts = (hasTools ? options.toolEfforts : undefined) ?? options.reasoningEfforts;
  const effort = efforts === undefined ? asked : nearestEffort(asked, efforts);
  if (effort !== asked) {
    const sentence = `Sent reasoning_effort ${effort ?? options.toolEffortDefault ?? "not at all"} for ${asked}: the model takes ${efforts?.join(", ")}`;
    call.warn(sentence, "reasoning_effort");
  }
  const sent = effort ?? (hasTools ? options.toolEffortDefault : undefined);
  if (sent === undefined) delete body.reasoning_effort;
  else body.reasoning_effort = sent;
  if (effort === undefined || effort === "none") return;
  for (const field of options.reasoningOmit ?? []) {
    if (body[field] === undefined) continue;
    delete body[field];
    call.warn(`Left out ${field}: the model does not take it while it reasons`, field);
  }
}

/**
 * The effort nearest to the one asked for, the lower of two. Thinking is never turned off for a caller who asked for
 * some, so `none` is near to nothing but itself.
 *
 * @returns `undefined` when the model has no effort to choose.
 *
 * @example
 * nearestEffort("xhigh", ["low", "medium", "high"]); // => "high"
 * nearestEffort("low", []); // => undefined
 */
export function nearestEffort(asked: string, efforts: readonly string[]): string | undefined {
  if (efforts.includes(asked)) return asked;
  const place = effortsRising.indexOf(asked);
  let nearest: string | undefined;
  let distanceMin = Number.POSITIVE_INFINITY;
  for (const effort of effortsRising) {
    const distance = Math.abs(effortsRising.indexOf(effort) - place);
    if (effort === "none" || !efforts.includes(effort) || distance >= distanceMin) continue;
    nearest = effort;
    distanceMin = distance;
  }
  return nearest;
}
