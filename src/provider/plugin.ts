import type { CacheMarks, Capability, ChatUsage, TokenUsage, UpstreamError } from "../contract/index.ts";
import type { ChatStream } from "./answer-stream.ts";
import type { ChatCompletion, ChatRequest } from "./chat.ts";
import type { CredentialForm, MachineRequest, ProviderCredential } from "./credential.ts";
import type { Embeddings, EmbeddingsRequest } from "./embeddings.ts";
import type { GeneratedImages, ImageEditsRequest, ImageStream, ImagesRequest } from "./images.ts";
import type { Model, Unlisted } from "./model.ts";
import type { ModerationRequest, Moderations } from "./moderation.ts";
import type { Ranking, RerankRequest } from "./rerank.ts";
import type { SocketTurns } from "./socket-turns.ts";
import type { Speech, SpeechRequest } from "./speech.ts";
import type { Transcript, TranscriptionRequest } from "./transcription.ts";

/**
 * The version of the contract between the gateway and its plugins. A plugin written for another version is refused at
 * load.
 *
 * @example
 * contractVersion; // => 1
 */
export const contractVersion = 1;

/**
 * One event of a provider's stream. From SSE: its `event:` name (`"message"` when unnamed) and its `data:` lines joined
 * by `\n`. From an AWS event stream: its `:event-type` and its payload as text; an exception is an event `error` with
 * the data `{ "error": { "type", "message" } }`.
 */
export interface ServerEvent {
  event: string;
  data: string;
}

/** A binary answer: its media type and its bytes as they arrive. */
export interface UpstreamBytes {
  mediaType: string;
  chunks: AsyncIterable<Uint8Array<ArrayBuffer>>;
}

/** How a request is made of the provider. */
export type HttpMethod = "GET" | "POST" | "PUT" | "DELETE";

/** Options of one request to the provider, added to the plugin's own headers. */
export interface UpstreamRequestOptions {
  headers?: Record<string, string>;
  /** Default `POST`. `GET` and `DELETE` have no body: give `undefined`. */
  method?: HttpMethod;
  /**
   * For `events`: the provider also answers by a WebSocket at the path. It is used for turns that a client sends by WebSocket; where it
   * cannot be opened the request is sent all the same.
   */
  socketTurns?: SocketTurns;
}

/** A message of a WebSocket: a text, or bytes. */
export type WebSocketMessage = string | Uint8Array<ArrayBuffer>;

/** Options of a WebSocket to the provider. */
export interface WebSocketOptions {
  headers?: Record<string, string>;
  /** Subprotocols to choose from; the provider must choose one of them. */
  protocols?: readonly string[];
  /**
   * Whether a message is part of the answer. From the first such message on, the call is owed. Absent: every message is
   * that does not report an error.
   */
  isAnswer?(message: WebSocketMessage): boolean;
}

/**
 * An open WebSocket to the provider. Its messages are the `events` of an {@link AnswerStream}, or are iterated one by
 * one. They end when the provider closes the connection normally; the stream's `end` decides whether the answer was
 * whole.
 *
 * Iterating throws {@link UpstreamError} when the connection breaks off, or is closed with an error code (1011: its
 * `code` is `websocket_1011`).
 */
export interface UpstreamWebSocket extends AsyncIterable<WebSocketMessage> {
  /** The subprotocol that the provider chose; empty when none was offered. */
  readonly protocol: string;
  /** Sends a message. Resolves when the connection accepts more data: await it to limit buffering. */
  send(message: string | Uint8Array): Promise<void>;
  /**
   * Closes the connection and drops unread messages. Also happens when the stream is complete and when the call ends.
   */
  close(): void;
}

