import type { ServerWebSocket } from "bun";
import * as openai from "./providers/openai.ts";
import { nextStep, type ToolPlan } from "./providers/script.ts";

/** A `response.create` as a provider got it. */
export interface SeenTurn {
  /** Number of the WebSocket, from 1; 0: it came by POST. */
  socket: number;
  // biome-ignore lint/suspicious/noExplicitAny: the test that looks knows the members
  frame: any;
  /** The whole conversation that the model reads for it. */
  items: { type?: string; [member: string]: unknown }[];
}

/** What a test does in place of the script. */
export interface TurnOnSocket extends SeenTurn {
  /** Events of the script's answer. */
  events: object[];
  send(...events: object[]): void;
  /** Returns 0 where the client is behind and nothing was sent. */
  sendRaw(message: string | Uint8Array): number;
  close(code: number): void;
  /** Ends the connection without a word. */
  terminate(): void;
}

/** A provider with WebSockets of its own: it remembers the last response of each, and of no other. */
export interface SocketProvider {
  baseUrl: string;
  plan: ToolPlan | undefined;
  /** The answer to a handshake; absent: it is opened. */
  refusal: Response | undefined;
  /** Returns whether it has answered. */
  fault: ((turn: TurnOnSocket) => boolean | Promise<boolean>) | undefined;
  /** What the provider would not take. */
  readonly faults: string[];
  readonly seen: SeenTurn[];
  readonly handshakes: Record<string, string>[];
  /** Sockets that are open. */
  readonly open: number;
  /** Closes all of them, as a provider does that is deployed anew. */
  closeAll(code: number): void;
  /** Forgets what it has seen, and how it was to answer. */
  reset(): void;
  stop(): Promise<void>;
}

interface Connection {
  number: number;
  last: { id: string; items: SeenTurn["items"] } | undefined;
}

const foreignFields = ["stream", "background", "generate", "stream_id", "idempotency_key"];

export function startSocketProvider(): SocketProvider {
  const seen: SeenTurn[] = [];
  const faults: string[] = [];
  const handshakes: Record<string, string>[] = [];
  const sockets = new Set<ServerWebSocket<Connection>>();
  let [count, answers] = [0, 0];
  const toItems = (input: unknown): SeenTurn["items"] =>
    typeof input === "string" ? [{ type: "message", role: "user", content: input }] : (input as SeenTurn["items"]);
  const answerTo = ({ frame, items }: SeenTurn) => {
    answers++;
    const step = nextStep(provider.plan, openai.readResponses({ ...frame, input: items }), answers);
    const response = { ...openai.toResponse(step, frame), id: `resp_native_${answers}` };
    const events = openai
      .toResponseEvents(response)
      .split("\n")
      .flatMap((line) => (line.startsWith("data: ") ? [JSON.parse(line.slice(6)) as object] : []));
    return { response, events };
  };
  const server = Bun.serve<Connection>({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 60,
    async fetch(request, own) {
      if (request.headers.get("upgrade") === "websocket") {
        handshakes.push(Object.fromEntries(request.headers));
        if (provider.refusal !== undefined) return provider.refusal.clone();
        if (own.upgrade(request, { data: { number: ++count, last: undefined } })) return undefined as never;
      }
      if (request.method === "GET") return Response.json({ object: "list", data: [] });
      const frame = (await request.json()) as SeenTurn["frame"];
      const turn = { socket: 0, frame, items: toItems(frame.input) };
      seen.push(turn);
      const { response } = answerTo(turn);
      const headers = { "content-type": "text/event-stream" };
      return frame.stream ? new Response(openai.toResponseEvents(response), { headers }) : Response.json(response);
    },
    websocket: {
      open: (socket) => void sockets.add(socket),
      close: (socket) => void sockets.delete(socket),
      async message(socket, text) {
        const { type, ...frame } = JSON.parse(String(text));
        if (type !== "response.create") faults.push(`It sent ${type}`);
        for (const field of foreignFields) if (field in frame) faults.push(`The frame has ${field}`);
        if (frame.store !== false) faults.push("It is to be stored");
        const { previous_response_id: previous } = frame;
        const { data } = socket;
        const send = (...events: object[]) => {
          for (const event of events) socket.send(JSON.stringify(event));
        };
        if (previous !== undefined && previous !== data.last?.id) {
          faults.push(`${previous} is not of this connection`);
          const error = { code: "previous_response_not_found", type: "invalid_request_error", message: "not found" };
          send({ type: "error", status: 400, error });
          return;
        }
        const before = previous === undefined ? [] : (data.last?.items ?? []);
        const turn = { socket: data.number, frame, items: [...before, ...toItems(frame.input)] };
        seen.push(turn);
        const { response, events } = answerTo(turn);
        data.last = { id: response.id, items: [...turn.items, ...response.output] };
        const isAnswered = await provider.fault?.({
          ...turn,
          events,
          send,
          sendRaw: (message) => (socket.getBufferedAmount() > 0 ? 0 : socket.send(message)),
          close: (code) => socket.close(code),
          terminate: () => socket.terminate(),
        });
        if (isAnswered !== true) send(...events);
      },
    },
  });
  const provider: SocketProvider = {
    baseUrl: `http://127.0.0.1:${server.port}/v1`,
    plan: undefined,
    refusal: undefined,
    fault: undefined,
    faults,
    seen,
    handshakes,
    get open() {
      return sockets.size;
    },
    closeAll(code) {
      for (const socket of sockets) socket.close(code);
    },
    reset() {
      [count, answers] = [0, 0];
      for (const list of [seen, faults, handshakes]) list.length = 0;
      Object.assign(provider, { plan: undefined, refusal: undefined, fault: undefined });
    },
    stop: () => server.stop(true),
  };
  return provider;
}

/** A manifest of such a provider, with a model whose row says that it has WebSockets. */
export function manifestOf({ baseUrl }: SocketProvider, name: string, model: object = {}) {
  const price = { inputToken: { usd: "1", per: 1_000_000 }, outputToken: { usd: "10", per: 1_000_000 } };
  return {
    baseUrl,
    dialect: "openai",
    options: { responses: {} },
    models: [
      {
        id: "lab-1",
        upstreamId: `${name}-lab-1`,
        premium: true,
        contextTokens: 100_000,
        outputTokensMax: 10_000,
        price,
        options: { responsesWebSocket: true },
        ...model,
      },
    ],
  };
}
