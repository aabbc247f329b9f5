/**
 * What a fallback adds to a call: `bun test/bench/fallback.ts [calls] [rounds]`. A loopback provider answers each request
 * after the same time. The first model of a virtual one fails by 503 when the prompt says so; between two such calls it
 * answers twice, so that its circuit stays closed.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startGateway } from "../support/gateway.ts";
import { openCliStore } from "../support/ledger-view.ts";
import { percentile } from "./exchange.ts";

const [calls = 60, rounds = 5] = process.argv.slice(2).map(Number);
const providerMs = 50;

const provider = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  async fetch(request) {
    const body = (await request.json()) as { model: string; messages: { content: string }[] };
    await Bun.sleep(providerMs);
    if (body.model === "first" && body.messages[0]?.content === "Fail") {
      return Response.json({ error: { message: "Busy", type: "overloaded_error" } }, { status: 503 });
    }
    const choices = [{ index: 0, message: { role: "assistant", content: "Hello" }, finish_reason: "stop" }];
    return Response.json({ choices, usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 } });
  },
});

const home = mkdtempSync(join(tmpdir(), "modelgate-fallback-"));
const write = (name: string, value: object) => writeFileSync(join(home, name), JSON.stringify(value));
for (const folder of ["plugins", "catalogue"]) mkdirSync(join(home, folder));
const models = ["first", "second"].map((id) => ({ id, premium: false }));
const baseUrl = `http://127.0.0.1:${provider.port}/v1`;
write("plugins/acme.json", { baseUrl, dialect: "openai", credential: "none", models });
write("catalogue/virtual.json", { models: [{ id: "both", models: ["first", "second"] }] });
const gateway = await startGateway({ home });

async function ask(model: string, content: string): Promise<{ ms: number; response: Response }> {
  const startedAt = performance.now();
  const response = await gateway.post("/chat/completions", { model, messages: [{ role: "user", content }] });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${model} answered ${response.status}: ${text}`);
  return { ms: performance.now() - startedAt, response };
}

const ledger = openCliStore(home);
try {
  for (let call = 0; call < 40; call++) await ask("both", "Hello");
  for (let round = 1; round <= rounds; round++) {
    const [direct, fallen]: [number[], number[]] = [[], []];
    let charged = 0;
    for (let call = 0; call < calls; call++) {
      direct.push((await ask("first", "Hello")).ms, (await ask("second", "Hello")).ms);
      await ask("first", "Hello");
      const { ms, response } = await ask("both", "Fail");
      fallen.push(ms);
      const [attempts, failed] = ["attempts", "failed"].map((name) => response.headers.get(`x-modelgate-${name}`));
      const { state, quota_tokens: tokens } = ledger.callOf(response);
      if (attempts !== "2" || failed !== "first=upstream_error") throw new Error(`No fallback: ${attempts} ${failed}`);
      if (state !== "released" || tokens) charged++;
    }
    const [one, two] = [percentile(direct, 0.5), percentile(fallen, 0.5)];
    const figures = [one, two, two - one, two - one - providerMs].map((ms) => ms.toFixed(2));
    const [plain, fallback, added, own] = figures;
    process.stdout.write(
      `round ${round}: a call ${plain} ms, with a fallback ${fallback} ms, added ${added} ms, of which the provider took ${providerMs} and the gateway ${own}; charges of the model that failed: ${charged}\n`,
    );
  }
} finally {
  ledger.close();
  await gateway.stop();
  await provider.stop(true);
  rmSync(home, { recursive: true, force: true });
}