/** A request that is about to be sent, as `authorize` is shown it. */
export interface AuthorizedRequest {
  readonly method: HttpMethod;
  /** Whole, as it is sent. */
  readonly url: string;
  /** Headers that are sent in addition to the result of `authorize`; names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** JSON as it is sent, a file, or a form. The bytes of a form are not known in advance. */
  readonly body: string | FormData | Blob | undefined;
  /** POSTs a form for a token, without a credential; {@link fetchToken} of the SDK does the rest. */
  postForm(url: string, form: Readonly<Record<string, string>>): Promise<TokenResponse>;
  /** Sends a request to the service of the machine that the credential names by `machine`. */
  askMachine(request: MachineRequest): Promise<TokenResponse>;
}

/** Answer of a token endpoint. */
export interface TokenResponse {
  readonly status: number;
  readonly headers: Headers;
  /** At most 64 kB of it. */
  readonly body: string;
}

/**
 * A plugin's only access to the network. It adds one of the plugin's keys and stops at the call's deadline or when the
 * caller leaves. A path is appended to the base URL; a whole URL reaches one of the plugin's declared `hosts`, with the
 * same key. Requests to other hosts and to private addresses are refused, and redirects are not followed.
 *
 * Every method throws {@link UpstreamError} when the provider answers outside 2xx, not in time, or not at all.
 */
export interface Upstream {
  /** Where the paths of this attempt begin, without a trailing slash. */
  readonly baseUrl: string;
  /** Sends JSON (by POST unless `init.method` says otherwise) and reads a JSON answer. The answer is what the provider sent: check what you use. */
  json<T = unknown>(path: string, body: unknown, init?: UpstreamRequestOptions): Promise<T>;
  /** POSTs a multipart form, or a file as it is, and reads a JSON answer. */
  form<T = unknown>(path: string, form: FormData | Blob, init?: UpstreamRequestOptions): Promise<T>;
  /** Sends JSON and hands the binary answer on as it arrives. */
  bytes(path: string, body: unknown, init?: UpstreamRequestOptions): Promise<UpstreamBytes>;
  /**
   * Sends JSON and reads an answer of SSE or of an AWS event stream. Resolves once the headers and a first byte have
   * come, so a refusal keeps its status.
   */
  events(path: string, body: unknown, init?: UpstreamRequestOptions): Promise<AsyncIterable<ServerEvent>>;
  /**
   * Opens a WebSocket, which is closed when the attempt ends, or earlier. `authorize` sees its handshake as a `GET`. A
   * refused handshake is handled like a refused request. A whole URL begins with `wss:` or `https:`.
   */
  webSocket(path: string, options?: WebSocketOptions): Promise<UpstreamWebSocket>;
  /**
   * Fetches a public file that the caller or the provider's answer named (an image URL) for those who want the bytes.
   * https only, no private address, at most 20 MB and 10 s.
   *
   * @throws {GatewayError} `invalid_request` with the reason.
   */
  download(url: string): Promise<{ bytes: Uint8Array<ArrayBuffer>; mediaType: string }>;
}

/** Whether the gateway marks prompts for the caches of providers, or why it does not. */
export type MarkRule = "auto" | "off" | "short" | "losing";

