import { describe, expect, test } from "bun:test";
import { KeyPool, PluginHealth, RouteCircuit } from "../../../../src/kernel/routing/circuits.ts";
import { type Route, routeCircuitOptions } from "../../../../src/kernel/routing/registry.ts";
import { SsrfGuard } from "../../../../src/kernel/upstream/ssrf-guard.ts";
import { chatModel, createPlugin } from "../support.ts";

const publicAddress = "93.184.216.34";

/** A guard over a name service and a clock of the test's own. */
function guardOf(addresses: Record<string, readonly string[]> = {}) {
  const asked: string[] = [];
  const clock = { nowMs: 0 };
  const resolve = async (host: string) => {
    asked.push(host);
    const found = addresses[host];
    if (found === undefined) throw new Error("ENOTFOUND");
    return found;
  };
  return { guard: new SsrfGuard(resolve, () => clock.nowMs), asked, clock, addresses };
}

function routeOf(pluginUrl: string, { hosts = [] as string[], given = undefined as string | undefined } = {}): Route {
  const plugin = createPlugin({ chat: () => Promise.reject(new Error("not asked")) }, { baseUrl: pluginUrl, hosts });
  return {
    plugin,
    model: chatModel,
    baseUrl: given ?? pluginUrl,
    isBaseUrlGiven: given !== undefined,
    keys: new KeyPool([]),
    health: new PluginHealth(),
    circuitBreaker: new RouteCircuit(routeCircuitOptions),
  };
}

/** `asked`, or why not. */
async function verdictOf(check: () => Promise<void> | undefined): Promise<string> {
  try {
    await check();
    return "asked";
  } catch (error) {
    return (error as Error).message;
  }
}

describe("a base URL", () => {
  test.each<[string, readonly string[], string]>([
    ["https://api.example.org/v1", [publicAddress], "asked"],
    ["https://api.example.org/v1", [publicAddress, "2606:2800:220:1:248:1893:25c8:1946"], "asked"],
    ["https://api.example.org/v1", ["10.0.0.1"], "resolves to a private address"],
    ["https://api.example.org/v1", [publicAddress, "127.0.0.1"], "resolves to a private address"],
    ["https://api.example.org/v1", ["169.254.169.254"], "resolves to a private address"],
    ["https://api.example.org/v1", ["::1"], "resolves to a private address"],
    ["https://api.example.org/v1", ["fd00::1"], "resolves to a private address"],
    ["https://api.example.org/v1", ["::ffff:10.0.0.1"], "resolves to a private address"],
    ["http://localhost:11434/v1", [], "asked"],
    ["http://models.localhost:11434/v1", [], "asked"],
    ["http://127.0.0.1:11434/v1", [], "asked"],
    ["http://192.168.1.7:8000/v1", [], "asked"],
    ["http://[::1]:8000/v1", [], "asked"],
    ["https://93.184.216.34/v1", [], "asked"],
  ])("%s at %p: %s", async (baseUrl, addresses, expected) => {
    const { guard } = guardOf({ "api.example.org": addresses });
    expect(await verdictOf(() => guard.check(routeOf(baseUrl)))).toContain(expected);
  });

  test("that the operator set is the operator's word, wherever it leads", async () => {
    const { guard, asked } = guardOf({ "models.lan": ["10.0.0.1"] });
    for (const pluginUrl of ["https://api.example.org/v1", "http://models.lan:8000/v1"]) {
      const route = routeOf(pluginUrl, { given: "http://models.lan:8000/v1" });
      expect(await verdictOf(() => guard.check(route))).toBe("asked");
    }
    expect(asked).toEqual([]);
  });

  test("without an address is left to the request, which says so", async () => {
    expect(await verdictOf(() => guardOf().guard.check(routeOf("https://gone.example.org")))).toBe("asked");
  });
});

describe("the name service", () => {
  const route = routeOf("https://api.example.org/v1");

  test("is asked once, then in the background, and waited for when long unasked", async () => {
    const { guard, asked, clock } = guardOf({ "api.example.org": [publicAddress] });
    await Promise.all([guard.check(route), guard.check(route)]);
    expect([asked.length, guard.check(route)]).toEqual([1, undefined]);
    clock.nowMs = 20_000;
    expect([guard.check(route), guard.check(route), asked.length]).toEqual([undefined, undefined, 2]);
    await Bun.sleep(0);
    clock.nowMs += 70_000;
    expect(guard.check(route)).toBeInstanceOf(Promise);
    expect(asked.length).toBe(3);
  });

  test("that changes to a private address is heeded, and back again", async () => {
    const { guard, addresses, clock } = guardOf({ "api.example.org": [publicAddress] });
    await guard.check(route);
    addresses["api.example.org"] = ["10.0.0.1"];
    clock.nowMs = 20_000;
    expect(guard.check(route)).toBeUndefined();
    await Bun.sleep(0);
    expect(await verdictOf(() => guard.check(route))).toContain("private address");
    addresses["api.example.org"] = [publicAddress];
    clock.nowMs += 20_000;
    expect(await verdictOf(() => guard.check(route))).toBe("asked");
  });
});

describe("a whole URL", () => {
  const route = routeOf("https://api.example.org/v1", {
    hosts: ["files.example.org", "inside.example.org", "10.0.0.9"],
  });
  const addresses = {
    "api.example.org": [publicAddress],
    "files.example.org": [publicAddress],
    "inside.example.org": ["10.0.0.1"],
  };

  test.each([
    ["https://files.example.org/a", "asked"],
    ["https://api.example.org/other", "asked"],
    ["https://inside.example.org/a", "resolves to a private address"],
    ["https://10.0.0.9/a", "resolves to a private address"],
    ["http://files.example.org/a", "Cannot ask http://files.example.org: the plugin declares"],
    [
      "https://files.example.org:8443/a",
      "Cannot ask https://files.example.org:8443: the plugin declares api.example.org, files",
    ],
    ["https://me@files.example.org/a", "Cannot ask"],
    ["https://other.example.org/a", "add it to hosts, with https"],
    ["file:///etc/hosts", "Cannot ask"],
    ["nonsense", "expected a path that begins with '/'"],
  ])("%s: %s", async (url, expected) => {
    expect(await verdictOf(() => guardOf(addresses).guard.checkUrl(route, url))).toContain(expected);
  });
});
