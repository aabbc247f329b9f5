import { GatewayError, meterTable } from "../contract/index.ts";
import type {
  Call,
  ChatRequest,
  Loss,
  Model,
  PassedAnswer,
  PassthroughFormat,
  PassthroughRequest,
  ProviderPlugin,
  ServerEvent,
  WirePart,
} from "../provider/index.ts";
import type { ModelEntry } from "./routing/registry.ts";

/**
 * The passed-through side of a chat call: the request as the client wrote it, and the answer as the provider gave it.
 * The call also has a request in the uniform format, which is used for admission and for routes without the client's
 * format.
 */
export class Passthrough implements PassedAnswer {
  readonly format: PassthroughFormat;
  readonly body: WirePart;
  /** The client's headers of the format. */
  readonly headers: Readonly<Record<string, string>>;
  readonly #handler: PassthroughFormat["protocol"] | "compactResponse";
  /** Why the request cannot be said in the uniform format; then only routes of the client's own format serve it. */
  untranslatable: GatewayError | undefined = undefined;
  /** Losses of the translation, for a call that is served by it. */
  losses: readonly Loss[] = [];
  /** The whole answer, also of a stream of the Responses protocol; absent until a route of the format has given it. */
  answer: WirePart | undefined = undefined;
  lastEvent: ServerEvent | undefined = undefined;
  head: WirePart | undefined = undefined;
  sequence = 0;
  /** A route of the client's own format answers. */
  isServing = false;
  /** The searches that were seen to begin. */
  searches = 0;

  /** The most searches of a request that sets no limit. */
  readonly #searchesDefault: number;

  constructor(
    { format, body, isCompaction = false }: PassthroughRequest,
    headers: Readonly<Record<string, string>>,
    searchesDefault: number,
  ) {
    this.format = format;
    this.#searchesDefault = searchesDefault;
    this.#handler = isCompaction ? "compactResponse" : format.protocol;
    this.body = body;
    this.headers = headers;
  }

  /** The plugin's handler for the request, if it speaks the client's protocol. */
  handlerOf({ handlers }: ProviderPlugin) {
    return handlers[this.#handler]?.bind(handlers);
  }

  /** Whether the route receives the request in the client's protocol. */
  isServedBy({ plugin, model }: { readonly plugin: ProviderPlugin; readonly model: Model }): boolean {
    return plugin.handlers[this.#handler] !== undefined && this.format.serves?.(model) !== false;
  }

  /** Whether a field of the request bounds the answer; a request without one cannot be lowered. */
  get isBounded(): boolean {
    return this.format.outputLimit !== undefined && this.#handler !== "compactResponse";
  }

  /**
   * The searches of the web that the client lets a provider run: 0 where no route of its format has a price for them, because
   * the tool is left out there.
   */
  searchLimitOf({ model, routes }: ModelEntry): number {
    if (model.price?.webSearch === undefined || !routes.some((route) => this.isServedBy(route))) return 0;
    return Math.min(this.format.searchLimitOf(this.body) ?? this.#searchesDefault, meterTable.webSearch.requestMax);
  }

  /** The most tokens that searches put into one prompt, together; infinite where only the context bounds them. */
  searchTokensMaxOf({ routes }: ModelEntry): number {
    if (!this.format.isSearchBounded(this.body)) return Number.POSITIVE_INFINITY;
    const served = routes.filter((route) => this.isServedBy(route));
    return Math.max(...served.map(({ model }) => model.searchTokensMax ?? Number.POSITIVE_INFINITY));
  }

  /** Whether the whole answer may have the probabilities of all its tokens. */
  get asksForLogprobs(): boolean {
    const { top_logprobs: others, include } = this.body;
    return Boolean(others) || (Array.isArray(include) && include.includes("message.output_text.logprobs"));
  }

  /** Whether the request is of no use without searches: they are its only tools. */
  get needsSearch(): boolean {
    return this.format.hasOnlySearches(this.body);
  }

  /** Returns a placeholder request to estimate tokens by, where the uniform format cannot express the real one. */
  toPlaceholderRequest(): ChatRequest {
    const { outputLimit = "" } = this.format;
    const { model, stream, [outputLimit]: limit } = this.body;
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

  /**
   * The routes that can serve the call. A request whose only purpose is a web search goes only to routes that can
   * search; another would answer from memory, as if that were a search result.
   *
   * @throws {GatewayError} When no route can.
   */
  chooseRoutes(modelEntry: ModelEntry): ModelEntry {
    const { untranslatable, needsSearch } = this;
    if (needsSearch && this.searchLimitOf(modelEntry) === 0) {
      const message = "This model has no web search here, and the request has no other tool; choose another model";
      throw new GatewayError("invalid_request", message, { param: "tools" });
    }
    if (untranslatable === undefined && !needsSearch) return modelEntry;
    const routes = modelEntry.routes.filter((route) => this.isServedBy(route));
    if (routes.length === 0 && untranslatable !== undefined) throw untranslatable;
    return { ...modelEntry, routes };
  }

  /** The body, with the output and the searches bounded by what the hold covers. */
  toBody(
    { request, model, warn }: Pick<Call<ChatRequest>, "request" | "model" | "warn">,
    searchesMax: number,
  ): WirePart {
    const { format } = this;
    const { max_completion_tokens, max_tokens } = request;
    const requestedSearches = format.searchLimitOf(this.body);
    // Without a price the handler leaves the tool out.
    const isUnpriced = model.price?.webSearch === undefined;
    const isSame = requestedSearches === 0 || requestedSearches === searchesMax || isUnpriced;
    const body = isSame ? this.body : format.withSearchLimit(this.body, searchesMax, warn);
    const limit = max_completion_tokens || max_tokens;
    const field = format.outputLimit;
    if (field === undefined) return body;
    const requested = body[field];
    if (!limit || (typeof requested === "number" && requested <= limit)) return body;
    return { ...body, [field]: limit };
  }
}
