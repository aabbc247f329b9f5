import { isIP } from "node:net";
import { type Caller, type Capability, createNetworkList, type Meters } from "../../contract/index.ts";
import {
  type Candidates,
  type ClientCall,
  type ClientRequest,
  type ExchangeRequest,
  type ModelEntry,
  type Passthrough,
  type ProviderLane,
  publicNameOf,
  type Slot,
  type Steering,
} from "../../kernel/index.ts";
import { addFieldNames } from "../../lib/field-name.ts";
import { isRecord, parseJson } from "../../lib/json.ts";
import { LruMap } from "../../lib/lru-map.ts";
import type { Inbound } from "../../protocols/inbound.ts";
import type { Loss, PassthroughRequest } from "../../provider/index.ts";
import type { CallerOrigin } from "../../reports/index.ts";
import type { Clients, Sockets } from "../deps.ts";
import { type CallMemory, ownerOfNetwork } from "../memory/call-memory.ts";
import { readAgentHeaders, toTag } from "./agent-names.ts";

/** The parts of a wire format that need no request. */
export type ClientFormat = Pick<
  Inbound,
  | "protocol"
  | "endpoints"
  | "triesWebSocket"
  | "example"
  | "fields"
  | "outputLimit"
  | "refuse"
  | "toError"
  | "headersOf"
>;

/** The part of a client's format that errors need. */
export type ErrorFormat = Pick<ClientFormat, "toError" | "triesWebSocket">;

/** Idle sockets are closed after this; the maximum that Bun accepts. */
const idleSecondsMax = 255;

/** An endpoint's request to the kernel. */
export type CallRequest<C extends Capability> = Pick<ClientRequest<C>, "capability" | "sink"> & {
  readonly request: ExchangeRequest<C>;
};

/** A request with a valid API key on its way: `call` in the context of its route, also in `onError`. */
export class HttpCall {
  /** Also the `x-request-id` of the response. */
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly openedAt: number;
  /** The time of `openedAt` by the kernel's clock. */
  readonly startedMs: number;
  readonly caller: Caller;
  readonly httpRequest: Request;
  readonly memory: CallMemory;
  readonly slot: Slot;
  readonly clientRequestId: string | undefined;
  /** A program that a person signed in, and not an API key. */
  readonly isProgram: boolean;
  /** Its client does not want its prompt marked for a cache. */
  readonly forbidsMarks: boolean;
  /** Format of its client; absent for endpoints that have one format alone. */
  readonly inbound: ClientFormat | undefined;
  /** Capability of its endpoint; absent for one that serves no calls. */
  readonly capability: Capability | undefined;
  session: string | undefined;
  tag: string | undefined;
  endUser: string | undefined;
  readonly agent: string | undefined;
  readonly parentAgent: string | undefined;
  /** The models that the client listed, the first to be tried first; absent for a single one. */
  models: readonly string[] | undefined = undefined;
  /** The model that the body asks for, whatever that is. */
  requestedModel: unknown = undefined;
  /** The models that may serve it, in order; present once its body was read and its model is known to exist. */
  candidates: Candidates | undefined = undefined;
  /** The client's original body, if a route may speak its wire format. */
  passthrough: Passthrough | undefined = undefined;
  /** The request as the client wrote it, where it is not the uniform one. */
  original: PassthroughRequest | undefined = undefined;
  /** Fields of the client's body that are left out, named to it. */
  readonly leftOut = new Set<string>();
  /** Losses of the request, for the log. */
  readonly warnings: string[] = [];
  forbidsStoring = false;
  /** Keeps a WebSocket to the provider between the turns of a client's connection. */
  providerLane: ProviderLane | undefined = undefined;
  /** It follows a response that it steers. */
  steering: Steering | undefined = undefined;
  /** The client leaves prompt caching to the gateway. */
  leavesCaching = false;
  /** A stream goes on when its client leaves, because the answer is stored. */
  outlivesClient = false;
  /** It has taken one of the requests per minute without being admitted. */
  isCounted = false;
  /** Its run in the kernel; absent until it is executed. */
  execution: ClientCall | undefined = undefined;
  /** Cost of the whole request; known once its answer is complete. */
  costNanodollars: number | undefined = undefined;
  readonly #server: Sockets | null;
  #onEnd: (() => void) | undefined;

