import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { stallProbed, stallSince } from "../../e2e/hostile/stall-probe.ts";
import { freePort } from "../../support/free-port.ts";
import { fillWallet, type Gateway, startGateway } from "../../support/gateway.ts";
import { isLong } from "../../support/long.ts";
import { slowness } from "../../support/slowness.ts";
import { type Axis, axes, largest } from "./growing-bodies.ts";

/** Four doublings, and what the CPU time may grow beyond that. */
const growth = 16;
const marginMax = 1.3;
/** Shorter times are the head of any request, and noise. */
const floorMs = (isLong ? 3 : 2) * slowness();
/** Nothing occupies the event loop for longer. */
const turnCpuMsMax = 100 * slowness();
/** A measurement above the bound is taken again: a collection of garbage may have been in it. */
const triesMax = 5;
/** Prints what was measured. */
const showsFigures = process.env.COMPLEXITY_FIGURES !== undefined;
/** Providers of the gateway. Each refuses what it is asked, once it has read all of it. */
const providers = ["OPENAI", "ANTHROPIC", "GEMINI", "GROQ", "SARVAM", "TOGETHER"];

let gateway: Gateway;
let stallPort: number;
const provider = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  maxRequestBodySize: 2 ** 30,
  async fetch(request) {
    await request.arrayBuffer();
    return Response.json({ error: { message: "No", type: "invalid_request_error" } }, { status: 400 });
  },
});

beforeAll(async () => {
  stallPort = await freePort();
  const keys = providers.flatMap((name) => [
    [`${name}_API_KEY`, "sk-upstream"],
    [`${name}_BASE_URL`, `http://127.0.0.1:${provider.port}`],
  ]);
  gateway = await startGateway({
    env: { ...Object.fromEntries(keys), ...stallProbed(stallPort), LOG_LEVEL: "error", OVERLOAD_LAG_MS: "0" },
  });
  await fillWallet(gateway, "100000.00");
});
afterAll(async () => {
  await gateway.stop();
  await provider.stop(true);
});

type Measured = Pick<Axis, "path" | "isRepeatable">;

async function measure({ path, isRepeatable }: Measured, body: string | FormData) {
  const headers: Record<string, string> = { authorization: `Bearer ${gateway.key}` };
  if (isRepeatable === true) headers["idempotency-key"] = crypto.randomUUID();
  if (typeof body === "string") headers["content-type"] = "application/json";
  await stallSince(stallPort);
  const response = await fetch(gateway.baseUrl + path, { method: "POST", headers, body });
  const said = await response.text();
  const { cpuMs, cpuMsMax } = await stallSince(stallPort);
  return { cpuMs, cpuMsMax, status: response.status, said: said.slice(0, 200) };
}

/** The least CPU time of a body, which is the nearest to what the work takes. */
async function leastOf(axis: Measured, body: string | FormData, tries: number, enough = 0) {
  let least = await measure(axis, body);
  for (let left = tries - 1; left > 0 && (least.cpuMs > enough || least.cpuMsMax > turnCpuMsMax); left--) {
    const next = await measure(axis, body);
    const cpuMsMax = Math.min(least.cpuMsMax, next.cpuMsMax);
    least = { ...(next.cpuMs < least.cpuMs ? next : least), cpuMsMax };
  }
  return least;
}

const bodyOf = ({ grow }: Pick<Axis, "grow">, model: string, size: number): string | FormData => {
  const body = grow(size);
  if (!(body instanceof FormData)) return JSON.stringify({ model, ...body });
  body.set("model", model);
  return body;
};

/** The long form sends every body to every model, the short one each to another model by turns. */
function modelsOf(models: readonly string[], index: number): readonly string[] {
  return isLong ? models : [models[index % models.length] as string];
}

const paths = [...new Set(axes.map(({ path }) => path))];

describe("the work on a request grows no faster than its body", () => {
  test.each(paths)("at %s, whatever it is that grows, and no turn of the event loop is long", async (path) => {
    const slow: unknown[] = [];
    for (const [index, axis] of axes.filter((one) => one.path === path).entries()) {
      for (const model of modelsOf(axis.models, index)) {
        const small = await leastOf(axis, bodyOf(axis, model, axis.size), 2);
        const cpuMsMost = marginMax * growth * Math.max(small.cpuMs, floorMs);
        const large = await leastOf(axis, bodyOf(axis, model, growth * axis.size), triesMax, cpuMsMost);
        const figures = { path, axis: axis.name, model, smallCpuMs: small.cpuMs, ...large };
        if (showsFigures) console.log(JSON.stringify(figures));
        if (large.cpuMs > cpuMsMost || large.cpuMsMax > turnCpuMsMax) slow.push(figures);
      }
    }
    expect(slow).toEqual([]);
  });
});

test("no turn of the event loop is long on a body at the limits of size", async () => {
  const slow: unknown[] = [];
  // The short form takes half of them.
  const tried = largest.filter((_, index) => isLong || index % 2 === 0);
  for (const [index, axis] of tried.entries()) {
    for (const model of modelsOf(axis.models, index)) {
      const body = bodyOf(axis, model, 1);
      const found = await leastOf(axis, body, triesMax, Number.POSITIVE_INFINITY);
      const figures = { axis: axis.name, model, ...found };
      if (showsFigures) console.log(JSON.stringify(figures));
      if (found.cpuMsMax > turnCpuMsMax) slow.push(figures);
    }
  }
  expect(slow).toEqual([]);
});
