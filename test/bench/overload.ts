/**
 * What calls that are accepted pay for when three times as many come as can be served: `bun test/bench/overload.ts`.
 * Load is open (a call comes when it is due, whatever became of those before) and counted from when it was due. The talk
 * has many turns, so that a call costs the gateway many times what it costs to send it.
 */
import { connect, type Socket } from "node:net";
import { completionOf } from "../support/chunks.ts";
import { fillWallet, startGateway } from "../support/gateway.ts";
import { answerOf, startRaw } from "../support/raw-server.ts";

const seconds = Number(process.argv[2] ?? 10);
const thinkMs = 200;
const turns = 300;
const connectionsMax = 4000;

interface Call {
  dueAt: number;
  done(status: number): void;
}

/** Connections to the gateway, each used by one call at a time. */
class Line {
  readonly #port: number;
  readonly #request: Buffer;
  readonly #idle: Socket[] = [];
  readonly #calls = new Map<Socket, Call>();

  constructor(port: number, request: Buffer) {
    this.#port = port;
    this.#request = request;
  }

  /** Sends a call; one for which there is no connection is lost, with status 0. */
  send(call: Call): void {
    const socket = this.#idle.pop() ?? this.#open();
    if (socket === undefined) {
      call.done(0);
      return;
    }
    this.#calls.set(socket, call);
    socket.write(this.#request);
  }

  close(): void {
    for (const socket of [...this.#idle, ...this.#calls.keys()]) socket.destroy();
  }

  #open(): Socket | undefined {
    if (this.#calls.size >= connectionsMax) return undefined;
    const socket = connect(this.#port, "127.0.0.1");
    let text = "";
    socket.on("error", () => undefined).on("close", () => this.#end(socket, 0));
    socket.on("data", (bytes) => {
      text += bytes.toString("latin1");
      const head = /^HTTP\/1\.1 (\d+).*?\r\ncontent-length: (\d+).*?\r\n\r\n/is.exec(text);
      if (head === null || text.length < head[0].length + Number(head[2])) return;
      text = "";
      if (this.#end(socket, Number(head[1]))) this.#idle.push(socket);
    });
    return socket;
  }

  #end(socket: Socket, status: number): boolean {
    const call = this.#calls.get(socket);
    this.#calls.delete(socket);
    call?.done(status);
    return call !== undefined;
  }
}

interface Round {
  offered: number;
  /** A second. */
  answered: number;
  refused: number;
  lost: number;
  p50: number;
  p99: number;
  refusedP99: number;
}

const quantile = (sorted: number[], share: number) =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];

/** Sends this many calls a second for a while; those of the first two seconds are not counted. */
async function modelEntry(line: Line, rate: number): Promise<Round> {
  const warmMs = 2000;
  const [answered, refused]: [number[], number[]] = [[], []];
  let [lost, pending] = [0, 0];
  const startedAt = performance.now();
  const endsAt = startedAt + warmMs + seconds * 1000;
  for (let issued = 0; performance.now() < endsAt; await Bun.sleep(1)) {
    const due = Math.floor(((performance.now() - startedAt) / 1000) * rate);
    for (; issued < due; issued++) {
      const dueAt = startedAt + (issued / rate) * 1000;
      pending++;
      line.send({
        dueAt,
        done(status) {
          pending--;
          if (dueAt < startedAt + warmMs) return;
          if (status === 0) lost++;
          else (status === 200 ? answered : refused).push(performance.now() - dueAt);
        },
      });
    }
  }
  for (let waited = 0; pending > 0 && waited < 100; waited++) await Bun.sleep(50);
  for (const list of [answered, refused]) list.sort((one, other) => one - other);
  return {
    offered: Math.round(rate),
    answered: Math.round(answered.length / seconds),
    refused: Math.round(refused.length / seconds),
    lost: Math.round(lost / seconds),
    p50: Math.round(quantile(answered, 0.5) ?? 0),
    p99: Math.round(quantile(answered, 0.99) ?? 0),
    refusedP99: Math.round(quantile(refused, 0.99) ?? 0),
  };
}

/** As many calls a second as the gateway answers when so many connections ask again and again; the last 5 s count. */
async function answeredBy(line: Line, connections: number, warmMs: number): Promise<number> {
  let count = 0;
  const countFrom = performance.now() + warmMs;
  const endsAt = countFrom + 5000;
  await Promise.all(
    Array.from({ length: connections }, async () => {
      while (performance.now() < endsAt) {
        const status = await new Promise<number>((done) => line.send({ dueAt: 0, done }));
        if (status === 200 && performance.now() > countFrom) count++;
      }
    }),
  );
  return count / 5;
}

const answer = answerOf(
  JSON.stringify(completionOf("Fine", { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 })),
);
const provider = await startRaw((socket) => void setTimeout(() => socket.write(answer), thinkMs));
const lagMs = process.env.OVERLOAD_LAG_MS ?? "30";
const env = { OPENAI_API_KEY: "sk-upstream", OPENAI_BASE_URL: provider.baseUrl, LOG_LEVEL: "warn" };
const gateway = await startGateway({ env: { ...env, OVERLOAD_LAG_MS: lagMs, TOKENS_PER_MINUTE: "9007199254740991" } });
await fillWallet(gateway, "1000000.00");
const body = JSON.stringify({
  model: "famA-4.1-nano",
  max_tokens: 5,
  messages: Array.from({ length: turns }, () => ({ role: "user", content: "And what became of the fox then?" })),
});
const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${gateway.key}\r\n`;
const request = Buffer.from(`${head}content-length: ${body.length}\r\n\r\n${body}`);
const line = new Line(Number(new URL(gateway.origin).port), request);
const free = new Line(Number(new URL(gateway.origin).port), request);
try {
  // Few at first: code that is not warm yet would be overloaded by what it bears a moment later.
  await answeredBy(free, 100, 2000);
  const capacity = await answeredBy(free, 1000, 3000);
  console.log(
    `Capacity ${Math.round(capacity)} calls/s; the provider thinks for ${thinkMs} ms; OVERLOAD_LAG_MS=${lagMs}`,
  );
  console.table([
    { load: "half", ...(await modelEntry(line, capacity / 2)) },
    { load: "3 times", ...(await modelEntry(line, capacity * 3)) },
    { load: "half again", ...(await modelEntry(line, capacity / 2)) },
  ]);
  console.log(gateway.stderr());
} finally {
  line.close();
  free.close();
  await gateway.stop();
  await provider.stop();
}
