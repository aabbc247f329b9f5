import { Buffer } from "node:buffer";
import { createHmac, type Hmac } from "node:crypto";
import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import { decrypt, encrypt, GatewayError, type LimitState } from "../../contract/index.ts";
import type { KeyedRequest } from "../../db/index.ts";
import { withTimeout } from "../../ledger/index.ts";
import type { HttpDeps } from "../deps.ts";
import { type MemoryReservation, sendReserved } from "../memory/call-memory.ts";
import { ByteStream } from "./byte-stream.ts";
import { errorResponse } from "./errors.ts";
import type { ResponseHeaders } from "./headers.ts";
import type { HttpCall } from "./http-call.ts";
import { parseUrl, toApiPath } from "./origin.ts";
import { runInOwnTurn } from "./read-body.ts";
import { limitHeaders } from "./respond.ts";
import { withStoreTimeout } from "./store-timeout.ts";

/** How long a repeated request waits for the first one; clients then ask again by themselves. */
const waitMsMax = 30_000;
/** Between two looks at the first request: short at first, because most answers are. */
const [pollMsMin, pollMsMax] = [50, 1000];
const keyForm = /^[\x20-\x7e]{1,255}$/;
/** A shorter answer is sent as a whole, and not counted. */
const replayedBytesMin = 64 * 1024;
/** Most characters or bytes hashed in one turn of the event loop: 4 MB take 5 to 15 ms. */
const hashedMax = 4 * 1024 * 1024;
/** The end of an answer waits no longer than this for the store. */
const storeMsMax = 5000;

interface Handled<Body> {
  readonly call: HttpCall;
  readonly body: Body;
}

/**
 * Step 6: the handler of a paid endpoint: a request with the header `Idempotency-Key` runs and is charged once. Equal requests
 * within a day get the stored answer, and those that come while it runs wait for it.
 *
 * @throws {GatewayError} `conflict` for another body, an answer that was not stored, or one that takes too long.
 */
export function replyOnce<Body>(deps: HttpDeps, reply: (handled: Handled<Body>) => Promise<Response>) {
  // Elysia waits only for a handler that is an async function.
  return async ({ call, body }: Handled<Body>): Promise<Response> => {
    const key = idempotencyKeyOf(call.httpRequest);
    if (key === undefined) return await reply({ call, body });
    // Writing a claim is work, which the limit of requests bounds also for those who are refused afterwards.
    const { remainingRequests } = await deps.ledger.readLimitState(call.caller);
    if (remainingRequests < 1) await deps.ledger.countRequest(call.id, call.caller);
    const request = await identify(deps, call, key, body);
    const replayed = await claimOrReplay(deps, call, request);
    if (replayed !== undefined) return replayed;
    return await replyAndStore(deps, call, request, {
      reply: () => reply({ call, body }),
      isStored: (body as { store?: unknown }).store !== false,
    });
  };
}

/** The header of a request that must not run twice. @throws {GatewayError} `invalid_request` */
export function idempotencyKeyOf({ headers }: Request): string | undefined {
  const key = headers.get("idempotency-key");
  if (key === null || keyForm.test(key)) return key ?? undefined;
  const message = "Idempotency-Key has 1 to 255 printable ASCII characters; a UUID is a good one";
  throw new GatewayError("invalid_request", message, { param: "Idempotency-Key" });
}

