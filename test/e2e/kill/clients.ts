import { questionOf, usageOf } from "./metered-provider.ts";

/** Who asks, on and on, until it is told to stop. */
export interface Clients {
  /** Numbers of the calls whose answer a client has to its last byte, with the id that the answer bore. */
  readonly delivered: ReadonlyMap<number, string>;
  /** How many answers had each status; 0 stands for none at all, or one that broke off. */
  readonly statuses: ReadonlyMap<number, number>;
  /** Of the slowest answer of 2xx or 5xx. */
  slowestMs: number;
  stop(): Promise<void>;
}

/** Of the calls, one in two is a stream and one in three draws on the free quota. */
const models = ["famA-4.1", "famA-4.1", "famA-4.1-nano"];
const pauseMs = 10;
const answerMsMax = 60_000;

let numbers = 0;

/** Starts so many, each with one call at a time. `originOf` says whom to ask: a gateway may get another place. */
export function startClients(count: number, key: string, originOf: (number: number) => string): Clients {
  const delivered = new Map<number, string>();
  const statuses = new Map<number, number>();
  let isOver = false;
  const clients: Clients = {
    delivered,
    statuses,
    slowestMs: 0,
    async stop() {
      isOver = true;
      await Promise.all(running);
    },
  };
  const call = async (): Promise<number> => {
    const number = ++numbers;
    const begun = performance.now();
    const response = await ask(originOf(number), key, number);
    const text = await response.text();
    clients.slowestMs = Math.max(clients.slowestMs, performance.now() - begun);
    if (response.status !== 200) return response.status;
    if (!isWhole(text, number)) return 0;
    delivered.set(number, response.headers.get("x-request-id") as string);
    return 200;
  };
  const running = Array.from({ length: count }, async () => {
    while (!isOver) {
      const status = await call().catch(() => 0);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (status !== 200) await Bun.sleep(pauseMs);
    }
  });
  return clients;
}

function ask(origin: string, key: string, number: number): Promise<Response> {
  const stream = number % 2 === 0 && { stream: true, stream_options: { include_usage: true } };
  const model = models[number % models.length];
  return fetch(`${origin}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({
      model,
      max_tokens: 20,
      messages: [{ role: "user", content: questionOf(number) }],
      ...stream,
    }),
    // A connection of its own: one that is reused may be asked again by the client when it is closed, unseen by us.
    keepalive: false,
    signal: AbortSignal.timeout(answerMsMax),
  });
}

/** The last byte of an answer is that of `[DONE]`, or of a body that is JSON; both carry what the provider said. */
function isWhole(text: string, number: number): boolean {
  const isStream = number % 2 === 0;
  if (isStream && !text.endsWith("data: [DONE]\n\n")) return false;
  if (isStream && text.includes('"error"')) return false;
  const json = isStream ? text.split("\n\n").at(-3)?.slice(6) : text;
  const { usage } = parsed(json) as { usage?: { prompt_tokens?: number } };
  return usage?.prompt_tokens === usageOf(number).prompt_tokens;
}

function parsed(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? "{}");
  } catch {
    return {};
  }
}
