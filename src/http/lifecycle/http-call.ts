import type { Caller, Capability, Meters } from "../../contract/index.ts";
import {
  type Call,
  type Candidates,
  type ClientRequest,
  type ModelEntry,
  type Passthrough,
  publicNameOf,
  type RequestOf,
} from "../../kernel/index.ts";
import type { Inbound } from "../../protocols/inbound.ts";
import type { CallMemory } from "../memory/call-memory.ts";
import type { Clients } from "./client-address.ts";
import { readClientRequestId, readSessionHeader, readTagHeader } from "./client-names.ts";

/** The part of Bun's server used here: how long the socket of a request may be idle, in seconds; 0 means for ever. */
export interface Sockets extends Clients {
  timeout(request: Request, seconds: number): void;
}

/** The parts of a wire format that need no request. */
export type ClientFormat = Pick<Inbound, "protocol" | "endpoints" | "outputLimit" | "refuse" | "toError" | "headersOf">;

/** Idle sockets are closed after this; the maximum that Bun accepts. */
const idleSecondsMax = 255;

/** What an endpoint asks of the kernel. */
export type CallRequest<C extends Capability> = Pick<ClientRequest<C>, "capability" | "sink"> & {
  readonly request: RequestOf<C>;
};

/** A request with a valid API key on its way: `call` in the context of its route, also in `onError`. */
export class HttpCall {
  /** Also the `x-request-id` of the response. */
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly openedAt: number;
  /** The same moment by the kernel's clock. */
  readonly startedMs: number;
  readonly caller: Caller;
  readonly httpRequest: Request;
  readonly memory: CallMemory;
  readonly clientRequestId: string | undefined;
  /** What its client speaks; absent for endpoints that have one format alone. */
  readonly inbound: ClientFormat | undefined;
  /** What its endpoint serves; absent for one that serves no calls. */
  readonly capability: Capability | undefined;
  session: string | undefined;
  tag: string | undefined;
  /** The models that the client listed, the first to be tried first; absent for a single one. */
  models: readonly string[] | undefined = undefined;
  /** The model that the body asks for, whatever that is. */
  requestedModel: unknown = undefined;
  /** The models that may serve it, in order; present once its body was read and its model is known to exist. */
  candidates: Candidates | undefined = undefined;
  /** What the client sent in a wire format of its own, where a route may speak that. */
  passthrough: Passthrough | undefined = undefined;
  /** Fields of the client's body that are left out, named to it. */
  readonly leftOut = new Set<string>();
  /** What was lost of the request, for the log. */
  readonly warnings: string[] = [];
  forbidsStoring = false;
  /** A stream goes on when its client leaves, because the answer is stored. */
  outlivesClient = false;
  /** It has taken one of the requests per minute without being admitted. */
  isCounted = false;
  /** Its run in the kernel; absent until it is executed. */
  execution: Call | undefined = undefined;
  /** Of the whole request; known once its answer is whole. */
  costNanodollars: number | undefined = undefined;
  readonly #server: Sockets | null;
  #onEnd: (() => void) | undefined;

  constructor(
    { id, openedAt, startedMs, caller }: Pick<HttpCall, "id" | "openedAt" | "startedMs" | "caller">,
    httpRequest: Request,
    { memory, inbound, capability, server = null, onEnd }: HttpCallOptions,
  ) {
    this.id = id;
    this.openedAt = openedAt;
    this.startedMs = startedMs;
    this.caller = caller;
    this.memory = memory;
    this.inbound = inbound;
    this.capability = capability;
    this.httpRequest = httpRequest;
    this.#server = server;
    this.#onEnd = onEnd;
    this.clientRequestId = readClientRequestId(httpRequest);
    this.session = readSessionHeader(httpRequest.headers);
    this.tag = readTagHeader(httpRequest.headers);
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

  /** What the answer calls that model; absent where it is not known to exist. */
  get publicModel(): string | undefined {
    const first = this.candidates?.[0];
    return this.execution?.run?.publicName ?? (first && publicNameOf(first));
  }

  /** How it is recorded. Final once it has ended. */
  get state(): Call["state"] {
    return this.execution?.state ?? "refused";
  }

  /** What was used; nothing until it is settled. */
  get meters(): Meters {
    return this.execution?.run?.meters ?? {};
  }

  /** Names a field of the client's body to it that no route is sent. */
  leaveOut(field: string): void {
    this.leftOut.add(field);
  }

  warn(sentence: string): void {
    this.warnings.push(sentence);
  }

  /** The request as the kernel takes it. */
  toRequest<C extends Capability>({ capability, request, sink }: CallRequest<C>): ClientRequest<C> {
    const { id, openedAt, startedMs, caller, protocol, passthrough, clientRequestId, session, tag } = this;
    const { outlivesClient, forbidsStoring, warnings, memory } = this;
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
      clientRequestId,
      session,
      tag,
      // Bun also closes the connection, and aborts, when bytes arrive behind a request that has no answer yet.
      signal: this.httpRequest.signal,
      outlivesClient,
      forbidsStoring,
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
  readonly server?: Sockets | null;
  readonly onEnd?: () => void;
}

/** What an endpoint serves. */
export interface Endpoint {
  readonly capability?: Capability | undefined;
  /** The model of a body that names none; absent where a body has to. */
  readonly modelDefault?: string;
  /** What its clients speak; absent where it has one format alone. */
  readonly inbound?: ClientFormat | undefined;
}

/**
 * The part of Elysia's context used here; `call` is set by `parse` or `apiKey`. Hooks must not pass the whole context on:
 * Elysia reads their source, and then parses query, cookies and headers for every request.
 */
export interface RouteContext {
  request: Request;
  server: Sockets | null;
  call: HttpCall;
  /** What its client speaks, also where the call was refused before there was one. */
  inbound: ClientFormat | undefined;
}
