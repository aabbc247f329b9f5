import { GatewayError, quoteValue } from "../../contract/index.ts";
import { isMessage } from "./content.ts";
import { removeOwnThoughts } from "./reasoning-seal.ts";
import type { ItemReference, ResponseItem, ResponsesRequest } from "./schema.ts";

/** What is stored of what a request refers to. */
export interface StoredContext {
  /** The items before `input`: those of the chain of `previous_response_id`, oldest first. */
  earlier?: readonly ResponseItem[];
  /** The stored items that `input` may refer to, by id; those of `earlier` are known anyway. */
  referenced?: ReadonlyMap<string, ResponseItem>;
  /** Whether the items are kept for later requests, as the answer says. */
  stored: boolean;
}

function isReference(item: ResponseItem): item is ItemReference {
  return item.type === "item_reference" || ((item.type === undefined || item.type === null) && !isMessage(item));
}

/** The ids of stored items that a request refers to by `item_reference`. */
export function listReferences({ input }: ResponsesRequest): string[] {
  return Array.isArray(input) ? input.filter(isReference).map(({ id }) => id) : [];
}

/**
 * The items of this turn, without the earlier ones and with the items in place of references: what is to be stored with
 * the answer.
 *
 * @throws {GatewayError} `invalid_request` for a previous response or an item that is not stored, and for an item that is
 *   referred to twice: each reference would send all of it once more.
 */
export function resolveInput(request: ResponsesRequest, { earlier, referenced }: StoredContext): ResponseItem[] {
  const { input, previous_response_id: previousId } = request;
  if (previousId && earlier === undefined) throw previousResponseNotFound(previousId);
  if (input === undefined || input === null) return [];
  if (typeof input === "string") return [{ type: "message", role: "user", content: input }];
  if (!input.some(isReference)) return input;
  const known = new Map(earlier?.map((item) => [item.id, item]));
  const taken = new Set<string>();
  return input.map((item, index) => {
    if (!isReference(item)) return item;
    if (taken.has(item.id)) throw duplicateItem(item.id, `input[${index}].id`);
    taken.add(item.id);
    const found = known.get(item.id) ?? referenced?.get(item.id);
    if (found === undefined) throw itemNotFound(item.id, `input[${index}].id`);
    return found;
  });
}

/**
 * The same request without anything that is stored here, for a provider that speaks the protocol: all items stand in
 * `input`, and the provider stores nothing.
 *
 * @returns The request, and the items of this turn to be stored with the answer.
 * @throws {GatewayError} As {@link resolveInput}.
 */
export function expandRequest(
  request: ResponsesRequest,
  context: StoredContext,
): { request: ResponsesRequest; input: ResponseItem[] } {
  const input = resolveInput(request, context);
  const isPlain = !context.earlier?.length && listReferences(request).length === 0;
  const { previous_response_id: _, ...rest } = request;
  if (isPlain) return { request: removeOwnThoughts({ ...rest, store: false }), input };
  const own = new Set(Array.isArray(request.input) ? request.input : input);
  const items = [...(context.earlier ?? []), ...input].flatMap((item) => (own.has(item) ? item : toSendable(item)));
  return { request: removeOwnThoughts({ ...rest, input: items, store: false }), input };
}

/** A stored item as a provider takes it that never saw its id; nothing of a thought that only its store could read. */
function toSendable(item: ResponseItem): ResponseItem[] {
  if (item.type === "reasoning") return "encrypted_content" in item && item.encrypted_content ? [item] : [];
  const { id: _, ...rest } = item;
  return [rest as ResponseItem];
}

/** The refusal of a reference to an item that is not stored, has expired, or belongs to another account. */
function itemNotFound(id: string, param: string): GatewayError {
  const sentence = `Item ${quoteValue(id)} not found: it has expired or was never stored; send the item itself, or set store to false`;
  return new GatewayError("invalid_request", sentence, { param, publicCode: "item_not_found" });
}

/** The words are OpenAI's. */
function duplicateItem(id: string, param: string): GatewayError {
  const sentence = `Duplicate item found with id ${quoteValue(id)}. Remove duplicate items from your input and try again`;
  return new GatewayError("invalid_request", sentence, { param });
}

/** The refusal of a `previous_response_id` that is not stored, has expired, or belongs to another account. */
export function previousResponseNotFound(id: string): GatewayError {
  const sentence = `Previous response ${quoteValue(id)} not found: it, or one before it, has expired, was deleted or was never stored; send all items in input`;
  return new GatewayError("invalid_request", sentence, {
    param: "previous_response_id",
    publicCode: "previous_response_not_found",
  });
}
