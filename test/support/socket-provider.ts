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
  /** It follows a response that was steered. */
  isSuccessor: boolean;
  /** Resolves once input came that steers this response. */
  steered: Promise<void>;
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
  /** The code with which it refuses input that steers; absent: it is taken. */
  steeringRefusal: string | undefined;
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
  /** The response that runs, and the input that steers it. */
  active: { id: string; queue: { id: string; input: SeenTurn["items"] }[]; onSteer: () => void } | undefined;
  /** Input that waits for results of tools. */
  waiting: SeenTurn["items"];
}

const foreignFields = ["stream", "background", "generate", "stream_id", "idempotency_key"];

export function startSocketProvider(): SocketProvider {
  const seen: SeenTurn[] = [];
  const faults: string[] = [];
  const handshakes: Record<string, string>[] = [];
  const sockets = new Set<ServerWebSocket<Connection>>();
  let [count, answers, steers] = [0, 0, 0];
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
  const answer = async (
    socket: ServerWebSocket<Connection>,
    { frame, items }: Pick<SeenTurn, "frame" | "items">,
    isSuccessor: boolean,
  ): Promise<void> => {
    const { data } = socket;
    const send = (...events: object[]) => {
      for (const event of events) socket.send(JSON.stringify(event));
    };
    const turn = { socket: data.number, frame, items };
    seen.push(turn);
    const { response, events } = answerTo(turn);
    data.last = { id: response.id, items: [...items, ...response.output] };
    const steered = Promise.withResolvers<void>();
    const active = { id: response.id, queue: [], onSteer: steered.resolve };
    data.active = active;
    const isAnswered = await provider.fault?.({
      ...turn,
      events,
      isSuccessor,
      steered: steered.promise,
      send,
      sendRaw: (message) => (socket.getBufferedAmount() > 0 ? 0 : socket.send(message)),
      close: (code) => socket.close(code),
      terminate: () => socket.terminate(),
    });
    if (isAnswered !== true) send(...events);
    await end(socket, { frame, response, active });
  };
  /** What follows a response that was steered. */
  const end = async (
    socket: ServerWebSocket<Connection>,
    {
      frame,
      response,
      active,
    }: {
      frame: SeenTurn["frame"];
      response: ReturnType<typeof answerTo>["response"];
      active: NonNullable<Connection["active"]>;
    },
  ): Promise<void> => {
    const { data } = socket;
    if (data.active === active) data.active = undefined;
    if (active.queue.length === 0 || socket.readyState !== WebSocket.OPEN) return;
    const input = active.queue.flatMap((one) => one.input);
    const calls = response.output.filter((item) => item.type === "function_call");
    if (calls.length === 0) {
      const next = { ...frame, previous_response_id: response.id, input };
      await answer(socket, { frame: next, items: [...(data.last?.items ?? []), ...input] }, true);
      return;
    }
    data.waiting.push(...input);
    const required = calls.map(({ call_id, name }) => ({ type: "function_call_output", call_id, name }));
    for (const { id } of active.queue) {
      const steer = { id, previous_response_id: response.id };
      const reason = "waiting_for_required_input";
      socket.send(
        JSON.stringify({
          type: "response.steer.pending",
          sequence_number: 99,
          reason,
          required_input: required,
          steer,
        }),
      );
    }
  };
  const steer = (
    socket: ServerWebSocket<Connection>,
    { previous_response_id: id, input, ...more }: SeenTurn["frame"],
  ) => {
    for (const field of Object.keys(more)) faults.push(`The steering has ${field}`);
    const { active } = socket.data;
    if (provider.steeringRefusal !== undefined || active?.id !== id) {
      const code = provider.steeringRefusal ?? "response_not_active";
      const error = { type: "invalid_request_error", code, message: "no" };
      const failed = { type: "response.steer.failed", sequence_number: 9, error };
      socket.send(JSON.stringify({ ...failed, steer: { previous_response_id: id, input } }));
      active?.onSteer();
      return;
    }
    const steerId = `steer_${++steers}`;
    active?.queue.push({ id: steerId, input: toItems(input) });
    const accepted = { type: "response.steer.accepted", sequence_number: 9 };
    socket.send(JSON.stringify({ ...accepted, steer: { id: steerId, previous_response_id: id } }));
    active?.onSteer();
  };
  const server = Bun.serve<Connection>({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 60,
    async fetch(request, own) {
      if (request.headers.get("upgrade") === "websocket") {
        handshakes.push(Object.fromEntries(request.headers));
        if (provider.refusal !== undefined) return provider.refusal.clone();
        if (own.upgrade(request, { data: { number: ++count, last: undefined, active: undefined, waiting: [] } }))
          return undefined as never;
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
        if (type === "response.steer") {
          steer(socket, frame);
          return;
        }
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
        // Input that waits is read before that of the turn.
        const waiting = previous === undefined ? [] : data.waiting.splice(0);
        await answer(socket, { frame, items: [...before, ...waiting, ...toItems(frame.input)] }, false);
      },
    },
  });
  const provider: SocketProvider = {
    baseUrl: `http://127.0.0.1:${server.port}/v1`,
    plan: undefined,
    refusal: undefined,
    fault: undefined,
    steeringRefusal: undefined,
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
      [count, answers, steers] = [0, 0, 0];
      for (const list of [seen, faults, handshakes]) list.length = 0;
      Object.assign(provider, { plan: undefined, refusal: undefined, fault: undefined, steeringRefusal: undefined });
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
