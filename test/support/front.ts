import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { until } from "./until.ts";

/** A balancer before several gateways. */
export interface Front {
  origin: string;
  /** Whether the front sends calls to this gateway. */
  isUp(origin: string): boolean;
  stop(): Promise<void>;
}

const healthMs = 100;

/**
 * Balances as Caddy and nginx do by default: keeps connections, asks `/readyz` now and then and leaves out who is not
 * ready, unless that would be all of them, and tries another gateway only when no connection came about. What was sent is never
 * sent again.
 */
export async function startFront(origins: readonly string[]): Promise<Front> {
  const up = new Set<string>();
  const agent = new Agent({ keepAlive: true });
  let turn = 0;
  const look = async (origin: string) => {
    const isReady = await fetch(`${origin}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isReady) up.add(origin);
    else up.delete(origin);
  };
  const server = createServer(async (incoming, outgoing) => {
    const pieces: Buffer[] = [];
    for await (const piece of incoming) pieces.push(piece as Buffer);
    turn += 1;
    const ready = origins.filter((origin) => up.has(origin));
    const known = ready.length > 0 ? ready : origins;
    const order = [...known.slice(turn % known.length), ...known.slice(0, turn % known.length)];
    for (const origin of order)
      if (await pass({ origin, agent, incoming, body: Buffer.concat(pieces), outgoing })) return;
    outgoing.writeHead(502).end("There is no gateway");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const timer = setInterval(() => origins.map(look), healthMs);
  await until(() => up.size === origins.length);
  return {
    origin: `http://127.0.0.1:${(server.address() as { port: number }).port}`,
    isUp: (origin) => up.has(origin),
    stop() {
      clearInterval(timer);
      agent.destroy();
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

interface Passing {
  origin: string;
  agent: Agent;
  incoming: IncomingMessage;
  body: Buffer;
  outgoing: ServerResponse;
}

/** Passes a request on and its answer back; `false` when nobody was there to be asked. A call that is lost gets 502. */
function pass({ origin, agent, incoming, body, outgoing }: Passing): Promise<boolean> {
  const { method = "GET", url = "/", headers } = incoming;
  return new Promise((resolve) => {
    const asking = request(new URL(url, origin), { agent, method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, { ...answer.headers, connection: "keep-alive" });
      answer.on("error", () => outgoing.destroy()).pipe(outgoing);
      resolve(true);
    });
    asking.on("error", (error) => {
      if ("code" in error && error.code === "ECONNREFUSED") return resolve(false);
      if (outgoing.headersSent) outgoing.destroy();
      else outgoing.writeHead(502).end(`The call was lost: ${error.message}`);
      resolve(true);
    });
    asking.end(body);
  });
}
