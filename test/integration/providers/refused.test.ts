import { describe, expect, test } from "bun:test";
import { startProvider } from "../../support/chat-provider.ts";
import { enter, manifestOf, open, start, useNode } from "./ground.ts";

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
    expect((await send("POST", "", { name, manifest })).status).toBe(status);
    expect((await list()).data.length).toBe(before);
    expect(await store.db.selectFrom("providers").selectAll().execute()).toEqual([]);
  });

  test("a host name that leads to a private address, as for a file", async () => {
    const store = await (await open("sqlite"))();
    const node = await start(store);
    const { cookie } = await enter(store);
    const { send } = await useNode(node, cookie);
    // The name of this machine's loopback interface, which only a lookup tells.
    const manifest = { ...manifestOf("https://localtest.invalid:9/v1"), credential: "none" };
    expect((await send("POST", "", { name: "acme", manifest })).status).toBe(200);
    const answer = (await (await send("POST", "/acme/test", {})).json()) as { ok: boolean; error: string };
    expect(answer.ok).toBe(false);
    expect(answer.error).toStartWith("localtest.invalid:9: ");
  });

  test("a test says host and cause", async () => {
    const store = await (await open("sqlite"))();
    const node = await start(store);
    const { cookie } = await enter(store);
    const { send } = await useNode(node, cookie);
    const upstream = startProvider();
    await upstream.stop();
    const manifest = { ...manifestOf(upstream.baseUrl), credential: "none" };
    await send("POST", "", { name: "acme", manifest });
    const { host } = new URL(upstream.baseUrl);
    expect(await (await send("POST", "/acme/test", {})).json()).toMatchObject({
      ...{ ok: false, host },
      error: `${host}: Cannot connect to the provider: connection refused (bad response)`,
    });
  });
});
