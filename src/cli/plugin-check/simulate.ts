import {
  type AdmissionRequest,
  type Capability,
  capabilityForms,
  GatewayError,
  type Ledger,
  type LimitState,
  type Settlement,
} from "../../contract/index.ts";
import {
  buildRegistry,
  ClientCall,
  findCandidates,
  type Kernel,
  type Log,
  monotonicNow,
  openNetwork,
  PromptCaching,
  runCall,
  TimeoutScheduler,
} from "../../kernel/index.ts";
import { SsrfGuard } from "../../kernel/upstream/ssrf-guard.ts";
import type { WebSocketConnection } from "../../kernel/upstream/web-socket.ts";
import { writeEventStream } from "../../lib/aws-event-stream.ts";
import { parseJson } from "../../lib/json.ts";
import { opcodes, writeClose, writeMessage } from "../../lib/web-socket.ts";
import type { ChatChunk, ChatCompletion, ProviderPlugin, Transcript } from "../../provider/index.ts";
import type { Fixture, Reply } from "./fixture.ts";
import { sampleCredential } from "./sample-credential.ts";

/** The key a plugin is given here; it is to be sent to the provider, and never to be seen by the caller. */
export const simulatedKey = "check-key-0123456789abcdef";

/** Request of a plugin to its provider. */
export interface ProviderRequest {
  readonly url: string;
  readonly headers: Headers;
  readonly body: unknown;
}

/** Result of one call through a plugin, with a simulated provider and ledger. */
export interface Outcome {
  readonly answer: unknown;
  readonly chunks: readonly ChatChunk[];
  readonly error: GatewayError | undefined;
  readonly settlement: Settlement | undefined;
  readonly requests: readonly ProviderRequest[];
  /** Errors of the plugin that are neither an `UpstreamError` nor a refusal. */
  readonly thrown: readonly unknown[];
}

/** A provider's answer as it is to be sent; `pieces` cuts the body. */
export interface Sent extends Reply {
  readonly headers?: Record<string, string>;
  readonly pieces?: (body: Uint8Array<ArrayBuffer>) => Uint8Array<ArrayBuffer>[];
}

const limitsOfCaller = { requestsPerMinute: 1, tokensPerMinute: 1 };
const limits: LimitState = {
  limitRequests: 1,
  remainingRequests: 1,
  resetRequestsMs: 0,
  limitTokens: 1,
  remainingTokens: 1,
  resetTokensMs: 0,
};

/** Serves one request by the plugin, the provider answering as told. The whole way of a call, without a network. */
export async function simulate(plugin: ProviderPlugin, fixture: Fixture, answer: Sent): Promise<Outcome> {
  const capability = fixture.capability ?? "chat";
  const requests: ProviderRequest[] = [];
  const fetch = (async (url: string, init: RequestInit) => {
    // A token is given for what stands for a credential, and carries it.
    if (new Headers(init.headers).get("content-type") === "application/x-www-form-urlencoded") {
      return Response.json({ access_token: simulatedKey, expires_in: 3600 });
    }
    requests.push({
      url,
      headers: new Headers(init.headers),
      body: typeof init.body === "string" ? (parseJson(init.body, "file") ?? init.body) : init.body,
    });
    return respond(answer);
  }) as unknown as typeof globalThis.fetch;
  // The check tests the code of a plugin, which does not depend on the day, so it also calls retired models.
  const models = plugin.models.map((model) => ({ ...model, whenRetired: "serve" as const }));
  const row =
    models.find(({ id }) => id === fixture.model) ??
    models.find((model) => model.capability === (capabilityForms[capability].also?.of ?? capability));
  const { registry } = buildRegistry([{ ...plugin, models }], () => ({
    keys: [sampleCredential(plugin, simulatedKey)],
  }));
  const now = monotonicNow;
  const network = openNetwork(new TimeoutScheduler(now), now, {
    bounds: { firstByteMsMax: 5000, beginMsMax: 5000, callMsMax: 10_000, idleMsMax: 5000 },
    fetch,
    openWebSocket: async ({ url, headers }) => {
      const body: unknown[] = [];
      requests.push({ url: url.href, headers: new Headers(headers), body });
      return answer.webSocket === undefined ? respond(answer) : converse(answer.webSocket, body);
    },
    publicGet: (url, signal) => fetch(url.href, { signal, redirect: "manual" }),
    guard: new SsrfGuard(async () => ["93.184.216.34"], now),
  });
  const outcome = await serveOnce({ registry, network }, { ...fixture, model: row?.id ?? "none" });
  return { ...outcome, requests };
}

