import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { caller } from "../kernel/support.ts";
import { builtIn, makeHome, manifest, stockOf } from "./folder.ts";

const home = makeHome();
afterEach(() => {
  home.remove("plugins");
  home.remove("catalogue");
});
afterAll(() => home.clear());

const price = { inputToken: { usd: "1", per: 1_000_000 }, outputToken: { usd: "2", per: 1_000_000 } };
const unlisted = { premium: true, price, contextTokens: 8000 };

/** A provider that lists these models; it fails while there are none. */
function providerOf(answer: { body?: unknown; status?: number } = {}) {
  const asked: { url: string; headers: unknown }[] = [];
  const fetch = (url: string, { headers }: RequestInit) => {
    asked.push({ url, headers });
    const { body = { error: "down" }, status = answer.body === undefined ? 500 : 200 } = answer;
    return Promise.resolve(Response.json(body, { status }));
  };
  return { answer, asked, fetch };
}
const idsOf = (registry: { modelEntries: Iterable<{ model: { id: string } }> }) =>
  [...registry.modelEntries].map(({ model }) => model.id);
const list = (...ids: string[]) => ({ data: ids.map((id) => ({ id, created: 5 })) });

/** Lets what has been begun come to its end: nothing here waits for a clock. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await Bun.sleep(0);
}

describe("unlisted models", () => {
  test("of a manifest are found at the provider, and sold by its terms", async () => {
    const { asked, fetch } = providerOf({ body: list("acme-1", "acme-2", "acme-embed", "acme-2", "a\u0000b") });
    home.write("plugins/acme.json", manifest({ credential: "key", unlisted }));
    const { registry, warnings } = await stockOf(home, { fetch }).pluginManager.load();
    expect({ warnings, ids: idsOf(registry) }).toEqual({ warnings: [], ids: ["acme-1", "acme-2"] });
    expect(registry.byName("acme-2")?.model).toEqual({
      id: "acme-2",
      upstreamId: "acme-2",
      capability: "chat",
      ownedBy: "acme",
      created: 5,
      ...unlisted,
    });
    expect(asked).toEqual([
      { url: "http://127.0.0.1:9/v1/models?limit=1000", headers: { authorization: "Bearer key" } },
    ]);
  });

  test("have what their server says of them, and no path of its disk in their names", async () => {
    const data = [
      { id: "/srv/models/tiny.gguf", meta: { n_ctx: 2048 }, architecture: { input_modalities: ["text"] } },
      { id: "/srv/other/tiny.gguf" },
      { id: "proxied-whisper-chat", mode: "chat" },
      { id: "paints", mode: "image_generation" },
    ];
    const { fetch } = providerOf({ body: { data } });
    home.write("plugins/acme.json", manifest({ credential: "key", unlisted: { premium: true, price } }));
    const { registry } = await stockOf(home, { fetch }).pluginManager.load();
    expect(idsOf(registry)).toEqual(["acme-1", "tiny", "tiny-2", "proxied-whisper-chat"]);
    expect(registry.byName("tiny")?.model).toMatchObject({
      upstreamId: "/srv/models/tiny.gguf",
      contextTokens: 2048,
      features: ["tools", "json_schema", "pdf"],
    });
  });

  test("are not asked for at a host that may not be asked", async () => {
    const { asked, fetch } = providerOf({ body: list("acme-1") });
    home.write("plugins/acme.json", manifest({ baseUrl: "https://rebound.example/v1", models: undefined, unlisted }));
    const places: object[] = [];
    const checkHost = (place: object) => {
      places.push(place);
      return Promise.reject(new Error("it leads to a private address"));
    };
    const { registry, warnings } = await stockOf(home, { fetch, checkHost }).pluginManager.load();
    expect({ asked, ids: idsOf(registry) }).toEqual({ asked: [], ids: [] });
    expect(places).toMatchObject([{ baseUrl: "https://rebound.example/v1", isBaseUrlGiven: false }]);
    expect(warnings.join()).toContain("it leads to a private address");
  });

  test.each([
    ["Gemini", { models: [{ name: "models/new-1" }] }],
    ["Together", [{ id: "new-1" }]],
  ])("are read from a list in the form of %s", async (_, body) => {
    home.write("plugins/acme.json", manifest({ models: undefined, unlisted }));
    const { registry } = await stockOf(home, { fetch: providerOf({ body }).fetch }).pluginManager.load();
    expect(idsOf(registry)).toEqual(["new-1"]);
  });

  test("of a built-in plugin need one line of the operator, and take no name that a model has", async () => {
    const builtIns = [
      builtIn("first", [{ id: "known", aliases: ["alias"], upstreamId: "their-name" }]),
      builtIn("second"),
    ];
    home.write("catalogue/second.json", { unlisted });
    const { fetch } = providerOf({ body: list("known", "alias", "their-name", "second-1", "second-2") });
    const { registry, warnings } = await stockOf(home, { builtIns, fetch }).pluginManager.load();
    expect({ warnings, ids: idsOf(registry) }).toEqual({ warnings: [], ids: ["known", "second-1", "second-2"] });
  });

  test("are asked for again after half a minute at a server of one's own and after an hour elsewhere; those found before stay when that fails", async () => {
    let now = 0;
    const own = providerOf({ body: list("new-1") });
    const far = providerOf({ body: list("new-2") });
    const fetch = (url: string, init: RequestInit) => (url.includes("127.0.0.1") ? own : far).fetch(url, init);
    home.write("plugins/acme.json", manifest({ unlisted }));
    const baseUrl = "https://api.example.org/v1";
    home.write("plugins/far.json", manifest({ baseUrl, credential: "key", models: undefined, unlisted }));
    const { pluginManager } = stockOf(home, { fetch, now: () => now });
    await pluginManager.load();
    const asks: string[] = [];
    for (; now < 3_600_000; now += 15_000) {
      const [ownBefore, farBefore] = [own.asked.length, far.asked.length];
      pluginManager.fingerprint();
      await settle();
      if (own.asked.length > ownBefore) asks.push(`own ${now}`);
      if (far.asked.length > farBefore) asks.push(`far ${now}`);
    }
    expect(asks.slice(0, 3)).toEqual(["own 30000", "own 60000", "own 90000"]);
    expect(asks.filter((ask) => ask.startsWith("far"))).toEqual([]);

    const before = pluginManager.fingerprint();
    await settle();
    expect([far.asked.length, pluginManager.fingerprint()]).toEqual([2, before]);
    own.answer.body = undefined;
    now += 30_000;
    while (pluginManager.fingerprint() === before) await Bun.sleep(1);
    const failed = await pluginManager.load();
    expect(idsOf(failed.registry)).toEqual(["acme-1", "new-1", "new-2"]);
    expect(failed.warnings).toEqual([
      "Cannot list the models of acme: GET /models failed (it answered 500); those found before stay, and it is called again every few seconds",
    ]);
  });

  test("are asked for every half minute at a server of one's own that has a key, by IPv6 too", async () => {
    let now = 0;
    const own = providerOf({ body: list("new-1") });
    const baseUrl = "http://[::1]:9/v1";
    home.write("plugins/acme.json", manifest({ baseUrl, credential: "key", models: undefined, unlisted }));
    const { pluginManager } = stockOf(home, { fetch: own.fetch, now: () => now });
    await pluginManager.load();
    now = 30_000;
    pluginManager.fingerprint();
    await settle();
    expect(own.asked).toHaveLength(2);
  });

  test("that a server has no longer, or has since a moment ago, are noticed", async () => {
    let now = 0;
    const provider = providerOf({ body: list("one", "two") });
    home.write("plugins/acme.json", manifest({ models: undefined, unlisted: { ...unlisted, prefix: "acme/" } }));
    const { pluginManager } = stockOf(home, { fetch: provider.fetch, now: () => now });
    await pluginManager.load();
    provider.answer.body = list("two", "three");
    // Nobody is asked again at once, for a name that is not the provider's, or while the answer is still on its way.
    expect(pluginManager.lookFor(["acme/three"])).toBeUndefined();
    now = 2000;
    expect(pluginManager.lookFor(["other/three"])).toBeUndefined();
    const looks = [pluginManager.lookFor(["acme/three"]), pluginManager.lookFor(["acme/four"])];
    expect(await Promise.all(looks)).toEqual([true, true]);
    expect(provider.asked).toHaveLength(2);
    expect(idsOf((await pluginManager.load()).registry)).toEqual(["acme/two", "acme/three"]);
    now = 4000;
    expect(await pluginManager.lookFor(["acme/four"])).toBe(false);
  });

  test("of a provider that answers something else than a list are asked for once a minute", async () => {
    let now = 0;
    const provider = providerOf({ body: { error: "no such endpoint" }, status: 404 });
    home.write("plugins/acme.json", manifest({ unlisted }));
    const { pluginManager } = stockOf(home, { fetch: provider.fetch, now: () => now });
    const { warnings } = await pluginManager.load();
    expect(warnings).toEqual([
      "Cannot list the models of acme: GET /models failed (it answered 404); it is called again every minute",
    ]);
    for (now = 0; now < 120_000; now += 5000) {
      pluginManager.fingerprint();
      await settle();
    }
    expect(provider.asked).toHaveLength(2);
  });

  test("of a provider that is away are asked for every few seconds, and the sandbox does not answer in the meantime", async () => {
    let now = 0;
    const provider = providerOf();
    home.write("plugins/acme.json", manifest({ models: undefined, unlisted: { ...unlisted, prefix: "acme/" } }));
    const { pluginManager, log } = stockOf(home, {
      fetch: provider.fetch,
      now: () => now,
      sandbox: { setting: "auto", isLoopback: true, createSandbox: (models) => builtIn("sandbox", models) },
    });
    const away = await pluginManager.load();
    expect(away).toMatchObject({ sandbox: false, isConfigured: true });
    expect(away.states).toMatchObject([{ name: "acme", status: "no_models", error: away.warnings[0] }]);
    const { code, message, retryAfterMs } = away.registry.describeUnknown("acme/new-1", caller);
    expect({ code, message, retryAfterMs }).toEqual({
      code: "unavailable",
      message:
        "The models of acme are not listed yet: GET /models failed (it answered 500); it is called again every few seconds",
      retryAfterMs: 5000,
    });
    expect(away.registry.describeUnknown("other/new-1", caller).code).toBe("model_not_found");

    const pauses: number[] = [];
    for (let last = now; pauses.length < 6; ) {
      now += 500;
      const count = provider.asked.length;
      pluginManager.fingerprint();
      await settle();
      if (provider.asked.length === count) continue;
      pauses.push(now - last);
      last = now;
    }
    expect(pauses).toEqual([1000, 2000, 4000, 5000, 5000, 5000]);

    provider.answer.body = list("new-1");
    now += 5000;
    const before = pluginManager.fingerprint();
    while (pluginManager.fingerprint() === before) await Bun.sleep(1);
    // Until what was listed is served, the name is no unknown one.
    expect(away.registry.describeUnknown("acme/new-1", caller).code).toBe("unavailable");
    const { registry, states, warnings } = await pluginManager.load();
    expect({ ids: idsOf(registry), warnings }).toEqual({ ids: ["acme/new-1"], warnings: [] });
    expect(states).toMatchObject([{ name: "acme", status: "serving" }]);
    expect(log.lines.map(({ level, event }) => `${level} ${event}`)).toEqual([
      "warn models_not_listed",
      "info plugin_loaded",
      "info models_listed",
      "info plugin_loaded",
    ]);
  });

  test("without a price are refused, with the place and the fix", async () => {
    home.write("plugins/acme.json", manifest({ unlisted: { premium: true } }));
    home.write("catalogue/second.json", { unlisted: { premium: true, prise: price } });
    const builtIns = [builtIn("second")];
    const { warnings } = await stockOf(home, { builtIns, fetch: providerOf({ body: [] }).fetch }).pluginManager.load();
    expect(warnings.toSorted()).toEqual([
      "Cannot load plugins/acme.json: unlisted has no price for inputToken, outputToken, which its models need; " +
        'add unlisted.price.inputToken as { "usd": "1.25", "per": 1000000 }',
      "Cannot use catalogue/second.json: unlisted.prise: unknown field, did you mean price?",
    ]);
  });

  test("of an answer without bounds or sense are not taken", async () => {
    home.write("plugins/acme.json", manifest({ unlisted }));
    for (const body of [{ data: "no" }, "text", { data: [null, 5, {}, { id: 7 }] }, "x".repeat(5_000_000)]) {
      const { registry } = await stockOf(home, { fetch: providerOf({ body }).fetch }).pluginManager.load();
      expect(idsOf(registry)).toEqual(["acme-1"]);
    }
  });
});

describe("a model that is about to end", () => {
  test("is logged once a day if it was called, with its successor; all of them are one line", async () => {
    let now = Date.parse("2026-11-16T23:00:00Z");
    const end = { retiredOn: "2027-01-14", successor: "new" };
    const old = { id: "code-1", upstreamId: "old", aliases: ["old"], ...end };
    const builtIns = [builtIn("first", [old, { id: "other", ...end }, { id: "new" }])];
    const usedModels = async () => new Set(["code-1", "new"]);
    const { pluginManager, log } = stockOf(home, { builtIns, usedModels, now: () => now });
    const count = (event: string) => log.lines.filter((line) => line.event === event).length;
    await pluginManager.load();
    await settle();
    const before = pluginManager.fingerprint();
    await pluginManager.load();
    await settle();
    expect([count("models_retire"), count("model_retires")]).toEqual([1, 1]);
    expect(log.lines.slice(0, 2)).toEqual([
      {
        level: "warn",
        event: "models_retire",
        fields: { models: 2, of: 3, within_days: 60, see: "modelgate catalogue check" },
      },
      {
        level: "warn",
        event: "model_retires",
        fields: { model: "old", plugin: "first", on: "2027-01-14", successor: "new" },
      },
    ]);
    now += 3_600_000;
    expect(pluginManager.fingerprint()).not.toBe(before);
    await pluginManager.load();
    await settle();
    expect([count("models_retire"), count("model_retires")]).toEqual([2, 2]);
  });
});