/** The stored hash says nothing about the request without the gateway's key. */
async function identify(deps: HttpDeps, call: HttpCall, key: string, body: unknown): Promise<KeyedRequest> {
  const { accountId, keyId } = call.caller;
  const path = toApiPath(parseUrl(call.httpRequest).pathname, deps.config.basePath);
  const { file, image, mask, ...fields } = body as { file?: unknown; image?: unknown; mask?: unknown };
  const bodyHmac = createHmac("sha256", deps.sealKey);
  await hashText(
    bodyHmac,
    call.memory.isLarge ? await runInOwnTurn(() => JSON.stringify(fields)) : JSON.stringify(fields),
  );
  if (call.models !== undefined) bodyHmac.update(JSON.stringify({ models: call.models }));
  for (const each of [file, image, mask].flat()) {
    if (each instanceof File) await hashFile(bodyHmac.update(JSON.stringify(each.name)), each);
    else bodyHmac.update(JSON.stringify({ file: each }));
  }
  const idHmac = createHmac("sha256", deps.sealKey).update(JSON.stringify([keyId, path, key]));
  return { id: idHmac.digest("hex"), accountId, callId: call.id, bodyHash: bodyHmac.digest("hex") };
}

/** Hashes a text; a long one in several turns of the event loop. */
async function hashText(hmac: Hmac, text: string): Promise<void> {
  if (text.length <= hashedMax) return void hmac.update(text);
  for (let start = 0; start < text.length; ) {
    let end = Math.min(start + hashedMax, text.length);
    // Half of a character is hashed as any other half.
    if (isHighSurrogate(text.charCodeAt(end - 1))) end++;
    const piece = text.slice(start, end);
    await runInOwnTurn(() => hmac.update(piece));
    start = end;
  }
}

const isHighSurrogate = (unit: number) => unit >= 0xd800 && unit < 0xdc00;

async function hashFile(hmac: Hmac, file: File): Promise<void> {
  for (let start = 0; start < file.size; start += hashedMax) {
    const piece = await file.slice(start, start + hashedMax).bytes();
    await runInOwnTurn(() => hmac.update(piece));
  }
}

/** The answer to a repeated request; undefined for the first one, which runs. */
async function claimOrReplay(deps: HttpDeps, call: HttpCall, request: KeyedRequest): Promise<Response | undefined> {
  const endsAtMs = deps.kernel.now() + waitMsMax;
  let limits: LimitState | undefined;
  for (let pollMs = pollMsMin; ; pollMs = Math.min(2 * pollMs, pollMsMax)) {
    const claim = await claimInTime(deps, request);
    if (claim.state === "claimed") return undefined;
    limits ??= await deps.ledger.countRequest(call.id, call.caller);
    call.isCounted = true;
    if (claim.state === "other_body") {
      const message = "This Idempotency-Key belongs to a request with another body; use a new key for a new request";
      throw new GatewayError("conflict", message, { param: "Idempotency-Key" });
    }
    if (claim.state === "done") return await replay(deps, call, request, { ...claim, limits });
    const { signal } = call.httpRequest;
    if (signal.aborted || deps.loadShedder.isDraining || deps.kernel.now() >= endsAtMs) {
      const message = "A request with this Idempotency-Key is still running; send it again to get its answer";
      throw new GatewayError("conflict", message, { param: "Idempotency-Key", retryAfterMs: 2000 });
    }
    call.disableIdleTimeout();
    await new Promise((resolve) => setTimeout(resolve, pollMs));
    call.restoreIdleTimeout();
  }
}

/** A claim that comes too late for its request is given up. @throws {GatewayError} `unavailable` */
async function claimInTime(deps: HttpDeps, request: KeyedRequest) {
  const { idempotencyKeys } = deps.store;
  const claiming = idempotencyKeys.claim(request);
  try {
    return await withStoreTimeout(deps, claiming);
  } catch (error) {
    const giveUp = async () => {
      if ((await claiming).state === "claimed") await idempotencyKeys.release(request);
    };
    giveUp().catch((cause) => deps.log.error("answer_store_failed", { call: request.callId, error: cause }));
    throw error;
  }
}

interface StoredCall {
  readonly callId: string;
  readonly answerBytes: number | undefined;
  readonly limits: LimitState;
}