/** One request on its way through a handler. */
export interface Call<Request> {
  /** The call's id: in the ledger, the log and the answer's `x-request-id`. */
  readonly id: string;
  /** The checked request in the uniform format. */
  readonly request: Request;
  readonly model: Model;
  /** Aborted when the caller leaves or the deadline passes. `upstream` observes it by itself. */
  readonly signal: AbortSignal;
  readonly upstream: Upstream;
  /**
   * Whether the gateway is to mark the prompt for the cache of its provider, or why not. Clients of OpenAI's protocols leave it to
   * the gateway unless they say otherwise. Absent: it is for the client to mark.
   */
  readonly markRule?: MarkRule | undefined;
  /** The client has named a session that the request is a part of. */
  readonly hasSession?: boolean | undefined;
  /** Records what became of marks in the prompt. */
  noteCacheMarks?(state: CacheMarks): void;
  /**
   * A name for what the provider caches of the client's session, which no other account has and nobody can guess. `undefined` without a
   * session. For providers that keep requests of one name where their cache is.
   */
  readCacheKey?(): string | undefined;
  /**
   * Whether the provider is a server of the operator's own, by its private address: its handlers are given only the fields of the
   * request that the gateway knows and those in `requestFields` of the plugin. Absent: it is public.
   */
  readonly isOwnServer?: boolean;
  /**
   * Whether the plugin is for servers that people run themselves, by the base URL that it declares. Such a server is sent all fields of a
   * message; a public provider is sent those that it documents, also where it is reached over a private address. Absent: it is not.
   */
  readonly isForOwnServers?: boolean;
  /** Whether something in it asks for a cache that keeps for longer than the provider's least; absent: it may. */
  readonly keepsLonger?: boolean | undefined;
  /**
   * Notes in the request log what a translation had to leave out or change. At most 500 characters of a message are kept.
   *
   * @param ignored The request fields that it is about, by the names in `request`: a field, a member (`reasoning.effort`) or a place in a
   *   list (`tools[2]`). The caller reads in the header `x-modelgate-ignored` those that it has sent, by its protocol's names. `[]` where
   *   the message is about no field.
   */
  warn(message: string, ignored: string | readonly string[]): void;
}