  constructor(
    { id, openedAt, startedMs, caller }: Pick<HttpCall, "id" | "openedAt" | "startedMs" | "caller">,
    httpRequest: Request,
    { memory, slot, isProgram = false, inbound, capability, server = null, onEnd }: HttpCallOptions,
  ) {
    this.id = id;
    this.openedAt = openedAt;
    this.startedMs = startedMs;
    this.caller = caller;
    this.memory = memory;
    this.slot = slot;
    this.isProgram = isProgram;
    this.inbound = inbound;
    this.capability = capability;
    this.httpRequest = httpRequest;
    this.#server = server;
    this.#onEnd = onEnd;
    this.clientRequestId = readClientRequestId(httpRequest);
    this.forbidsMarks = httpRequest.headers.get(cacheMarksHeader)?.trim().toLowerCase() === "off";
    this.session = readSessionHeader(httpRequest.headers);
    this.tag = readTagHeader(httpRequest.headers);
    this.endUser = toEndUser(caller.token?.endUser) ?? readEndUserHeader(httpRequest.headers);
    const { agent, parentAgent } = readAgentHeaders(httpRequest.headers);
    this.agent = agent;
    this.parentAgent = parentAgent;
  }

  get protocol(): string {
    return this.inbound?.protocol ?? "chat";
  }

  /** The model that serves it, or will be tried first. */
  get modelEntry(): ModelEntry {
    const entry = this.execution?.run?.modelEntry ?? this.candidates?.[0].modelEntry;
    if (entry === undefined) throw new TypeError("The model of this request was not resolved");
    return entry;
  }

  /** The public id of that model; absent where it is not known to exist. */
  get model(): string | undefined {
    return this.execution?.run?.model ?? this.candidates?.[0].modelEntry.model.id;
  }

  /** Name of that model in the answer; absent if the model is unknown. */
  get publicModel(): string | undefined {
    const first = this.candidates?.[0];
    return this.execution?.run?.publicName ?? (first && publicNameOf(first));
  }

  /** How it is recorded. Final once it has ended. */
  get state(): ClientCall["state"] {
    return this.execution?.state ?? "refused";
  }

  /** Usage; empty until it is settled. */
  get meters(): Meters {
    return this.execution?.run?.outcome.meters ?? {};
  }

  /** Names a field of the client's body to it that no route is sent. */
  leaveOut(field: string): void {
    this.leftOut.add(field);
  }

  /** Keeps a loss of the translation, which is the request to every route. */
  noteLoss({ message, fields }: Loss): void {
    this.warnings.push(message);
    addFieldNames(this.leftOut, fields);
  }

  /** The request as the kernel takes it. */
  toRequest<C extends Capability>({ capability, request, sink }: CallRequest<C>): ClientRequest<C> {
    const { id, openedAt, startedMs, caller, protocol, passthrough, clientRequestId, session, tag, endUser } = this;
    const { agent, parentAgent, providerLane, steering } = this;
    const { outlivesClient, forbidsStoring, leavesCaching, forbidsMarks, warnings, memory } = this;
    return {
      id,
      openedAt,
      startedMs,
      caller,
      capability,
      body: request,
      sink,
      protocol,
      passthrough,
      original: this.original,
      clientRequestId,
      session,
      tag,
      endUser,
      agent,
      parentAgent,
      providerLane,
      steering,
      // Bun also closes the connection, and aborts, when bytes arrive behind a request that has no answer yet.
      signal: this.httpRequest.signal,
      outlivesClient,
      forbidsStoring,
      leavesCaching,
      forbidsMarks,
      leftOut: [...this.leftOut],
      warnings,
      memory,
    };
  }

  /** Its client does not read the response any more. */
  cancel(): void {
    this.execution?.cancel("client_disconnected");
  }

  /** While a provider works, the socket may be idle for any time. Ended by {@link restoreIdleTimeout}. */
  disableIdleTimeout(): void {
    this.#server?.timeout(this.httpRequest, 0);
  }

  /** From here on the client is waited for. */
  restoreIdleTimeout(): void {
    this.#server?.timeout(this.httpRequest, idleSecondsMax);
  }

  /** Frees what the request occupied, once the response or its head is there. Repeating it does nothing. */
  end(): void {
    this.memory.release();
    this.#onEnd?.();
    this.#onEnd = undefined;
  }
}

interface HttpCallOptions extends Endpoint {
  readonly memory: CallMemory;
  readonly slot: Slot;
  readonly isProgram?: boolean;
  readonly server?: Sockets | null;
  readonly onEnd?: () => void;
}

/** An endpoint of the API. */
export interface Endpoint {
  readonly capability?: Capability | undefined;
  /** The model of a body that names none; absent where a body has to. */
  readonly modelDefault?: string;
  /** Format of its clients; absent where it has one format alone. */
  readonly inbound?: ClientFormat | undefined;
}

/** In a request, `off` leaves its prompt without marks for a cache; a response says what became of them. */
export const cacheMarksHeader = "x-modelgate-cache-marks";

/** Claude Code's, then Codex's. */
const headerNames = ["x-claude-code-session-id", "session-id"];

/**
 * UUIDs and names. Anything else is ignored, because a session name appears in the log, in exports and in spreadsheets
 * made of them.
 */
