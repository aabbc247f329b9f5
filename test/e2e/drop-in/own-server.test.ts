import { afterEach, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Gateway, startGateway } from "../../support/gateway.ts";
import { createModelServer } from "../../support/model-server.ts";
import { until } from "../../support/until.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

async function serve(env: Record<string, string>, home?: string): Promise<Gateway> {
  const gateway = await startGateway({ env, isUnready: true, ...(home !== undefined && { home }) });
  cleanups.push(() => gateway.stop());
  return gateway;
}

async function modelServer(...ids: string[]) {
  const server = await createModelServer(...ids);
  cleanups.push(() => server.stop());
  return server;
}

function makeHome(files: Record<string, string> = {}): string {
  const home = mkdtempSync(join(tmpdir(), "modelgate-own-server-"));
  cleanups.push(() => rmSync(home, { recursive: true, force: true }));
  mkdirSync(join(home, "plugins"));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(home, "plugins", name), text);
  return home;
}

const call = (gateway: Gateway, model: string) =>
  gateway.post("/chat/completions", { model, messages: [{ role: "user", content: "Hi" }] });

async function readiness({ origin }: Gateway) {
  const response = await fetch(`${origin}/readyz`);
  return { httpStatus: response.status, ...((await response.json()) as { sandbox: boolean; problems: string[] }) };
}

const unlisted = {
  prefix: "acme/",
  premium: false,
  price: { inputToken: { usd: "0", per: 1 }, outputToken: { usd: "0", per: 1 } },
};

describe("a gateway whose only provider is a server of one's own", () => {
  test.each(["the variable", "a manifest"])(
    "starts while that server is away, serves it once it is there, and does so again after a restart (by %s)",
    async (way) => {
      const server = await modelServer("Qwen/Qwen3-8B");
      const { baseUrl } = server;
      const manifest = JSON.stringify({ baseUrl, dialect: "openai", credential: "none", unlisted });
      const home = makeHome(way === "a manifest" ? { "acme.json": manifest } : {});
      const env: Record<string, string> = way === "a manifest" ? {} : { VLLM_BASE_URL: baseUrl };
      const [provider, model] = way === "a manifest" ? ["acme", "acme/Qwen/Qwen3-8B"] : ["vllm", "vllm/Qwen/Qwen3-8B"];

      const gateway = await startGateway({ env, home, isUnready: true });
      try {
        expect(gateway.stdout()).toMatch(/Warning +Cannot list the models/);
        expect(await readiness(gateway)).toMatchObject({
          httpStatus: 503,
          status: "unready",
          sandbox: false,
          problems: [expect.stringContaining(`Cannot list the models of ${provider}`)],
        });
        const early = await call(gateway, model);
        expect([early.status, Number(early.headers.get("retry-after")) > 0]).toEqual([503, true]);
        expect(await early.text()).toContain(provider);
        // Nothing is simulated in its place.
        expect((await call(gateway, "gpt-4o-mini")).status).toBe(400);
        expect(await gateway.cli<{ name: string; status: string }[]>("plugin", "list")).toContainEqual(
          expect.objectContaining({ name: provider, status: "no_models" }),
        );

        server.state.isLoading = true;
        server.start();
        await until(() => server.state.listings > 0);
        expect((await readiness(gateway)).httpStatus).toBe(503);
        server.state.isLoading = false;
        await until(async () => (await call(gateway, model)).ok);
        expect(await readiness(gateway)).toMatchObject({ httpStatus: 200, status: "ready", sandbox: false });
        await until(() => gateway.stderr().includes('"models_listed"'));
      } finally {
        await gateway.stop();
        await server.stop();
      }

      const again = await serve(env, home);
      expect(await readiness(again)).toMatchObject({ httpStatus: 503, sandbox: false });
      expect((await call(again, model)).status).toBe(503);
      server.start();
      await until(async () => (await call(again, model)).ok);
    },
  );

  test("does not simulate answers when its file can no longer be loaded", async () => {
    const gateway = await serve({}, makeHome({ "acme.json": '{ "baseUrl": "http://127.0.0.1:9/v1"' }));
    expect(await readiness(gateway)).toMatchObject({
      httpStatus: 503,
      sandbox: false,
      problems: [expect.stringContaining("Cannot load plugins/acme.json")],
    });
    expect((await call(gateway, "gpt-4o-mini")).status).toBe(400);
  });
});

test("a model of a server that is away leaves its virtual model and its list to the others", async () => {
  const [away, there] = [await modelServer("big"), await modelServer("small")];
  there.start();
  const home = makeHome();
  mkdirSync(join(home, "catalogue"));
  const models = [{ id: "either", models: ["vllm/big", "ollama/small"] }];
  writeFileSync(join(home, "catalogue/virtual.json"), JSON.stringify({ models }));
  const gateway = await serve({ VLLM_BASE_URL: away.baseUrl, OLLAMA_BASE_URL: there.baseUrl }, home);
  const served = async (body: object) => {
    const response = await gateway.post("/chat/completions", { ...body, messages: [{ role: "user", content: "Hi" }] });
    return [response.status, response.headers.get("x-modelgate-route")];
  };
  expect(await served({ model: "either" })).toEqual([200, "ollama"]);
  expect(await served({ models: ["vllm/big", "ollama/small"] })).toEqual([200, "ollama"]);
  expect(await served({ model: "vllm/big" })).toEqual([503, null]);
  expect(await readiness(gateway)).toMatchObject({
    httpStatus: 200,
    status: "degraded",
    degraded: ["The provider vllm has not listed its models"],
  });
  away.start();
  await until(async () => (await served({ model: "either" }))[1] === "vllm");
});

test("a model that a server lists since a moment ago is served at its first call", async () => {
  const server = await modelServer("llama3.2");
  server.start();
  const gateway = await serve({ OLLAMA_BASE_URL: server.baseUrl });
  expect((await call(gateway, "ollama/llama3.2")).status).toBe(200);
  server.state.models.push("qwen3");
  // Its list was read when the gateway started, and is read again for a name that nobody knows once it is older than two seconds.
  await Bun.sleep(2000);
  const calls = await Promise.all(Array.from({ length: 5 }, () => call(gateway, "ollama/qwen3")));
  expect(calls.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
  const listings = server.state.listings;
  const unknown = await call(gateway, "ollama/unknown");
  expect([unknown.status, await unknown.text()]).toEqual([400, expect.stringContaining("does not exist here")]);
  expect(server.state.listings).toBeLessThanOrEqual(listings + 1);
});
