import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { cutAt, cutAtRandom } from "./random.ts";
import type { Reply } from "./reply.ts";

/** A part of a multipart request: `text` of a field, or `file` with its bytes. */
export interface SeenPart {
  name: string;
  text?: string;
  file?: File;
}

/** A request as the provider would have got it. */
export interface SeenRequest {
  /** First segment of the path: which provider was meant. */
  provider: string;
  method: string;
  /** The rest of the path, such as `/v1/chat/completions`. */
  path: string;
  headers: Record<string, string>;
  /** The parsed JSON body, or `undefined` when it was none. */
  json: unknown;
  /** The parts of a multipart body in their order. */
  parts: SeenPart[];
  /** Resolves when the connection is done with: `true` when the asker left before the answer's end. */
  left: Promise<boolean>;
}

/** A stand-in for providers on loopback. `<origin>/<name>` is the base URL of the provider of that name. */
export interface ReplayUpstream {
  /** The base URL to give to a gateway for the provider, with `suffix` (`/v1`) appended. */
  baseUrlOf(provider: string, suffix?: string): string;
  /** What the provider answers to its next requests, in order; the last one stands for all that follow. */
  answer(provider: string, ...replies: Reply[]): void;
  /** Closes the connections on which an answer hangs, unfinished as they are. */
  cut(): void;
  /** All requests so far, in the order in which their bodies were complete. */
  readonly seen: SeenRequest[];
  /** Ends the server and every connection. */
  stop(): Promise<void>;
}

/** Starts a replay upstream on a free loopback port. The seed decides where bodies are cut. */
export async function startReplayUpstream(seed = 1): Promise<ReplayUpstream> {
  const queues = new Map<string, Reply[]>();
  const seen: SeenRequest[] = [];
  const hanging = new Set<ServerResponse>();
  let count = 0;
  const server = createServer(async (request, response) => {
    const record = await readRequest(request, response);
    seen.push(record);
    count += 1;
    const queue = queues.get(record.provider);
    const reply = queue === undefined || queue.length <= 1 ? queue?.[0] : queue.shift();
    if (reply === undefined) return badRequest(response, record.provider);
    if (reply.fault?.kind.startsWith("hang")) hanging.add(response);
    await send(request, response, reply, seed + count).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    baseUrlOf: (provider, suffix = "") => `${origin}/${provider}${suffix}`,
    answer: (provider, ...replies) => void queues.set(provider, replies),
    cut() {
      for (const response of hanging) response.socket?.destroy();
      hanging.clear();
    },
    seen,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function readRequest(request: IncomingMessage, response: ServerResponse): Promise<SeenRequest> {
  const left = new Promise<boolean>((resolve) => response.once("close", () => resolve(!response.writableFinished)));
  const pieces: Uint8Array[] = [];
  for await (const piece of request) pieces.push(piece as Uint8Array);
  const body = Buffer.concat(pieces);
  const [, provider = "", rest = ""] = /^\/([^/]*)(.*)$/.exec(request.url ?? "") ?? [];
  const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
  const type = headers["content-type"] ?? "";
  return {
    provider,
    method: request.method ?? "",
    path: rest,
    headers,
    json: type.startsWith("application/json") ? parseJson(body.toString("utf8")) : undefined,
    parts: type.startsWith("multipart/form-data") ? await parseParts(body, type) : [],
    left,
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function parseParts(body: Uint8Array, type: string): Promise<SeenPart[]> {
  const form = await new Response(new Uint8Array(body), { headers: { "content-type": type } }).formData();
  return [...form.entries()].map(([name, value]) =>
    typeof value === "string" ? { name, text: value } : { name, file: value },
  );
}

async function send(request: IncomingMessage, response: ServerResponse, reply: Reply, seed: number): Promise<void> {
  const { fault } = reply;
  if (fault?.kind === "hang") return;
  if (fault?.kind === "reset") return void request.socket.resetAndDestroy();
  response.writeHead(reply.status, reply.headers);
  response.flushHeaders();
  const end = fault?.kind === "cutAfter" || fault?.kind === "hangAfter" ? fault.bytes : reply.body.length;
  const body = reply.body.subarray(0, end);
  const slices = typeof reply.slices === "number" ? cutAtRandom(body, reply.slices, seed) : cutAt(body, reply.slices);
  for (const slice of slices) {
    if (response.destroyed) return;
    if (slice.length > 0) response.write(slice);
    if (slices.length > 1) await Bun.sleep(fault?.kind === "drip" ? fault.gapMs : 1);
  }
  if (fault?.kind === "hangAfter") return;
  if (fault?.kind === "cutAfter") {
    await Bun.sleep(5);
    return void request.socket.destroy();
  }
  response.end();
}

function badRequest(response: ServerResponse, provider: string): void {
  const message = `No reply is set for ${provider}: call answer("${provider}", …) before asking`;
  response.writeHead(501, { "content-type": "application/json" });
  response.end(JSON.stringify({ error: { message, type: "test_error", param: null, code: "no_reply" } }));
}
