import { GatewayError, type ServerEvent } from "../../contract/index.ts";
import { isHeaderValue, NativeExchange } from "../../kernel/index.ts";
import type { HttpCall } from "../middleware/handle-call.ts";
import type { SseStream } from "../middleware/sse-stream.bun.ts";

/** Errors of a translation that no route would do without: they are about this gateway's own store and seals. */
const finalCodes = ["item_not_found", "previous_response_not_found", "invalid_encrypted_content"];

/** Longer values are not a list of betas. */
const headerCharactersMax = 4096;

/**
 * Gives a call its native side where a route of a model that may serve it has the protocol. `call.candidates` must be set.
 *
 * @param body The body as the client wrote it, without what is the gateway's own.
 */
export function setNative(
  call: HttpCall,
  protocol: NativeExchange["protocol"],
  body: Record<string, unknown>,
  isCompaction = false,
): NativeExchange | undefined {
  const headers: Record<string, string> = {};
  for (const [name, value] of call.httpRequest.headers) {
    if (!name.startsWith("anthropic-") || value.length > headerCharactersMax) continue;
    if (!isHeaderValue(value)) {
      const sentence = `The header ${name} has a character that is not printable ASCII`;
      throw new GatewayError("invalid_request", sentence, { param: name });
    }
    headers[name] = value;
  }
  const native = new NativeExchange({ protocol, body, headers, isCompaction });
  const routes = call.candidates?.flatMap(({ modelEntry }) => modelEntry.routes) ?? [];
  const isServed = routes.some(({ plugin }) => native.isServedBy(plugin));
  call.native = isServed ? native : undefined;
  return call.native;
}

/** The translation, or `undefined` when only a native route can serve the call. @throws {GatewayError} */
export function translateUnlessNative<Translated>(
  native: NativeExchange | undefined,
  translate: () => Translated,
): Translated | undefined {
  try {
    return translate();
  } catch (error) {
    if (native === undefined || !(error instanceof GatewayError) || finalCodes.includes(error.publicCode)) throw error;
    native.untranslatable = error;
    return undefined;
  }
}

/** Logs what a translation lost, once it is clear that the call is served by one. */
export function warnOfTranslation(call: HttpCall, sentences: readonly string[]): void {
  if (call.native !== undefined) call.native.warnings = sentences;
  else for (const sentence of sentences) call.warn(sentence);
}

/** Sends the events of a native answer as they come. */
export function streamNative(native: NativeExchange | undefined, sink: SseStream<never>): void {
  if (native !== undefined) native.write = (event) => sink.send(formatEvent(event));
}

export function formatEvent({ event, data }: ServerEvent): string {
  return `event: ${event}\ndata: ${data}\n\n`;
}