const sessionForm = /^[A-Za-z0-9][\w.:/+=@ -]{0,127}$/;

/** Longer ones are not read; Claude Code's has about 200 characters. */
const userIdCharactersMax = 1000;

/** The name that a client's headers give its session. */
export function readSessionHeader(headers: Headers): string | undefined {
  for (const name of headerNames) {
    const session = toSession(headers.get(name));
    if (session !== undefined) return session;
  }
  return undefined;
}

/** The tag in a client's headers. */
export function readTagHeader(headers: Headers): string | undefined {
  return toTag(headers.get("x-modelgate-tag"));
}

/** A name of a person or a customer, such as an e-mail or an id. Others are as if none were given. */
const endUserCharactersMax = 128;

/** The end user in a client's headers. */
export function readEndUserHeader(headers: Headers): string | undefined {
  return toEndUser(headers.get("x-modelgate-end-user"));
}

/** The names that a client gives a request. */
type ClientNames = Pick<HttpCall, "session" | "tag" | "endUser">;

/**
 * Reads the names in a body of any protocol, unless headers or token had them:
 *
 * - session: `prompt_cache_key`, or Claude Code's in `metadata.user_id`
 * - tag: `metadata.tag`
 * - end user: `safety_identifier`, `user` or `metadata.user_id`
 */
export function readNamesOfBody(body: unknown, names: ClientNames): void {
  if (!isRecord(body)) return;
  const { prompt_cache_key: cacheKey, safety_identifier: identifier, user } = body;
  const metadata = isRecord(body.metadata) ? body.metadata : undefined;
  const ofClaudeCode = metadata?.user_id === undefined ? undefined : readUserId(metadata.user_id);
  names.session ??= toSession(cacheKey) ?? ofClaudeCode?.session;
  names.tag ??= toTag(metadata?.tag);
  names.endUser ??= toEndUser(identifier) ?? toEndUser(user) ?? ofClaudeCode?.endUser;
}

/**
 * Anthropic's `user_id` names a person. Claude Code's is JSON with `session_id` and the ids of the account and the device; older ones
 * are a name of the account, `_session_` and an id.
 */
function readUserId(userId: unknown): { session?: string | undefined; endUser: string | undefined } | undefined {
  if (typeof userId !== "string" || userId.length > userIdCharactersMax) return undefined;
  if (!userId.startsWith("{")) {
    const [, account = userId, session] = /^(.*)_session_([^_]*)$/.exec(userId) ?? [];
    return { session: toSession(session), endUser: toEndUser(account) };
  }
  const ids = parseJson(userId);
  if (!isRecord(ids)) return undefined;
  const { session_id: session, account_uuid: account, device_id: device } = ids;
  return { session: toSession(session), endUser: toEndUser(account) ?? toEndUser(device) };
}

/** The ledger stores it as JSON, which PostgreSQL reads only without null characters and halves of surrogate pairs. */
function toEndUser(name: unknown): string | undefined {
  const isUsable =
    typeof name === "string" &&
    name.length > 0 &&
    name.length <= endUserCharactersMax &&
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
    !/[\u0000-\u001f\u007f]/.test(name) &&
    name.isWellFormed();
  return isUsable ? name : undefined;
}

function toSession(name: unknown): string | undefined {
  return typeof name === "string" && sessionForm.test(name) ? name : undefined;
}

/** UUIDs, ULIDs, base64, paths. Others are ignored. */
const clientRequestIdForm = /^[\w.:/+=@-]{1,128}$/;

/** The client's own `x-request-id`, if it is safe in a header and a log line. */
export function readClientRequestId({ headers }: Request): string | undefined {
  const requestId = headers.get("x-request-id");
  return requestId !== null && clientRequestIdForm.test(requestId) ? requestId : undefined;
}

/** Reads the address of the client of a request, given the address of the connection and `x-forwarded-for`. */
export type ReadClientAddress = (peer: string, forwardedFor: string | null) => string;

/**
 * Creates a reader of `x-forwarded-for`. The header is read from the right: each proxy appends the address that
 * connected to it. The first address that is not a trusted proxy is the client; anybody can write the part left of it.
 *
 * @param proxies Addresses and CIDR ranges, as `TRUSTED_PROXIES` has them.
 */
export function readClientAddress(proxies: readonly string[]): ReadClientAddress {
  const { has: isTrusted } = createNetworkList(proxies);
  return (peer, forwardedFor) => {
    let address = parseAddress(peer);
    if (address === undefined) return peer;
    const hops = forwardedFor?.split(",") ?? [];
    while (isTrusted(address)) {
      const hop = parseAddress(hops.pop() ?? "");
      if (hop === undefined) break;
      address = hop;
    }
    return address;
  };
}