/** Sends the stored answer. It is counted from before it is read until the client has taken it. */
async function replay(
  deps: HttpDeps,
  call: HttpCall,
  request: KeyedRequest,
  { callId, answerBytes, limits }: StoredCall,
): Promise<Response> {
  if (answerBytes === undefined) throw notStored(callId);
  const options = { countedMin: replayedBytesMin, thing: `answer ${request.id}` };
  const room = deps.memory.reserve(request.accountId, 0, options);
  try {
    // As it was read, and decrypted.
    room.grow(2 * answerBytes);
    const packed = await withStoreTimeout(deps, deps.store.idempotencyKeys.readAnswer(request.id));
    if (packed === undefined) throw notStored(callId);
    const answer = await unpack({ key: deps.sealKey, request, packed }, (bytes) => room.grow(bytes));
    const { status, headers, body } = answer;
    Object.assign(headers, limitHeaders(limits), { "idempotent-replayed": "true" });
    if (call.clientRequestId !== undefined) headers["x-client-request-id"] = call.clientRequestId;
    if (deps.loadShedder.isDraining) headers.connection = "close";
    deps.log.info("answer_replayed", { call: callId, repeated_as: call.id, account: request.accountId });
    if (body.length >= replayedBytesMin) {
      return new Response(sendReserved(body, call.httpRequest, room), { status, headers });
    }
    room.release();
    return new Response(body, { status, headers });
  } catch (error) {
    room.release();
    throw error;
  }
}

function notStored(callId: string): GatewayError {
  const message = `The request with this Idempotency-Key was already run as ${callId}, and its answer is not stored: it had "store": false, was larger than ${answerBytesMax / 2 ** 20} MB, broke off, or was deleted to make room for newer ones. It is not charged again; use a new key for a new answer`;
  return new GatewayError("conflict", message, { param: "Idempotency-Key" });
}

interface Reply {
  readonly reply: () => Promise<Response>;
  readonly isStored: boolean;
}

/** Runs the request and stores its answer, also a failure that was charged. What costs nothing may be tried again. */
async function replyAndStore(
  deps: HttpDeps,
  call: HttpCall,
  request: KeyedRequest,
  { reply, isStored }: Reply,
): Promise<Response> {
  call.outlivesClient = isStored;
  let response: Response;
  try {
    response = await reply();
  } catch (error) {
    if (call.state !== "settled") {
      await endClaim(deps, call, () => deps.store.idempotencyKeys.release(request));
      throw error;
    }
    response = await errorResponse(deps, error, { request: call.httpRequest, call });
  }
  return copyResponse(response, {
    copy: isStored ? new BodyCopy(deps.memory.reserve(request.accountId)) : undefined,
    onEnd: async (body, wasCut) => {
      const { status } = response;
      await endClaim(deps, call, async () => {
        if (call.state !== "settled" && !wasCut) return await deps.store.idempotencyKeys.release(request);
        const answer = body && { status, headers: getStoredHeaders(response), body };
        await deps.store.idempotencyKeys.complete(request, answer && (await pack(deps.sealKey, request, answer)));
      });
    },
  });
}

/** A claim that cannot be ended now is ended by the next equal request, from the state of the call. */
async function endClaim(deps: HttpDeps, call: HttpCall, end: () => Promise<void>): Promise<void> {
  try {
    await withTimeout(end(), storeMsMax);
  } catch (error) {
    deps.log.error("answer_store_failed", { call: call.id, error });
  }
}

/** The largest answer that is stored, in bytes before compression. */
const answerBytesMax = 8 * 1024 * 1024;
/** Headers of one request that are not true of a repeated one. */
const ownHeaders = /^(x-ratelimit-.*|x-client-request-id|x-modelgate-cost-usd|connection|retry-after)$/;
const [compress, decompress] = [promisify(gzip), promisify(gunzip)];

/** A response that can be sent again. */
interface StoredAnswer {
  readonly status: number;
  readonly headers: ResponseHeaders;
  readonly body: Buffer<ArrayBuffer>;
}

