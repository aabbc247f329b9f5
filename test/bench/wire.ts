/** Prints what asking a provider costs, by fetch and by the wire client: CPU µs of all threads. `bun test/bench/wire.ts [connections]` */
import { buildRegistry, Deadlines, openNetwork, Progress } from "../../src/kernel/index.ts";
import type { Route } from "../../src/kernel/registry.ts";
import { BoundUpstream, type UpstreamClient } from "../../src/kernel/upstream.ts";
import { dialByBun } from "../../src/kernel/wire/bun-line.bun.ts";
import { definePlugin } from "../../src/kit/index.ts";
import { chunkCount, type JobKind, requestBody } from "./job.ts";
import { Processes } from "./processes.ts";
import { startUpstream } from "./subjects.ts";

const connections = Number(process.argv[2] ?? 32);
const rounds = 3;
const callsOf: Record<Exclude<JobKind, "paced">, number> = { json: 20_000, burst: 600 };

function routeTo(baseUrl: string): Route {
  const price = { inputToken: { usd: "1", per: 1_000_000 }, outputToken: { usd: "1", per: 1_000_000 } };
  const chat = () => Promise.reject(new Error("Not asked here"));
  const model = { id: "m", upstreamId: "m", capability: "chat" as const, premium: false, ownedBy: "acme", created: 0 };
  const models = [{ ...model, contextTokens: 8000, price }];
  const plugin = definePlugin({ name: "acme", baseUrl, models, handlers: { chat } });
  const { registry } = buildRegistry([plugin], () => ({ keys: ["sk-upstream"], baseUrl }));
  return registry.byName("m")?.routes[0] as Route;
}

async function call(upstream: BoundUpstream, kind: keyof typeof callsOf, body: unknown): Promise<void> {
  if (kind === "json") return void (await upstream.json("/chat/completions", body));
  let events = 0;
  for await (const _ of await upstream.events("/chat/completions", body)) events++;
  if (events !== chunkCount + 1) throw new Error(`A stream of ${events} events, not of ${chunkCount + 1}`);
}

/** CPU µs a call. */
async function measure(client: UpstreamClient, kind: keyof typeof callsOf, route: Route): Promise<number> {
  const network = openNetwork(new Deadlines(), Date.now, {}, { client, dial: dialByBun });
  const body = JSON.parse(requestBody(kind));
  const run = async (calls: number) => {
    let left = calls;
    const lane = async () => {
      while (left-- > 0)
        await call(new BoundUpstream(network, route, "sk-upstream", new Progress("req", 0)), kind, body);
    };
    await Promise.all(Array.from({ length: connections }, lane));
  };
  await run(callsOf[kind] / 4);
  const before = process.cpuUsage();
  await run(callsOf[kind]);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / callsOf[kind];
}

const processes = new Processes();
try {
  const upstream = await startUpstream(processes);
  const route = routeTo(`${upstream.origin}/v1`);
  for (const kind of ["json", "burst"] as const) {
    const seen: Record<UpstreamClient, number[]> = { fetch: [], wire: [] };
    for (let round = 0; round < rounds; round++) {
      for (const client of ["fetch", "wire"] as const) seen[client].push(await measure(client, kind, route));
    }
    const median = (figures: number[]) => figures.sort((a, b) => a - b)[rounds >> 1] as number;
    const [fetched, wired] = [median(seen.fetch), median(seen.wire)];
    const job = kind === "json" ? "a whole answer" : `a stream of ${chunkCount} chunks`;
    console.log(
      `${job}, ${connections} connections: fetch ${fetched.toFixed(1)} µs, wire ${wired.toFixed(1)} µs a call`,
    );
  }
} finally {
  await processes.endAll();
}
process.exit(0);