const readers = new WeakMap<readonly string[], ReadClientAddress>();

/** The address of the client of a request; `unknown` without a server. */
export function clientAddressOf(
  { trustedProxies }: { readonly trustedProxies: readonly string[] },
  request: Request,
  server: Clients | null,
): string {
  let read = readers.get(trustedProxies);
  if (read === undefined) {
    read = readClientAddress(trustedProxies);
    readers.set(trustedProxies, read);
  }
  return read(server?.requestIP(request)?.address ?? "unknown", request.headers.get("x-forwarded-for"));
}

/** The network whose attempts are counted: an IPv4 address, or the /64 that one customer gets of IPv6. */
export function toNetwork(address: string): string {
  return isIP(address) === 6 ? cutAddress(address, 4) : address;
}

/** The first groups of an IPv6 address, as a network. */
function cutAddress(address: string, groupsKept: number): string {
  const [head = "", tail] = address.split("::");
  const groups = head.split(":");
  if (tail !== undefined) {
    const rest = tail === "" ? [] : tail.split(":");
    while (groups.length + rest.length < 8) groups.push("0");
  }
  const network = groups.slice(0, groupsKept).map((group) => group || "0");
  return `${network.join(":")}::/${groupsKept * 16}`;
}

/** The network that is kept of a key's caller: too large to name a person, small enough to tell a stranger. */
export function toCallerNetwork(address: string): string {
  const version = isIP(address);
  if (version === 4) return `${address.slice(0, address.lastIndexOf("."))}.0/24`;
  return version === 6 ? cutAddress(address, 3) : "unknown";
}

/** Longer names of programs are as if they were of an unusual form. */
const programForm = /^[A-Za-z][\w.+-]{0,39}(?:\/(?!v?\d)[A-Za-z][\w.+-]{0,19})?(?=[/\s;(,]|$)/;
/** A credential that somebody has put in the place of a name. */
const secretForm = /sk-|mg-[ar]t-|^eyJ|[A-Za-z0-9]{25}/;

/**
 * The program that a user agent names: its first word without a version, such as `curl` or `OpenAI/Python`. Empty without
 * one, and `other` for what no program is called.
 */
export function toProgram(userAgent: string | null): string {
  if (userAgent === null || userAgent === "") return "";
  const [program] = programForm.exec(userAgent) ?? [];
  return program === undefined || secretForm.test(program) ? "other" : program;
}

/** Origins in memory: a client sends the same headers with each request. */
const originsMax = 10_000;
/** Longer headers are read anew each time, so memory is bounded. */
const originCharactersMax = 300;
const origins = new WeakMap<readonly string[], LruMap<CallerOrigin>>();

/** From where a request comes, for the record of its key. */
export function callerOriginOf(
  config: { readonly trustedProxies: readonly string[] },
  request: Request,
  server: Clients | null,
): CallerOrigin {
  const { headers } = request;
  const userAgent = headers.get("user-agent");
  const forwardedFor = headers.get("x-forwarded-for");
  const text = `${server?.requestIP(request)?.address}\n${forwardedFor}\n${userAgent}`;
  let ofConfig = origins.get(config.trustedProxies);
  if (ofConfig === undefined) {
    ofConfig = new LruMap(originsMax);
    origins.set(config.trustedProxies, ofConfig);
  }
  const present = ofConfig.get(text);
  if (present !== undefined) return present;
  const network = toCallerNetwork(clientAddressOf(config, request, server));
  const origin = { network, program: toProgram(userAgent) };
  if (text.length <= originCharactersMax) ofConfig.set(text, origin);
  return origin;
}

/** Whom a request without a key is counted for: the network of its client. */
export function ownerOfClient(
  config: { readonly trustedProxies: readonly string[] },
  request: Request,
  server: Clients | null,
): string {
  return ownerOfNetwork(toNetwork(clientAddressOf(config, request, server)));
}

/** An address without port, brackets or zone, in its shortest form; IPv4 also where it is written as IPv6. */
function parseAddress(text: string): string | undefined {
  const [host = ""] = text
    .trim()
    .replace(/^\[(.*)\](:\d+)?$/, "$1")
    .replace(/^([\d.]+):\d+$/, "$1")
    .split("%");
  if (isIP(host) === 4) return host;
  if (isIP(host) !== 6) return undefined;
  const short = new URL(`http://[${host}]`).hostname.slice(1, -1);
  const [, high, low] = /^::ffff:([\da-f]{1,4}):([\da-f]{1,4})$/.exec(short) ?? [];
  if (high === undefined || low === undefined) return short;
  const bits = (Number.parseInt(high, 16) << 16) | Number.parseInt(low, 16);
  return [24, 16, 8, 0].map((shift) => (bits >>> shift) & 255).join(".");
}
