import type { ChatRequest, GatewayError, ProviderPlugin, ServerEvent } from "../contract/index.ts";
import { nativeProtocols, type Part } from "../protocols/native.ts";
import type { ModelEntry } from "./routing/registry.ts";

/** What a client of another protocol than chat sent, for the routes whose providers speak that protocol. */
interface NativeInput {
  protocol: "responses" | "messages";
  body: Record<string, unknown>;
  /** The client's headers of the protocol. */
  headers: Record<string, string>;
  /** The conversation is to be compacted, which only some providers of the protocol do. */
  isCompaction?: boolean;
}

/**
 * The native side of a chat call: the request as the client wrote it, and the answer as the provider gave it. The call also
 * has a chat request, by which it is admitted and by which routes without the protocol are asked.
 */
export class NativeExchange {
  readonly protocol: NativeInput["protocol"];
  readonly body: Record<string, unknown>;
  readonly headers: Record<string, string>;
  readonly #handler: "responses" | "messages" | "compactResponse";
  /** Why the request cannot be said in chat; then only native routes serve it. */
  untranslatable: GatewayError | undefined = undefined;
  /** What the translation into chat lost, for the log of a call that is served by it. */
  warnings: readonly string[] = [];
  /** Sends an event of a stream. Set by the HTTP side. */
  write: (event: ServerEvent) => Promise<void> | undefined = () => undefined;
  /** The whole answer, also of a stream of the Responses protocol; absent until a native route has given it. */
  answer: Part | undefined = undefined;
  /** The last event of a stream, to be sent once the call is settled. */
  lastEvent: ServerEvent | undefined = undefined;
  /** The answer as the first event of the stream showed it, and the number of the last event: what a failure is told with. */
  head: Part | undefined = undefined;
  sequence = 0;
  /** A native route answers. */
  isServing = false;

  constructor({ protocol, body, headers, isCompaction = false }: NativeInput) {
    this.protocol = protocol;
    this.#handler = isCompaction ? "compactResponse" : protocol;
    this.body = body;
    this.headers = headers;
  }

  /** The plugin's handler for the request, if it speaks the client's protocol. */
  handlerOf({ handlers }: ProviderPlugin) {
    return handlers[this.#handler]?.bind(handlers);
  }

  isServedBy(plugin: ProviderPlugin): boolean {
    return plugin.handlers[this.#handler] !== undefined;
  }

  /** Whether a field of the request bounds the answer; a request without one cannot be lowered. */
  get isBounded(): boolean {
    return this.#handler !== "compactResponse";
  }

  /** A request to count by where chat has no words for the real one. */
  toStandIn(): ChatRequest {
    const { model, stream, [nativeProtocols[this.protocol].outputLimit]: limit } = this.body;
    const content = JSON.stringify(this.body);
    return {
      model: model as string,
      messages: [{ role: "user", content }],
      // It may think, and what it thinks may not show.
      reasoning_effort: "high",
      ...(stream === true && { stream: true }),
      ...(typeof limit === "number" && limit > 0 && { max_completion_tokens: limit }),
    };
  }

  /** The routes that can serve the call. @throws {GatewayError} When there is none. */
  chooseRoutes(modelEntry: ModelEntry): ModelEntry {
    if (this.untranslatable === undefined) return modelEntry;
    const routes = modelEntry.routes.filter(({ plugin }) => this.isServedBy(plugin));
    if (routes.length === 0) throw this.untranslatable;
    return { ...modelEntry, routes };
  }

  /** The body, with the output bounded by what the hold covers. */
  toBody({ max_completion_tokens, max_tokens }: ChatRequest): Record<string, unknown> {
    const limit = max_completion_tokens || max_tokens;
    const field = nativeProtocols[this.protocol].outputLimit;
    const asked = this.body[field];
    if (!limit || (typeof asked === "number" && asked <= limit)) return this.body;
    return { ...this.body, [field]: limit };
  }
}