function getStoredHeaders({ headers }: Response): ResponseHeaders {
  return Object.fromEntries([...headers].filter(([name]) => !ownHeaders.test(name)));
}

/** Compresses and encrypts an answer for its request alone. */
export async function pack(key: Uint8Array, request: KeyedRequest, answer: StoredAnswer): Promise<Uint8Array> {
  const { body, ...head } = answer;
  const packed = await compress(Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), body]));
  return encrypt(key, ownerOf(request), packed);
}

/**
 * @param reserve Counts what the answer takes, before it does.
 * @throws {Error} When the bytes are not those that {@link pack} made with this key for this request.
 */
export async function unpack(
  { key, request, packed }: { key: Uint8Array; request: KeyedRequest; packed: Uint8Array },
  reserve: (bytes: number) => void,
): Promise<StoredAnswer> {
  const compressed = decrypt(key, ownerOf(request), packed);
  // A gzip file ends with its length before compression.
  const length = compressed.readUInt32LE(compressed.length - 4);
  reserve(length);
  const bytes = (await decompress(compressed, { maxOutputLength: length })) as Buffer<ArrayBuffer>;
  const headEnd = bytes.indexOf("\n");
  const head = JSON.parse(bytes.subarray(0, headEnd).toString()) as Omit<StoredAnswer, "body">;
  return { ...head, body: bytes.subarray(headEnd + 1) };
}

function ownerOf({ accountId, id }: KeyedRequest): string {
  return `idempotency_key ${accountId} ${id}`;
}

/** The bytes of a body as it passes, up to the bound of one answer and of the memory that there is. */
class BodyCopy {
  readonly #room: MemoryReservation;
  #chunks: Uint8Array[] | undefined = [];
  #bytes = 0;

  constructor(room: MemoryReservation) {
    this.#room = room;
  }

  /** Whether all was kept so far. */
  get isWhole(): boolean {
    return this.#chunks !== undefined;
  }

  add(chunk: Uint8Array): void {
    if (this.#chunks === undefined) return;
    this.#bytes += chunk.byteLength;
    try {
      this.#room.grow(chunk.byteLength);
      this.#chunks.push(chunk);
      if (this.#bytes > answerBytesMax) this.drop();
    } catch {
      // There is no memory for it.
      this.drop();
    }
  }

  /** The whole body; undefined when a part of it was not kept. */
  get bytes(): Buffer<ArrayBuffer> | undefined {
    return this.#chunks && Buffer.concat(this.#chunks);
  }

  drop(): void {
    this.#chunks = undefined;
    this.#room.release();
  }
}

interface CopyOptions {
  /** Absent for an answer that is not stored. */
  readonly copy: BodyCopy | undefined;
  /** Called before the end of the body is sent. `wasCut`: nobody was left to read it, so it was not read to its end. */
  onEnd(body: Buffer<ArrayBuffer> | undefined, wasCut: boolean): Promise<void>;
}

/**
 * Returns the same response, and keeps a copy of it. While the copy is kept, the response is read to its end even if
 * the client leaves.
 */
function copyResponse(response: Response, { copy, onEnd }: CopyOptions): Response {
  let hasLeft = false;
  const client = new ByteStream({
    cancel: () => {
      hasLeft = true;
    },
  });
  const read = async (): Promise<void> => {
    let wasCut = false;
    for await (const chunk of response.body ?? []) {
      copy?.add(chunk);
      wasCut = hasLeft && copy?.isWhole !== true;
      if (wasCut) break;
      await client.write(chunk);
    }
    await onEnd(copy?.bytes, wasCut);
    client.end();
  };
  const fail = async (error: unknown): Promise<void> => {
    await onEnd(undefined, false);
    client.abort(error);
  };
  void read()
    .catch(fail)
    .finally(() => copy?.drop());
  return new Response(client.body, { status: response.status, headers: response.headers });
}