/** A request in a protocol of chat that the provider speaks itself: it goes there as the client wrote it. */
export interface NativeRequest {
  /** The client's body, within the output limit that the hold covers. `model` is still the public name. */
  readonly body: Readonly<Record<string, unknown>>;
  /** The headers that belong to the protocol (`anthropic-version`, `anthropic-beta` …), names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

/** The provider's answer in the protocol of the request: whole, or its events when `body.stream` is true. */
export interface NativeAnswer {
  readonly content: Record<string, unknown> | AsyncIterable<ServerEvent>;
  /**
   * Reads usage from the whole answer, or from the JSON of an event. Events come in order, so partial reports can be
   * added up here. Returns all that is known so far, or `undefined` when this part reports nothing.
   */
  readUsage(part: Record<string, unknown>): ChatUsage | undefined;
}

/**
 * Optional handlers: for clients of protocols other than chat, whose calls are otherwise translated into chat, and for
 * token counts that a provider makes free of charge.
 */
export const optionalHandlers = [
  "responses",
  "messages",
  "decisions",
  "compactResponse",
  "countChatTokens",
  "countResponsesTokens",
  "countMessagesTokens",
] as const;

/** Returns a completion, or a stream when `call.request.stream` is true. */
export interface ChatHandler {
  (call: Call<ChatRequest>): Promise<ChatCompletion | ChatStream>;
  /**
   * Returns the request fields that it does not send for a model, in addition to `omit` of the row. An output limit
   * that is not sent bounds nothing, so more is held. Absent: no field is known to be sent, and the model's maximum is
   * held.
   */
  omits?: ((model: Model) => readonly string[]) | undefined;
}

/** Speaks a text. */
export interface SpeechHandler {
  (call: Call<SpeechRequest>): Promise<Speech>;
  /** How many characters of a text the provider charges for. Absent: its Unicode code points. */
  countCharacters?: ((text: string) => number) | undefined;
}

/**
 * A plugin's way of serving each capability. A handler translates the request, sends it by `call.upstream` and translates the answer; ids,
 * timestamps, the public model name, tool-call indexes, usage counting, retries and deadlines are the kernel's.
 */
export interface Handlers {
  chat?: ChatHandler;
  embeddings?(call: Call<EmbeddingsRequest>): Promise<Embeddings>;
  /** Returns a stream only where `partial_images` of the request is above 0. */
  images?(call: Call<ImagesRequest>): Promise<GeneratedImages | ImageStream>;
  /** Makes images from others. Returns a stream only where `partial_images` of the request is above 0. */
  imageEdits?(call: Call<ImageEditsRequest>): Promise<GeneratedImages | ImageStream>;
  transcription?(call: Call<TranscriptionRequest>): Promise<Transcript>;
  /** A transcript in English, of speech in any language. */
  translation?(call: Call<TranscriptionRequest>): Promise<Transcript>;
  speech?: SpeechHandler;
  moderation?(call: Call<ModerationRequest>): Promise<Moderations>;
  rerank?(call: Call<RerankRequest>): Promise<Ranking>;
  /** Hands on a body of OpenAI's Responses protocol. The price must cover all that is sent. */
  responses?(call: Call<NativeRequest>): Promise<NativeAnswer>;
  /** Hands on a body of OpenAI's Responses protocol. The price must cover all that is sent. */
  messages?(call: Call<NativeRequest>): Promise<NativeAnswer>;
  /** Hands on a body of Anthropic's Messages protocol. The price must cover all that is sent. */
  decisions?(call: Call<NativeRequest>): Promise<NativeAnswer>;
  /** Hands on a body of OpenAI's decisions. The price must cover all that is sent. */
  compactResponse?(call: Call<NativeRequest>): Promise<NativeAnswer>;
  /**
   * Requests the provider's token count of a prompt, free of charge. The gateway uses it if only the model's context
   * bounds the prompt (a PDF, a document by its address) and that bound is more than the caller can pay.
   */
  countChatTokens?(call: Call<ChatRequest>): Promise<number>;
  /** Counts the tokens of a Responses body, also for clients that call the count endpoint. */
  countResponsesTokens?(call: Call<NativeRequest>): Promise<number>;
  countMessagesTokens?(call: Call<NativeRequest>): Promise<number>;
}

/**
 * One handler, by its capability: its parameter and what it returns are typed.
 *
 * @example
 * const rerank: Handler<"rerank"> = async ({ request }) => ({
 *   results: request.documents.map((_, index) => ({ index, relevance_score: 0 })),
 * });
 * Object.keys({ rerank }); // => ["rerank"]
 */
export type Handler<Name extends keyof Handlers> = NonNullable<Handlers[Name]>;

/** The request of a handler: `RequestOf<"speech">`. */
export type RequestOf<Name extends keyof Handlers> = Parameters<Handler<Name>>[0]["request"];

/** The whole answer of a handler, where it does not stream: `AnswerOf<"speech">`. */
export type AnswerOf<Name extends keyof Handlers> = Exclude<
  Awaited<ReturnType<Handler<Name>>>,
  ChatStream | ImageStream
>;

/** A request and the plugin's own row of its model. */
export interface CheckInput<Request> {
  readonly request: Request;
  readonly model: Model;
}

/**
 * Checks that refuse a request before anything is held for it, because the provider could not serve it. They are pure
 * and cheap; the handler translates what passes in full.
 *
 * Every check throws {@link GatewayError} `invalid_request`, naming the field and what is expected there.
 */
export interface Checks {
  chat?(input: CheckInput<ChatRequest>): void;
  embeddings?(input: CheckInput<EmbeddingsRequest>): void;
  images?(input: CheckInput<ImagesRequest>): void;
  imageEdits?(input: CheckInput<ImageEditsRequest>): void;
  transcription?(input: CheckInput<TranscriptionRequest>): void;
  translation?(input: CheckInput<TranscriptionRequest>): void;
  speech?(input: CheckInput<SpeechRequest>): void;
  moderation?(input: CheckInput<ModerationRequest>): void;
  rerank?(input: CheckInput<RerankRequest>): void;
}

/** Usage as an answer reports it, in one of OpenAI's two shapes. */
export type AnswerUsage = ChatUsage | TokenUsage;

/** A provider's refusal as it came over the wire. */
export interface RefusedResponse {
  status: number;
  headers: Headers;
  /** The body as text, at most 64 kB of it. */
  body: string;
}

/**
 * Parts of OpenAI's API that only some providers take: `tokenInput`, token arrays as the input of embeddings, which are
 * decoded for others; `customTools`, tools of the type `custom` in chat, which others refuse.
 */
export const nativeForms = ["tokenInput", "customTools"] as const;
export type NativeForm = (typeof nativeForms)[number];

/** Type of an option of a row: of a type, a list of texts (`texts`), an object of anything, or one of these texts. */
export type OptionKind = "text" | "texts" | "number" | "boolean" | "object" | readonly string[];
export type ModelOptions = Readonly<Record<string, OptionKind>>;

/** Parts of a plugin that may differ by the model. */
export type ModelParts = Partial<
  Pick<ProviderPlugin, "handlers" | "checks" | "maxChoices" | "takes" | "readError" | "readUsage">
>;

/** All that the gateway knows of a provider. Made by `definePlugin`, which fills in what a plugin leaves out. */
export interface ProviderPlugin {
  /** kebab-case; also the folder, the catalogue file, and the prefix of `<NAME>_API_KEY` and `<NAME>_BASE_URL`. */
  readonly name: string;
  readonly contractVersion: typeof contractVersion;
  /** Where the provider is, without a trailing slash. `<NAME>_BASE_URL` replaces it. */
  readonly baseUrl: string;
  /**
   * Hosts besides the host of `baseUrl` that the plugin may request by a whole URL, or for tokens: `files.example.com`,
   * with a port if any, or `*.example.com` for its subdomains.
   */
  readonly hosts: readonly string[];
  /** `none`: needs no key and is served without one. */
  readonly credential: "key" | "none" | CredentialForm;
  /**
   * `false`: the provider uses no key and no address of the environment. This holds for every provider that is added on
   * the dashboard, by the API or by a command: the person who chose its name and address did not set the environment.
   * Absent: it uses both.
   */
  readonly environment?: false | undefined;
  /** The headers that carry a credential: of a key as it is, of a signature, or of a token that is fetched first. */
  authorize(
    request: AuthorizedRequest,
    credential: ProviderCredential,
  ): Record<string, string> | Promise<Record<string, string>>;
  readonly models: readonly Model[];
  /**
   * Parts that serve a model in place of the handlers and the rest below, where a provider speaks several protocols:
   * Azure serves Claude as well as OpenAI's models. The same object means the same protocol.
   */
  forModel?(model: Model): ModelParts | undefined;
  /** Options of its rows; a misspelt one is an error. Absent: anything. */
  readonly modelOptions?: ModelOptions | undefined;
  /** Sells every other model that the provider lists, by these terms. */
  readonly unlisted?: Unlisted | undefined;
  readonly handlers: Handlers;
  /** Looked at before a call is admitted; without one, all that the schema lets through is translated. */
  readonly checks?: Checks | undefined;
  /** How many choices one request can ask for where the provider has a bound; beyond it the kernel sends several. */
  readonly maxChoices: Partial<Record<Extract<Capability, "chat" | "images">, number>>;
  /** Forms that it takes as they are; default none. */
  readonly takes?: readonly NativeForm[] | undefined;
  /**
   * Request fields that it takes in addition to the gateway's own, where its base URL is a private address; default
   * none.
   */
  readonly requestFields?: readonly string[] | undefined;
  /** Reads a refusal into an error. */
  readError(answer: RefusedResponse): UpstreamError;
  /**
   * Reads what an answer reports of its use, before it is translated: what was served is owed, also if its translation
   * fails or the answer is refused.
   *
   * @param part The JSON of a whole answer, or of an event of a stream.
   * @param before What earlier events of the same stream reported.
   * @returns All that is known so far.
   */
  readUsage(part: Record<string, unknown>, before?: AnswerUsage): AnswerUsage | undefined;
}

/** Takes what a translation had to leave out or change, as {@link Call.warn} does. */
export type Warn = Call<unknown>["warn"];
