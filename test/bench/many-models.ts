/**
 * What many models cost: `bun test/bench/many-models.ts [rounds]` asks a gateway with one model and one with 1,000 models of
 * 50 plugins, by turns, for the list of models and for an answer.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Gateway, startGateway } from "../support/gateway.ts";
import { percentile } from "./exchange.ts";

const rounds = Number(process.argv[2] ?? 5);
const callsOfRound = 200;

const provider = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  async fetch(request) {
    await request.text();
    const choices = [{ index: 0, message: { role: "assistant", content: "Hello" }, finish_reason: "stop" }];
    return Response.json({ choices, usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 } });
  },
});

const homes: string[] = [];
async function start(plugins: number, models: number): Promise<Gateway> {
  const home = mkdtempSync(join(tmpdir(), "modelgate-models-"));
  homes.push(home);
  mkdirSync(join(home, "plugins"));
  const price = { inputToken: { usd: "1", per: 1_000_000 }, outputToken: { usd: "2", per: 1_000_000 } };
  const baseUrl = `http://127.0.0.1:${provider.port}/v1`;
  for (let plugin = 0; plugin < plugins; plugin++) {
    const ids = Array.from({ length: models / plugins }, (_, index) => `model-${plugin}-${index}`);
    const rows = ids.map((id) => ({ id, premium: false, price, features: ["tools"], contextTokens: 128_000 }));
    const manifest = { baseUrl, dialect: "openai", credential: "none", models: rows };
    writeFileSync(join(home, "plugins", `p${plugin}.json`), JSON.stringify(manifest));
  }
  return await startGateway({ home });
}

/** Milliseconds of each request, one after the other. */
async function timesOf(ask: () => Promise<Response>): Promise<number[]> {
  const times: number[] = [];
  for (let call = 0; call < callsOfRound; call++) {
    const startedAt = performance.now();
    const response = await ask();
    await response.text();
    if (response.status !== 200) throw new Error(`A request was answered by ${response.status}`);
    times.push(performance.now() - startedAt);
  }
  return times;
}

const request = { model: "model-0-0", messages: [{ role: "user", content: "Hello" }] };
const list = async (gateway: Gateway) => await timesOf(() => gateway.ask("/models"));
const call = async (gateway: Gateway) => await timesOf(() => gateway.post("/chat/completions", request));
const gateways = [await start(1, 1), await start(50, 1000)];
try {
  for (const gateway of gateways) await Promise.all([list(gateway), call(gateway)]);
  for (let round = 1; round <= rounds; round++) {
    const parts: string[] = [];
    for (const [index, gateway] of gateways.entries()) {
      const [lists, calls] = [await list(gateway), await call(gateway)];
      const [listMs, worstMs, callMs] = [percentile(lists, 0.5), percentile(lists, 0.99), percentile(calls, 0.5)];
      const size = index === 0 ? "1 model" : "1,000 models";
      const figures = `/models ${listMs.toFixed(2)} ms, p99 ${worstMs.toFixed(2)}, a call ${callMs.toFixed(2)} ms`;
      parts.push(`${size}: ${figures}`);
    }
    process.stdout.write(`round ${round}: ${parts.join("; ")}\n`);
  }
} finally {
  for (const gateway of gateways) await gateway.stop();
  await provider.stop(true);
  for (const home of homes) rmSync(home, { recursive: true, force: true });
}