/** Serves one request over the given network, without a real ledger. */
export async function serveOnce(
  parts: Pick<Kernel, "registry" | "network">,
  { capability = "chat", model, request }: Pick<Fixture, "capability" | "model" | "request">,
): Promise<Outcome> {
  const thrown: unknown[] = [];
  const settlements: Settlement[] = [];
  const now = monotonicNow;
  const kernel: Kernel = {
    ...parts,
    ledger: createLedger(settlements),
    log: listen(thrown),
    now,
    promptCaching: new PromptCaching(),
    pause: async () => undefined,
  };
  const chunks: ChatChunk[] = [];
  const sink = { open: () => undefined, write: (piece: unknown) => void chunks.push(piece as ChatChunk) };
  const caller = { accountId: "check", keyId: "check", limits: limitsOfCaller, freeTokensPerDay: 1 };
  const isStream = request.stream === true || capability === "speech";
  const openedAt = Date.now();
  const call = new ClientCall({
    id: "req_check",
    openedAt,
    startedMs: now(),
    caller,
    capability,
    protocol: "chat",
    body: toRequest(capability, { ...request, model }) as never,
    sink: isStream ? (sink as never) : undefined,
  });
  const outcome = { chunks, requests: [], thrown };
  try {
    const candidates = findCandidates(kernel, { model: model as string, capability, caller, openedAt, isStream });
    const answer: unknown = await runCall(kernel, call, candidates);
    return { ...outcome, answer, error: undefined, settlement: settlements[0] };
  } catch (cause) {
    if (!(cause instanceof GatewayError)) throw cause;
    return { ...outcome, answer: undefined, error: cause, settlement: settlements[0] };
  }
}

/** Hears what the kernel says of a plugin that throws. */
function listen(thrown: unknown[]): Log {
  const quiet = () => undefined;
  const error = (event: string, fields?: Record<string, unknown>) => {
    if (event === "plugin_failed" || event === "call_failed") thrown.push(fields?.error);
  };
  return { debug: quiet, info: quiet, warn: quiet, error };
}

/** A ledger that admits everything and keeps only the settlements. */
function createLedger(settlements: Settlement[]): Ledger {
  const max = Number.MAX_SAFE_INTEGER;
  return {
    admit: async ({ callId, holdNanodollars, holdTokens }: AdmissionRequest) => {
      const [heldNanodollars, heldTokens] = [holdNanodollars, holdTokens];
      return { callId, heldNanodollars, heldTokens, availableNanodollars: max, availableTokens: max, limits };
    },
    extend: async ({ holdNanodollars, holdTokens }) => ({ heldNanodollars: holdNanodollars, heldTokens: holdTokens }),
    countRequest: async () => limits,
    checkRequests: () => undefined,
    settle: async (settlement) => void settlements.push(settlement),
    readWalletState: async () => ({ balanceNanodollars: 0, heldNanodollars: 0 }),
    readQuotaState: async () => ({ limitTokens: 0, usedTokens: 0, heldTokens: 0, resetsAt: 0 }),
    readLimitState: async () => limits,
    readLimitsUsage: async () => ({ calls: { limit: undefined, running: 0 }, budgets: [] }),
  };
}

/** The beginning of a PNG file. */
const png = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** A transcription needs a file: a tenth of a second of silence. */
function toRequest(capability: Capability, fields: Record<string, unknown>): unknown {
  if (capability === "speech") return { input: "Hello", ...fields };
  if (capability === "images") return { prompt: "A lighthouse", response_format: "b64_json", ...fields };
  if (capability === "imageEdits") {
    return { prompt: "A lighthouse", images: [new File([png], "a.png", { type: "image/png" })], ...fields };
  }
  if (capability !== "transcription" && capability !== "translation") return fields;
  return { file: new File([new Uint8Array(3244)], "speech.wav", { type: "audio/wav" }), audioMs: 100, ...fields };
}

