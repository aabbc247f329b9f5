import type { Capability, GatewayError } from "../../src/contract/index.ts";
import type { ExchangeAnswer, ExchangeRequest } from "../../src/kernel/call.ts";
import type { ChatChunk, ChatCompletion, ProviderPlugin } from "../../src/provider/index.ts";
import type { Reply } from "../support/reply.ts";
import { callOf, createBench, type FakeFetch, type FakeLedger, runCall } from "../unit/kernel/support.ts";

/** A request as a provider would have got it: JSON, or the fields of a form. */
export interface Sent {
  url: string;
  headers: Headers;
  json: Record<string, unknown>;
}

/** What became of one call: its answer or the error it ended with, what was sent, and what the ledger was told. */
export interface Outcome<Answer> {
  answer: Answer | undefined;
  chunks: ChatChunk[];
  error: GatewayError | undefined;
  sent: Sent[];
  notes: readonly string[];
  ledger: FakeLedger;
}

/** A provider that gives this reply to every request, whole or in these pieces. */
function networkOf(reply: Reply, sent: Sent[], pieces: Uint8Array<ArrayBuffer>[] = [reply.body]): FakeFetch {
  return async (url, init) => {
    if (url.endsWith(".png")) return new Response("a picture", { headers: { "content-type": "image/png" } });
    sent.push({ url, headers: new Headers(init.headers), json: readBody(init.body) });
    const body = new ReadableStream({
      start(controller) {
        for (const piece of pieces) if (piece.length > 0) controller.enqueue(piece);
        controller.close();
      },
    });
    return new Response(body, { status: reply.status, headers: reply.headers });
  };
}

/** One call through the kernel's own way of a call, over a provider that answers with the reply. */
export async function serveBy<C extends Capability>(
  plugin: ProviderPlugin,
  { capability, request }: { capability: C; request: ExchangeRequest<C> },
  reply: Reply,
  pieces?: Uint8Array<ArrayBuffer>[],
): Promise<Outcome<ExchangeAnswer<C>>> {
  const sent: Sent[] = [];
  const chunks: ChatChunk[] = [];
  const { kernel, ledger } = createBench([plugin], { fetch: networkOf(reply, sent, pieces) });
  const sink = {
    open: () => undefined,
    write(chunk: ChatChunk) {
      chunks.push(structuredClone(chunk));
      return undefined;
    },
  };
  const isStream = (request as { stream?: unknown }).stream === true || capability === "speech";
  const call = callOf(capability, request, isStream ? { sink } : {});
  const [answer, error] = await runCall(kernel, call).then(
    (given): [ExchangeAnswer<C>, undefined] => [given, undefined],
    (thrown): [undefined, GatewayError] => [undefined, thrown as GatewayError],
  );
  return { answer, chunks, error, sent, notes: call.warnings, ledger };
}

/** A streamed or whole chat answer through the kernel. */
export function chatBy(
  plugin: ProviderPlugin,
  request: ExchangeRequest<"chat">,
  reply: Reply,
  pieces?: Uint8Array<ArrayBuffer>[],
) {
  return serveBy(plugin, { capability: "chat", request }, reply, pieces) as Promise<Outcome<ChatCompletion>>;
}

function readBody(body: unknown): Record<string, unknown> {
  if (typeof body === "string") return JSON.parse(body) as Record<string, unknown>;
  if (body instanceof FormData) return Object.fromEntries([...body].map(([name, value]) => [name, value as unknown]));
  return {};
}
