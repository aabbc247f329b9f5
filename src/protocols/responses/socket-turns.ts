import { isDeepStrictEqual } from "node:util";
import { isRecord, parseJson } from "../../lib/json.ts";
import type { SocketMessage, SocketTurn, SocketTurns, SteeringMessage } from "../../provider/index.ts";

/** The events that are looked at. One of them in a text of the model is found too, and read in vain. */
const notable =
  /"type"\s*:\s*"(?:response\.(?:created|completed|incomplete|failed|output_item\.done|steer\.\w+)|error)"/;
const lastTypes: ReadonlySet<unknown> = new Set([
  "response.completed",
  "response.incomplete",
  "response.failed",
  "error",
]);
const steeringKinds: ReadonlyMap<unknown, SteeringMessage["kind"]> = new Map([
  ["response.steer.accepted", "accepted"],
  ["response.steer.failed", "failed"],
  ["response.steer.pending", "pending"],
]);
const reasons = {
  previous_response_not_found: "forgotten",
  websocket_connection_limit_reached: "ended",
} as const;

/** OpenAI's WebSockets: `response.create` for each turn, and the events of the stream in answer. */
export const responsesTurns: SocketTurns = {
  headers: { "openai-beta": "responses_websockets=2026-02-06" },
  toFrame({ stream: _, ...body }, before) {
    const frame = { type: "response.create", ...body };
    const items = toItems(body.input);
    if (before === undefined || before.model !== body.model || !continues(items, before.items)) {
      return { frame, continues: false };
    }
    const input = items.slice(before.items.length);
    return { frame: { ...frame, previous_response_id: before.id, input }, continues: true };
  },
  read(message) {
    const event = notable.test(message) ? parseJson(message, "event") : undefined;
    if (!isRecord(event)) return { kind: "piece" };
    if (event.type === "response.output_item.done") return { kind: "item" };
    if (event.type === "response.created") return readBegun(event);
    const steering = steeringKinds.get(event.type);
    if (steering !== undefined) return readSteering(event, steering);
    if (!lastTypes.has(event.type)) return { kind: "piece" };
    const { type, status, error, headers } = event;
    const isRefusal = type === "error" && Number.isInteger(status) && Number(status) >= 400 && Number(status) <= 599;
    if (!isRefusal) return { kind: "last", event };
    const code = isRecord(error) ? error.code : undefined;
    return {
      kind: "refusal",
      status: Number(status),
      headers: toHeaders(headers),
      reason:
        typeof code === "string" && Object.hasOwn(reasons, code) ? reasons[code as keyof typeof reasons] : undefined,
    };
  },
  toSteering: (responseId, input) => ({ type: "response.steer", previous_response_id: responseId, input }),
  toTurn(body, { type, response }, itemCount) {
    if (!isRecord(response)) return undefined;
    const { id, output, incomplete_details: details } = response;
    // A response that was steered ends early, and its successor continues it.
    const isSteered = type === "response.incomplete" && isRecord(details) && details.reason === "steered";
    if (type !== "response.completed" && !isSteered) return undefined;
    // Some servers do not list in their last event what they have streamed.
    if (typeof id !== "string" || !Array.isArray(output) || output.length !== itemCount) return undefined;
    return { id, model: body.model, items: [...toItems(body.input), ...output.filter(isSentBack)] };
  },
};

function readBegun({ response }: Record<string, unknown>): SocketMessage {
  const id = isRecord(response) ? response.id : undefined;
  return typeof id === "string" ? { kind: "begun", id } : { kind: "piece" };
}

function readSteering({ steer }: Record<string, unknown>, kind: SteeringMessage["kind"]): SocketMessage {
  const responseId = isRecord(steer) ? steer.previous_response_id : undefined;
  return typeof responseId === "string" ? { kind, responseId } : { kind: "piece" };
}

function toItems(input: unknown): readonly unknown[] {
  if (typeof input === "string") return [{ type: "message", role: "user", content: input }];
  return Array.isArray(input) ? input : [];
}

/** Without its content a client cannot send reasoning back, and the provider alone remembers it. */
function isSentBack(item: unknown): boolean {
  return !isRecord(item) || item.type !== "reasoning" || Boolean(item.encrypted_content || item.content);
}

/** Whether a conversation begins with all items of another, and goes on. */
function continues(items: readonly unknown[], before: SocketTurn["items"]): boolean {
  return items.length > before.length && before.every((item, index) => isSame(item, items[index]));
}

/** Members of an item that say nothing to a model. Items from a store have no id, and items of a client no status. */
const unsaidMembers: ReadonlySet<string> = new Set(["id", "status"]);

/** Whether two items say the same to a model. */
function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (!isRecord(one) || !isRecord(other)) return false;
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  for (const name of names) {
    if (unsaidMembers.has(name) || one[name] === other[name]) continue;
    const isText = name === "content";
    const [said, alsoSaid] = isText ? [toParts(one[name]), toParts(other[name])] : [one[name], other[name]];
    if (!isDeepStrictEqual(said, alsoSaid)) return false;
  }
  return true;
}

/** A text stands for the one part that a store makes of it. */
function toParts(content: unknown): unknown {
  return typeof content === "string" ? [{ type: "input_text", text: content }] : content;
}

function toHeaders(headers: unknown): Record<string, string> {
  if (!isRecord(headers)) return {};
  const usable = Object.entries(headers).filter(
    ([name, value]) => /^[\w-]{1,100}$/.test(name) && /^[\x20-\x7e]{0,1000}$/.test(String(value)),
  );
  return Object.fromEntries(usable.map(([name, value]) => [name, String(value)]));
}
