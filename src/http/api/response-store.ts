import { Buffer } from "node:buffer";
import { decrypt, encrypt, GatewayError } from "../../contract/index.ts";
import { createStoredResponses, type StoredResponses } from "../../db/index.ts";
import { withTimeout } from "../../ledger/index.ts";
import { readJson } from "../../lib/json.ts";
import {
  getResponseOfInput,
  listReferences,
  previousResponseNotFound,
  type StoredContext,
  toStoredItems,
} from "../../protocols/responses/inbound.ts";
import type { ResponseItem, ResponseObject, ResponsesRequest } from "../../protocols/responses/schema.ts";
import { findTwoPeople } from "../../tenants/index.ts";
import type { HttpDeps } from "../deps.ts";
import type { HttpCall } from "../lifecycle/http-call.ts";
import { runInOwnTurn } from "../lifecycle/read-body.ts";

/** Most bytes of one response and its input. More is answered, and not stored. */
const responseBytesMax = 4 * 1024 * 1024;
/** Each item of an output is a row of its own, and all are written in one turn of the event loop. */
const outputItemsMax = 1000;
/** Most bytes of earlier responses that a request refers to: they are decrypted and parsed at once. */
const contextBytesMax = 8 * 1024 * 1024;
const itemsMax = 10_000;
const chainMax = 1000;
const referencesMax = 1000;
/** Longer than a busy store takes; the answer waits for it. */
const storeMsMax = 2000;

/** One request of an account at a time reads more than this, in pieces of this size, one in each turn of the event loop. */
const pieceBytesMax = 256 * 1024;
/** A row is in memory as it is stored, as its text and as its values. */
const rowCopies = 3;

/** A response as it is stored: a later one needs no other than those that are named. */
interface StoredResponse {
  response: ResponseObject;
  /** The ids of the responses before it, oldest first. */
  earlier: string[];
}

/** The items of its own turn, each with an id. They have a row of their own, which is only read for them. */
interface StoredInput {
  input: ResponseItem[];
}

/** The account and the key that made a response. */
interface Maker {
  key: string;
  /** The account of the person who made the key; absent: a command did, or nobody knows. */
  person?: string;
}

/** A stored row, decrypted. */
type Content = (StoredResponse | StoredInput | { item: ResponseItem }) & { by: Maker };

/** Stored items that a request refers to, and their rows. */
export interface RequestContext extends StoredContext {
  /** The ids of the responses before it, oldest first. */
  chain: readonly string[];
  usedIds: readonly string[];
}

/**
 * Responses and their items, stored for a while, encrypted and for their account alone. In an account that people share each
 * has their own: of a team's prompts its admins alone see all, on the dashboard.
 */
export class ResponseStore {
  readonly #deps: HttpDeps;
  readonly #rows: StoredResponses;
  readonly #ttlMs: number;
  /** The ends of large reads, by account. */
  readonly #turns = new Map<string, Promise<undefined>>();

  constructor(deps: HttpDeps) {
    this.#deps = deps;
    this.#rows = createStoredResponses(deps.store, deps.now);
    this.#ttlMs = deps.config.responsesTtlMinutes * 60_000;
  }