/** The bytes of a reply. */
export function toBytes({ json, text, base64, awsEvents }: Reply): Uint8Array<ArrayBuffer> {
  if (awsEvents !== undefined) return writeEventStream(awsEvents);
  if (base64 !== undefined) return Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
  return new TextEncoder().encode(text ?? (json === undefined ? "" : JSON.stringify(json)));
}

function respond(answer: Sent): Response {
  const { status = 200, mediaType = defaultMediaType(answer), headers = {}, pieces } = answer;
  const body = toBytes(answer);
  const parts = pieces === undefined ? [body] : pieces(body);
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });
  return new Response(stream, { status, headers: { "content-type": mediaType, ...headers } });
}

/** A WebSocket over which the provider sends these messages and closes it. What the plugin sends is kept in `sent`. */
function converse(messages: NonNullable<Reply["webSocket"]>, sent: unknown[]): WebSocketConnection {
  const frames = new ReadableStream<Uint8Array<ArrayBuffer>>({
    start(controller) {
      for (const message of messages) {
        const isText = !("base64" in message);
        const text = "json" in message ? JSON.stringify(message.json) : "text" in message ? message.text : "";
        controller.enqueue(writeMessage(isText ? text : toBytes(message), false));
      }
      controller.enqueue(writeClose(1000, false));
      controller.close();
    },
  });
  const write = (frame: Uint8Array) => {
    const message = readSent(frame);
    if (message !== undefined)
      sent.push(typeof message === "string" ? (parseJson(message, "file") ?? message) : message);
    return true;
  };
  return { protocol: "", frames, write, whenWritable: async () => undefined, end: write };
}

/** The message in a frame of a client: text, or bytes as base64. */
function readSent(frame: Uint8Array): string | { base64: string } | undefined {
  const short = (frame[1] as number) & 127;
  const maskAt = short === 127 ? 10 : short === 126 ? 4 : 2;
  const mask = frame.subarray(maskAt, maskAt + 4);
  const payload = frame.slice(maskAt + 4).map((byte, at) => byte ^ (mask[at % 4] as number));
  const opcode = (frame[0] as number) & 15;
  if (opcode === opcodes.text) return new TextDecoder().decode(payload);
  return opcode === opcodes.binary ? { base64: payload.toBase64() } : undefined;
}

function defaultMediaType({ text, base64, awsEvents }: Reply): string {
  if (awsEvents !== undefined) return "application/vnd.amazon.eventstream";
  if (base64 !== undefined) return "application/octet-stream";
  return text === undefined ? "application/json" : text.startsWith("<") ? "text/html" : "text/event-stream";
}

/** All that was said in an outcome, whole or streamed, in one form. */
export function readReply({ answer, chunks }: Outcome) {
  const completion = answer as (ChatCompletion & Partial<Transcript>) | undefined;
  const choice = completion?.choices?.[0];
  const pieces = chunks.flatMap(({ choices }) => choices ?? []);
  const calls: { name: string; arguments: string }[] = [];
  for (const { delta } of pieces) {
    for (const call of delta.tool_calls ?? []) {
      const index = call.index ?? 0;
      calls[index] ??= { name: call.function?.name ?? "", arguments: "" };
      (calls[index] as { arguments: string }).arguments += call.function?.arguments ?? "";
    }
  }
  const whole = choice?.message?.tool_calls?.map((call) => call.function);
  return {
    content: choice?.message?.content ?? completion?.text ?? pieces.map(({ delta }) => delta.content ?? "").join(""),
    toolCalls: (whole ?? calls).map((call) => ({
      name: call.name,
      arguments: parseJson(call.arguments) ?? call.arguments,
    })),
    finishReason: choice?.finish_reason ?? pieces.findLast(({ finish_reason }) => finish_reason)?.finish_reason,
  };
}
