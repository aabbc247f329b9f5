import { describe, expect, test } from "bun:test";
import { lookup } from "node:dns/promises";
import { mkdirSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import type { Role } from "../../../src/db/index.ts";
import { SsrfGuard } from "../../../src/kernel/upstream/ssrf-guard.ts";
import { startProvider } from "../../support/chat-provider.ts";
import { until } from "../../support/until.ts";
import { call, enter, manifestOf, open, provider, start, useNode } from "./fixture.ts";

async function leadsToLoopback(name: string): Promise<boolean> {
  const { address } = await lookup(name).catch(() => ({ address: "" }));
  return address === "127.0.0.1";
}

describe("what is refused", () => {
  test.each([
    ["a name of a built-in plugin", "openai", manifestOf("https://a.example/v1"), 409],
    ["a name that leaves the folder", "../acme", manifestOf("https://a.example/v1"), 400],
    ["a name of another form", "Acme", manifestOf("https://a.example/v1"), 400],
    ["no models", "acme", { baseUrl: "https://a.example/v1", dialect: "openai" }, 400],
    ["a key in clear text", "acme", manifestOf("http://a.example/v1"), 400],
    ["another scheme", "acme", manifestOf("file:///etc/passwd"), 400],
    ["a credential in the address", "acme", manifestOf("https://user:word@a.example/v1"), 400],
    ["code", "acme", { ...manifestOf("https://a.example/v1"), handlers: {} }, 400],
    ["no manifest", "acme", "text", 400],
  ])("%s", async (_, name, manifest, status) => {
    const store = await (await open("sqlite"))();
    const node = await start(store);
    const { cookie } = await enter(store);
    const { send, list } = await useNode(node, cookie);
    const before = (await list()).data.length;
    expect((await send("POST", "/providers", { name, manifest })).status).toBe(status);
    expect((await list()).data.length).toBe(before);
    expect(await store.db.selectFrom("providers").selectAll().execute()).toEqual([]);
  });

  const elsewhere = { ...manifestOf("https://a.example/v1"), hosts: ["10.0.0.1:8000"] };
  test.each([
    ["this machine", manifestOf("http://127.0.0.1:9/v1")],
    ["this machine by its name", manifestOf("http://localhost:9/v1")],
    ["this machine as a number", manifestOf("http://2130706433:9/v1")],
    ["this machine in IPv6", manifestOf("http://[::1]:9/v1")],
    ["this machine, mapped", manifestOf("http://[::ffff:127.0.0.1]:9/v1")],
    ["a private network", manifestOf("http://10.1.2.3/v1")],
    ["a private network in IPv6", manifestOf("http://[fd12::1]/v1")],
    ["a private network beside its base URL", elsewhere],
  ])("an address that only owners may add: %s", async (_, manifest) => {
    const store = await (await open("sqlite"))();
    const node = await start(store);
    const add = async (role: Role) => {
      const { cookie } = await enter(store, role);
      const { send } = await useNode(node, cookie);
      const response = await send("POST", "/providers", {
        name: "acme",
        manifest: { ...manifest, credential: "none" },
      });
      return [response.status, ((await response.json()) as { error?: { code: string } }).error?.code];
    };
    expect(await add("admin")).toEqual([403, "forbidden"]);
    expect(await store.db.selectFrom("providers").selectAll().execute()).toEqual([]);
    expect(await add("owner")).toEqual([200, undefined]);
  });

  test.each([
    "http://169.254.169.254/latest",
    "http://2852039166/latest",
    "http://0xa9fea9fe/latest",
    "http://169.254.170.2/v2",
    "http://[::ffff:169.254.169.254]/",
    "http://[::a9fe:a9fe]/",
    "http://[64:ff9b::a9fe:a9fe]/",
    "http://[fe80::1]/",
    "http://[fd00:ec2::254]/",
    "http://[fd20:ce::254]/",
    "http://100.100.100.200/",
    "http://168.63.129.16/",
  ])("an address where a cloud answers with credentials, to owners too: %s", async (baseUrl) => {
    const store = await (await open("sqlite"))();
    const node = await start(store);
    const { cookie } = await enter(store);
    const { send } = await useNode(node, cookie);
    const manifest = { ...manifestOf(baseUrl), credential: "none" };
    expect((await send("POST", "/providers", { name: "acme", manifest })).status).toBe(400);
    const { host } = new URL(baseUrl);
    const beside = { ...manifestOf("https://a.example/v1"), hosts: [host] };
    expect((await send("POST", "/providers", { name: "acme", manifest: beside })).status).toBe(400);
    expect(await store.db.selectFrom("providers").selectAll().execute()).toEqual([]);
  });

  /** A name that leads to a server of this machine, for a look-up alone: by the test's own name service, or the system's. */
  const names = [
    ["models.example.org", () => Promise.resolve(["127.0.0.1"])],
    [hostname(), undefined],
  ] as const;
  test.each(names)("a host name that leads to a private address: %s", async (name, resolve) => {
    if (resolve === undefined && !(await leadsToLoopback(name))) {
      return console.log(`Skipped: this machine's name ${name} does not lead to its loopback interface`);
    }
    const upstream = provider("");
    const { port } = new URL(upstream.baseUrl);
    const baseUrl = `http://${name}:${port}/v1`;
    const trial = async (env: Record<string, string>) => {
      const store = await (await open("sqlite"))();
      const node = await start(store, { SANDBOX: "off", OPENAI_API_KEY: "k", ...env });
      const { cookie, key } = await enter(store);
      if (resolve !== undefined) {
        Object.assign(node.app.kernel.network, { guard: new SsrfGuard(resolve, () => performance.now()) });
      }
      const { send } = await useNode(node, cookie);
      const manifest = { ...manifestOf(baseUrl), credential: "none" };
      if (env.ACME_BASE_URL === undefined) await send("POST", "/providers", { name: "acme", manifest });
      else {
        mkdirSync(join(node.home, "plugins"), { recursive: true });
        writeFileSync(join(node.home, "plugins/acme.json"), JSON.stringify(manifest));
        await until(async () => (await send("POST", "/providers/acme/test", {})).status === 200);
      }
      const tested = (await (await send("POST", "/providers/acme/test", {})).json()) as {
        ok: boolean;
        error: string | null;
      };
      const { status } = await call(node.origin, key);
      return { tested, status };
    };
    const { tested, status } = await trial({});
    expect(tested.error).toStartWith(
      `${name}:${port}: The provider's host resolves to a private address, so nothing was sent`,
    );
    expect({ status, asked: upstream.asked }).toEqual({ status: 500, asked: [] });
    // The operator may name it in the environment, for a file of their own.
    if (resolve === undefined) {
      expect(await trial({ ACME_BASE_URL: baseUrl })).toMatchObject({ tested: { ok: true }, status: 200 });
    }
  });

  test("a test says host and cause", async () => {
    const store = await (await open("sqlite"))();
    const node = await start(store);
    const { cookie } = await enter(store);
    const { send } = await useNode(node, cookie);
    const upstream = startProvider();
    await upstream.stop();
    const manifest = { ...manifestOf(upstream.baseUrl), credential: "none" };
    await send("POST", "/providers", { name: "acme", manifest });
    const { host } = new URL(upstream.baseUrl);
    expect(await (await send("POST", "/providers/acme/test", {})).json()).toMatchObject({
      ok: false,
      host,
      error: `${host}: Cannot connect to the provider: connection refused`,
    });
  });
});