  /**
   * Reads what a request refers to.
   *
   * @throws {GatewayError} `invalid_request` for a previous response that is not there, or too much before it.
   */
  async read(call: HttpCall, request: ResponsesRequest): Promise<RequestContext> {
    const stored = this.#ttlMs > 0 && request.store !== false;
    const previousId = request.previous_response_id ?? undefined;
    const references = [...new Set(listReferences(request))];
    if (references.length > referencesMax) {
      throw tooMuchContext(`${references.length} references, more than ${referencesMax}`);
    }
    if (previousId === undefined && references.length === 0) return { stored, chain: [], usedIds: [] };
    const previous =
      previousId === undefined ? undefined : toResponse((await this.#load(call, [previousId])).get(previousId));
    if (previousId !== undefined && previous === undefined) throw previousResponseNotFound(previousId);
    const before = previous?.earlier ?? [];
    const chain = previousId === undefined ? [] : [...before, previousId];
    const ofInputs = references.flatMap((id) => getResponseOfInput(id) ?? []);
    const inputs = [...chain, ...ofInputs].map(inputIdOf);
    const rows = await this.#load(call, [...new Set([...before, ...references, ...inputs])]);
    const referenced = findItems(rows, references);
    const owners = ofInputs.filter((id) => rows.has(inputIdOf(id)));
    const usedIds = [...new Set([...rows.keys(), ...owners, ...chain])];
    if (previousId === undefined || previous === undefined) return { stored, referenced, chain, usedIds };
    const responses = [...before.map((id) => toResponse(rows.get(id))), previous];
    const earlier = responses.flatMap((one, index) => {
      const input = toInput(rows.get(inputIdOf(chain[index] as string)));
      if (one === undefined || input === undefined) throw previousResponseNotFound(previousId);
      return [...input, ...(one.response.output as ResponseItem[])];
    });
    const items = earlier.length + (Array.isArray(request.input) ? request.input.length : 1);
    if (items > itemsMax) throw tooMuchContext(`${items} items, more than ${itemsMax}`);
    if (responses.length > chainMax) throw tooMuchContext(`${responses.length} responses, more than ${chainMax}`);
    return { stored, earlier, referenced, chain, usedIds };
  }

  /**
   * Stores an answer, unless the request forbids it. Call it before the last byte of the answer is sent: the next
   * request may come at once. An answer that is not stored says so in its `store`.
   *
   * @param input The items of this turn.
   */
  async put(
    call: HttpCall,
    response: ResponseObject,
    { input, context }: { input: readonly ResponseItem[]; context: RequestContext },
  ): Promise<void> {
    if (!context.stored) return;
    try {
      const whole = { response, earlier: [...context.chain] };
      await this.#write(call, whole, { input: toStoredItems(input, response.id), usedIds: context.usedIds });
    } catch (error) {
      Object.assign(response, { store: false });
      call.leaveOut("store");
      this.#deps.log.warn("response_not_stored", { call: call.id, error });
    }
  }

  /** @throws {GatewayError} `not_found` when it does not exist, has expired, or belongs to another account. */
  async get(call: HttpCall, id: string): Promise<ResponseObject> {
    const response = toResponse((await this.#load(call, [id])).get(id));
    if (response === undefined) throw responseNotFound(id);
    return response.response;
  }

  /** The items of its own turn. @throws {GatewayError} As `get`. */
  async getInput(call: HttpCall, id: string): Promise<ResponseItem[]> {
    const input = toInput((await this.#load(call, [inputIdOf(id)])).get(inputIdOf(id)));
    if (input === undefined) throw responseNotFound(id);
    return input;
  }

  /** Deletes a response and the items of its output. @throws {GatewayError} As `get`. */
  async delete(call: HttpCall, id: string): Promise<void> {
    const isTheirs = toResponse((await this.#load(call, [id])).get(id)) !== undefined;
    if (!isTheirs || !(await ask(this.#rows.delete(call.caller.accountId, id)))) throw responseNotFound(id);
  }

  /** The rows of these ids; those that do not exist or are another person's are left out. They count as the call's memory. */
  async #load(call: HttpCall, ids: readonly string[]): Promise<Map<string, Content>> {
    const { accountId } = call.caller;
    if (this.#ttlMs === 0 || ids.length === 0) return new Map();
    const sizes = await ask(this.#rows.sizes(accountId, ids));
    const bytes = sizes.reduce((sum, row) => sum + row.bytes, 0);
    if (bytes > contextBytesMax) throw tooMuchContext(`${bytes} bytes, more than ${contextBytesMax}`);
    call.memory.reserve(rowCopies * bytes);
    const read = () => this.#readRows(call, sizes);
    const opened = await (bytes > pieceBytesMax ? this.#inTurnOf(accountId, read) : read());
    return new Map(await this.#withoutOthers(call, opened));
  }

  /** One large read of an account at a time. */
  async #inTurnOf<Outcome>(accountId: string, work: () => Promise<Outcome>): Promise<Outcome> {
    const before = this.#turns.get(accountId) ?? Promise.resolve();
    const outcome = before.then(work);
    const end = outcome.then(
      () => undefined,
      () => undefined,
    );
    this.#turns.set(accountId, end);
    try {
      return await outcome;
    } finally {
      if (this.#turns.get(accountId) === end) this.#turns.delete(accountId);
    }
  }

  async #readRows(call: HttpCall, sizes: readonly { id: string; bytes: number }[]): Promise<[string, Content][]> {
    const opened: [string, Content][] = [];
    for (const piece of toPieces(sizes)) {
      const contents = await ask(this.#rows.get(call.caller.accountId, piece.ids));
      const open = () => contents.flatMap(({ id, body }) => this.#open(call, id, body) ?? []);
      opened.push(...(piece.isLarge ? await runInOwnTurn(open) : open()));
    }
    return opened;
  }

  async #withoutOthers(call: HttpCall, rows: [string, Content][]): Promise<[string, Content][]> {
    const own = toMaker(call);
    const isOwn = ({ by }: Content) => by.key === own.key || (by.person !== undefined && by.person === own.person);
    if (rows.every(([, content]) => isOwn(content))) return rows;
    const people = await ask(findTwoPeople(this.#deps.store, call.caller.accountId));
    /** Keys of somebody who has left still work; what the one person makes who is there is not for them. */
    const isOfThem = ({ person }: Maker) => person === undefined || person === people[0];
    return rows.filter(([, content]) => isOwn(content) || (people.length < 2 && isOfThem(own) && isOfThem(content.by)));
  }

  /** `undefined` for a row that cannot be decrypted: it was changed, or the key is another one since. */
  #open(call: HttpCall, id: string, body: Uint8Array): [[string, Content]] | undefined {
    const { sealKey, log } = this.#deps;
    try {
      return [
        [id, readJson(decrypt(sealKey, ownerOf(call.caller.accountId, id), body).toString(), "stored") as Content],
      ];
    } catch (error) {
      log.warn("stored_response_unreadable", { call: call.id, error });
      return undefined;
    }
  }

  async #write(
    call: HttpCall,
    whole: StoredResponse,
    { input, usedIds }: StoredInput & { usedIds: readonly string[] },
  ): Promise<void> {
    const { sealKey, now, config } = this.#deps;
    const { accountId } = call.caller;
    const { id: responseId, output } = whole.response;
    if (output.length > outputItemsMax) throw new RangeError(`It has more than ${outputItemsMax} items`);
    const by = toMaker(call);
    const contents = new Map<string, Content>(output.map((item) => [item.id, { item: item as ResponseItem, by }]));
    contents.set(responseId, { ...whole, by }).set(inputIdOf(responseId), { input, by });
    let bytes = 0;
    const texts = [...contents].map(([id, content]) => {
      const text = Buffer.from(JSON.stringify(content));
      bytes += text.length;
      // Before any more is written and encrypted.
      if (bytes > responseBytesMax) throw new RangeError(`It has more than ${responseBytesMax} bytes`);
      return [id, text] as const;
    });
    const rows = texts.map(([id, text]) => ({ id, responseId, body: encrypt(sealKey, ownerOf(accountId, id), text) }));
    const accountBytesMax = config.responsesMaxMb * 2 ** 20;
    const written = this.#rows.put(accountId, rows, { expiresAt: now() + this.#ttlMs, usedIds, accountBytesMax });
    try {
      await withTimeout(written, storeMsMax);
    } catch (error) {
      // One that is written nevertheless is not kept, as the answer says.
      void written.then(() => this.#rows.delete(accountId, responseId)).catch(() => undefined);
      throw error;
    }
  }
}

function toMaker({ caller: { keyId: key, createdBy } }: HttpCall): Maker {
  return createdBy === undefined || createdBy === "cli" ? { key } : { key, person: createdBy };
}

/** Only this row of this account can be decrypted with it. */
function ownerOf(accountId: string, id: string): string {
  return JSON.stringify(["stored response", accountId, id]);
}

/** The row of the input of a response. No item has such an id, and no address. */
function inputIdOf(responseId: string): string {
  return `${responseId}/input`;
}

/** Ids by what is read and decrypted in one turn. */
function toPieces(sizes: readonly { id: string; bytes: number }[]): { ids: string[]; isLarge: boolean }[] {
  const pieces: { ids: string[]; bytes: number }[] = [];
  for (const { id, bytes } of sizes) {
    const last = pieces.at(-1);
    if (last !== undefined && last.bytes + bytes <= pieceBytesMax) {
      last.ids.push(id);
      last.bytes += bytes;
    } else pieces.push({ ids: [id], bytes });
  }
  return pieces.map(({ ids, bytes }) => ({ ids, isLarge: pieces.length > 1 || bytes > pieceBytesMax }));
}

/** Items by their ids. An item of an output has a row of its own; an item of an input is in the row of its response. */
function findItems(contents: ReadonlyMap<string, Content>, ids: readonly string[]): Map<string, ResponseItem> {
  const rows = new Set(ids.flatMap((id) => contents.get(inputIdOf(getResponseOfInput(id) ?? "")) ?? []));
  const inputs = new Map([...rows].flatMap((row) => (toInput(row) ?? []).map((item) => [item.id, item])));
  return new Map(
    ids.flatMap((id): [string, ResponseItem][] => {
      const content = contents.get(id);
      const item = content !== undefined && "item" in content ? content.item : inputs.get(id);
      return item === undefined ? [] : [[id, item]];
    }),
  );
}

function toResponse(content: Content | undefined): StoredResponse | undefined {
  return content !== undefined && "response" in content ? content : undefined;
}

function toInput(content: Content | undefined): ResponseItem[] | undefined {
  return content !== undefined && "input" in content ? content.input : undefined;
}

async function ask<Answer>(answer: Promise<Answer>): Promise<Answer> {
  try {
    return await withTimeout(answer, storeMsMax);
  } catch (cause) {
    const message = "The stored responses could not be read; try again";
    throw new GatewayError("unavailable", message, { retryAfterMs: 1000, cause });
  }
}

function responseNotFound(id: string): GatewayError {
  const message = `Response '${id.slice(0, 100)}' not found: it has expired, was deleted or was never stored`;
  return new GatewayError("not_found", message, { param: "response_id" });
}

function tooMuchContext(what: string): GatewayError {
  const message = `What the request refers to has ${what}; send a shorter conversation in input`;
  return new GatewayError("invalid_request", message, { param: "previous_response_id" });
}
