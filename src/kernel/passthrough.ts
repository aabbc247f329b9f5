import type {
  ChatRequest,
  GatewayError,
  PassedAnswer,
  PassthroughFormat,
  PassthroughRequest,
  ProviderPlugin,
  ServerEvent,
  WirePart,
} from "../contract/index.ts";
import type { ModelEntry } from "./routing/registry.ts";

/**
 * The passed-through side of a chat call: the request as the client wrote it, and the answer as the provider gave it. The
 * call also has a request in the uniform format, by which it is admitted and by which routes without the format are asked.
 */
export class Passthrough implements PassedAnswer {
  readonly format: PassthroughFormat;
  readonly body: WirePart;
  /** The client's headers of the format. */
  readonly headers: Readonly<Record<string, string>>;
  readonly #handler: PassthroughFormat["protocol"] | "compactResponse";
  /** Why the request cannot be said in the uniform format; then only routes of the client's own format serve it. */
  untranslatable: GatewayError | undefined = undefined;
  /** What the translation lost, for the log of a call that is served by it. */
  warnings: readonly string[] = [];
  /** The whole answer, also of a stream of the Responses protocol; absent until a route of the format has given it. */
  answer: WirePart | undefined = undefined;
  lastEvent: ServerEvent | undefined = undefined;
  head: WirePart | undefined = undefined;
  sequence = 0;
  /** A route of the client's own format answers. */
  isServing = false;

  constructor({ format, body, isCompaction = false }: PassthroughRequest, headers: Readonly<Record<string, string>>) {
    this.format = format;
    this.#handler = isCompaction ? "compactResponse" : format.protocol;
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

  /** A request to count by where the uniform format has no words for the real one. */
  toStandIn(): ChatRequest {
    const { model, stream, [this.format.outputLimit]: limit } = this.body;
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
    const field = this.format.outputLimit;
    const asked = this.body[field];
    if (!limit || (typeof asked === "number" && asked <= limit)) return this.body;
    return { ...this.body, [field]: limit };
  }
}
