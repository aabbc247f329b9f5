import { describe, expect, test } from "bun:test";
import type { Route } from "../../../src/kernel/routing/registry.ts";
import { SsrfGuard } from "../../../src/kernel/upstream/ssrf-guard.ts";
import { BoundUpstream } from "../../../src/kernel/upstream/upstream.ts";
import { errorOf } from "../../support/error-of.ts";
import { fetchOf, json } from "./fake-fetch.ts";
import { attemptOf, createBench, createPlugin } from "./support.ts";

const chat = () => Promise.reject(new Error("not asked"));
const plugin = createPlugin({ chat }, { hosts: ["files.acme.example"] });
const route = createBench([plugin]).kernel.registry.byName("chat-1")?.routes[0] as Route;

function upstreamOf(fetch: ReturnType<typeof fetchOf>, addresses = ["93.184.216.34"]) {
  const { network, clock } = createBench([plugin], { fetch });
  const guard = new SsrfGuard(async () => addresses, clock.now);
  const attempt = attemptOf(route);
  return { upstream: new BoundUpstream({ ...network, guard }, attempt), attempt };
}

describe("the door to the network", () => {
  test("leads to a declared host by a whole URL, with the same key", async () => {
    const fetch = fetchOf(json({ fine: true }));
    const { upstream } = upstreamOf(fetch);
    expect(await upstream.json<unknown>("https://files.acme.example/upload?a=1", {})).toEqual({ fine: true });
    expect(fetch.asked.map(({ url, key }) => [url, key])).toEqual([["https://files.acme.example/upload?a=1", "key-a"]]);
  });

  test.each([
    [
      "https://other.example/a",
      "Cannot ask https://other.example: the plugin declares acme.example, files.acme.example",
    ],
    ["relative", "Cannot ask 'relative': expected a path that begins with '/', or a whole URL"],
  ])("leads nowhere else: %s", async (path, sentence) => {
    const fetch = fetchOf(json({}));
    expect((await errorOf(upstreamOf(fetch).upstream.json(path, {}))).message).toContain(sentence);
    expect(fetch.asked).toEqual([]);
  });

  test("asks nothing of a host that leads to a private address", async () => {
    const fetch = fetchOf(json({}));
    const { upstream } = upstreamOf(fetch, ["10.0.0.1"]);
    expect((await errorOf(upstream.json("/a", {}))).message).toContain(
      "resolves to a private address, so nothing was sent",
    );
    expect(fetch.asked).toEqual([]);
  });

  test.each(["https://attacker.example/?secret=1", "https://pictures.example/a.png#more"])(
    "downloads nothing that neither the request nor an answer names: %s",
    async (url) => {
      const { upstream, attempt } = upstreamOf(fetchOf(json({ data: [{ url: "https://pictures.example/b.png" }] })));
      attempt.run.request = {
        messages: [{ content: [{ image_url: { url: "https://pictures.example/a.png" } }] }],
      } as never;
      await upstream.json("/a", {});
      expect((await errorOf(upstream.download(url))).message).toContain(
        "neither in the request nor in the provider's answer",
      );
    },
  );

  test.each(["http://pictures.example/a.png", "http://pictures.example/b.png"])(
    "downloads what one of them names, by the rules for downloads: %s",
    async (url) => {
      const { upstream, attempt } = upstreamOf(fetchOf(json({ data: [{ url: "http://pictures.example/b.png" }] })));
      attempt.run.request = {
        messages: [{ content: [{ image_url: { url: "http://pictures.example/a.png" } }] }],
      } as never;
      await upstream.json("/a", {});
      expect((await errorOf(upstream.download(url))).message).toContain("only https is fetched");
    },
  );
});
