import type { TSchema } from "@sinclair/typebox";
import { GatewayError } from "../contract/index.ts";
import type {
  ChatChunk,
  ChatCompletion,
  ChatRequest,
  Loss,
  PassedAnswer,
  PassthroughRequest,
  ServerEvent,
} from "../provider/index.ts";

/**
 * A client's side of a protocol. An inbound wire format reads a request into the uniform format, and writes the answer,
 * the events of a stream and the errors that its clients understand. The HTTP side serves every format in the same way,
 * by this interface; the kernel never sees it.
 */
export interface Inbound<Body = never, Options = never> {
  /** Its name in the request log and in metrics. */
  readonly protocol: string;
  /** The paths that take and answer the format, below the base path; `:id` stands for one segment. */
  readonly endpoints: readonly string[];
  /** The body of a request at the first of these paths that is answered, but for the model: an example for the API's documentation. */
  readonly example: Readonly<Record<string, unknown>>;
  /** A sentence or less about each field of that body, for the API's documentation. */
  readonly fields: Readonly<Record<string, string>>;
  /** Whether its clients ask for a WebSocket at the first of its endpoints, and stop asking when they are answered 426. */
  readonly triesWebSocket?: boolean | undefined;
  /** The format's name of the output limit; absent: as the uniform format. */
  readonly outputLimit?: string | undefined;
  /**
   * Refuses a body of another format before its schema is looked at, whose complaint would be about a missing field.
   *
   * @throws {GatewayError} `invalid_request`
   */
  refuse(body: unknown): void;
  /** Reads a request. @throws {GatewayError} `invalid_request` for what no route could serve. */
  open(body: Body, options: Options): Exchange;
  /**
   * An error in the envelope and with the status of the format.
   *
   * @param isProgram Of a program that a person has signed in.
   */
  toError(error: GatewayError, callId: string, isProgram: boolean): ErrorResponse;
  /** The headers of every answer. */
  headersOf?(callId: string): Record<string, string>;
}

/** Meanings of fields that most formats have. */
export const commonFields = {
  model: "Id or alias of a model, as GET /models lists it",
  user: "An id of the end user, passed to providers that take one",
};

/**
 * An inbound format that is served by what it says itself: `src/http/server.ts` lists it, and has no other code for it. Formats
 * whose requests refer to something that the gateway keeps, or that have further endpoints, have a controller of their own.
 */
export interface ServedInbound<Body> extends Inbound<Body, void> {
  readonly route: InboundRoute;
}

/** The endpoint of an inbound format, as it is validated and described. */
export interface InboundRoute {
  /** Below the base path. */
  readonly path: string;
  readonly body: TSchema;
  readonly answer: TSchema;
  readonly summary: string;
  readonly description: string;
  /** Whether answers may come as events; default yes. */
  readonly streams?: boolean;
}

/** An error as an HTTP response. */
export interface ErrorResponse {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: object;
}

/** One request of a client, and the way back. */
export interface Exchange {
  /** The request in the uniform format; absent when it cannot be said there. */
  readonly request: ChatRequest | undefined;
  /** Why it cannot be said in the uniform format: only a provider that speaks the client's format can serve it. */
  readonly untranslatable?: GatewayError | undefined;
  /** Losses of the translation. */
  readonly losses: readonly Loss[];
  /** Whether the client leaves prompt caching to the gateway, as clients of formats without marks do. */
  readonly leavesCaching?: boolean;
  /** The request as its client wrote it, for providers that speak the client's format; absent where none can. */
  readonly passthrough?: PassthroughRequest;
  /** The whole answer. */
  toAnswer(completion: ChatCompletion): object;
  /** The text that a chunk of the answer comes to; empty for one that says nothing. */
  push(chunk: ChatChunk): string;
  /** The last text of a stream, once the call is settled. */
  end(): string | Promise<string>;
  /**
   * The text that ends a stream which broke off.
   *
   * @param passed The events passed through so far.
   */
  fail(error: GatewayError, passed?: PassedAnswer): string;
  /** Looks at a whole answer before it is sent, and may change it. @param isPassed It came in the client's format. */
  finish?(answer: object, isPassed: boolean): Promise<void>;
  /** An event as it is passed through; `undefined`: it is not sent. Absent: each is sent as it came. */
  pass?(event: ServerEvent): ServerEvent | undefined;
  /** The last event of a stream that was passed through; absent: it is sent as it came. */
  endPassed?(event: ServerEvent): Promise<ServerEvent>;
  /**
   * The text that keeps a silent stream alive, for a format whose clients wait for events; absent or `undefined`: a
   * comment. It commits the call to no route.
   *
   * @param passed The events passed through so far; absent before a provider of the format answers.
   */
  heartbeat?(passed?: PassedAnswer): string | undefined;
}

/** An event without a name, as chat has them. */
export function toEvent(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

/** An event whose name is its type, with fields of its own. */
export interface NamedEvent {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** An event whose name is its type. */
export function toNamedEvent(event: { readonly type: string } | NamedEvent): string {
  return `event: ${event.type}\n${toEvent(event)}`;
}

export function formatEvents(events: readonly { readonly type: string }[]): string {
  let text = "";
  for (const event of events) text += toNamedEvent(event);
  return text;
}

/** Errors of a translation that no route would do without: they are about the gateway's own store and envelopes. */
const finalCodes: ReadonlySet<string> = new Set([
  "item_not_found",
  "previous_response_not_found",
  "invalid_encrypted_content",
]);

/**
 * Returns a translation, or the error that explains why the request cannot be translated.
 *
 * @throws Errors that a provider which speaks the client's format could not avoid either.
 */
export function tryTranslate<Translated>(translate: () => Translated): Translated | GatewayError {
  try {
    return translate();
  } catch (error) {
    if (!(error instanceof GatewayError) || finalCodes.has(error.publicCode)) throw error;
    return error;
  }
}

/** Returns the plan of a translated request. @throws {TypeError} For a request that was only passed through. */
export function expectTranslated<Plan>(plan: Plan | undefined): Plan {
  if (plan === undefined) throw new TypeError("A request without a translation was answered in the uniform format");
  return plan;
}

/** An error in OpenAI's envelope. */
export function toOpenaiError(error: GatewayError): ErrorResponse {
  return { status: error.status, headers: error.retryHeaders, body: error.toBody() };
}
