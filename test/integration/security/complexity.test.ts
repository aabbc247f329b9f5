import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { builtIns } from "../../../plugins/index.ts";
import { getNames, type Model } from "../../../src/provider/index.ts";
import { stallProbed, stallSince } from "../../e2e/hostile/stall-probe.ts";
import { freePort } from "../../support/free-port.ts";
import { fillWallet, type Gateway, startGateway } from "../../support/gateway.ts";
import { isLong } from "../../support/long.ts";
import { slowness } from "../../support/slowness.ts";
import { growingAnswers } from "./growing-answers.ts";
import { type Axis, axes, largest } from "./growing-bodies.ts";
import { answerPlaces, hiddenCharsMax, hiddenTexts, requestPlaces } from "./hidden-json.ts";

/** Four doublings, and what the CPU time may grow beyond that. */
const growth = 16;
const marginMax = 1.3;
/** Shorter times are the head of any request, and noise. */
const floorMs = (isLong ? 3 : 2) * slowness();
/** Nothing occupies the event loop for longer. */
const turnCpuMsMax = 100 * slowness();
/** Whether a turn took long, also on a machine that other processes have slowed since. */
const isTurnLong = (cpuMs: number) => cpuMs > turnCpuMsMax && cpuMs > 100 * slowness();
/** A measurement above the bound is taken again: a collection of garbage may have been in it. */
const triesMax = 5;
/** Prints what was measured. */
const showsFigures = process.env.COMPLEXITY_FIGURES !== undefined;
/** Providers of the gateway. */
const providers = ["OPENAI", "ANTHROPIC", "GEMINI", "GROQ", "MISTRAL", "SARVAM", "TOGETHER"];

let gateway: Gateway;
let stallPort: number;
/** The answer of all providers; by default each refuses what it is asked, once it has read all of it. */
const refusal = {
  status: 400,
  mediaType: "application/json",
  body: '{"error":{"message":"No","type":"invalid_request_error"}}',
};
let reply = refusal;
const provider = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  maxRequestBodySize: 2 ** 30,
  async fetch(request) {
    await request.arrayBuffer();
    return new Response(reply.body, { status: reply.status, headers: { "content-type": reply.mediaType } });
  },
});

beforeAll(async () => {
  stallPort = await freePort();
  const keys = providers.flatMap((name) => [
    [`${name}_API_KEY`, "sk-upstream"],
    [`${name}_BASE_URL`, `http://127.0.0.1:${provider.port}`],
  ]);
  gateway = await startGateway({
    isEngineOwn: true,
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

// The first test, as these are the gateway's first requests of their kind.
test("no turn of the event loop is long for what is made when it is first asked for", async () => {
  const slow: unknown[] = [];
  for (const path of ["/openapi.json", "/api/auth/get-session", "/docs"]) {
    await stallSince(stallPort);
    const { status } = await fetch(new URL(path, gateway.baseUrl));
    const { cpuMsMax } = await stallSince(stallPort);
    if (showsFigures) console.log(JSON.stringify({ path, cpuMsMax }));
    if (status !== 200 || isTurnLong(cpuMsMax)) slow.push({ path, status, cpuMsMax });
  }
  expect(slow).toEqual([]);
});

const paths = [...new Set(axes.map(({ path }) => path))];

describe("the work on a request grows no faster than its body", () => {
  test.each(paths)("at %s, whatever it is that grows, and no turn of the event loop is long", async (path) => {
    const slow: unknown[] = [];
    for (const [index, axis] of axes.filter((one) => one.path === path).entries()) {
      for (const model of modelsOf(axis.models, index)) {
        const small = await leastOf(axis, bodyOf(axis, model, axis.size), 2, floorMs);
        const cpuMsMost = marginMax * growth * Math.max(small.cpuMs, floorMs);
        const large = await leastOf(axis, bodyOf(axis, model, growth * axis.size), triesMax, cpuMsMost);
        const figures = { path, axis: axis.name, model, smallCpuMs: small.cpuMs, ...large };
        if (showsFigures) console.log(JSON.stringify(figures));
        if (large.cpuMs > cpuMsMost || isTurnLong(large.cpuMsMax)) slow.push(figures);
      }
    }
    expect(slow).toEqual([]);
  });
});

test("no turn of the event loop is long on a body at the limits of size", async () => {
  const slow: unknown[] = [];
  // The short form takes a quarter of them.
  const tried = largest.filter((_, index) => isLong || index % 4 === 0);
  for (const [index, axis] of tried.entries()) {
    for (const model of modelsOf(axis.models, index)) {
      const body = bodyOf(axis, model, 1);
      const found = await leastOf(axis, body, triesMax, Number.POSITIVE_INFINITY);
      const figures = { axis: axis.name, model, ...found };
      if (showsFigures) console.log(JSON.stringify(figures));
      if (isTurnLong(found.cpuMsMax)) slow.push(figures);
    }
  }
  expect(slow).toEqual([]);
});

/** Every text in every place; the short form takes one in each place, another one in the next. */
function* placed<Place>(
  places: readonly Place[],
): Generator<[place: Place, text: (typeof hiddenTexts)[number], at: number]> {
  for (const [at, place] of places.entries()) {
    for (const [index, text] of hiddenTexts.entries())
      if (isLong || (at + index) % hiddenTexts.length === 0) yield [place, text, at + index];
  }
}

describe("the work on an answer grows no faster than the answer", () => {
  const smallSize = 500;

  test("whatever it is that grows, and no turn of the event loop is long", async () => {
    const slow: unknown[] = [];
    try {
      // The short form takes a tenth of them.
      const tried = growingAnswers.filter((_, index) => isLong || index % 10 === 0);
      for (const { name, path, request, mediaType = "application/json", ...answer } of tried) {
        const model = takeModel(answer.model);
        const ask = (size: number, tries: number, enough?: number) => {
          reply = { status: 200, mediaType, body: answer.body(size) };
          const form = typeof request === "function" ? request() : undefined;
          form?.set("model", model);
          return leastOf({ path }, form ?? JSON.stringify({ model, ...request }), tries, enough);
        };
        const small = await ask(smallSize, 2, floorMs);
        const cpuMsMost = marginMax * growth * Math.max(small.cpuMs, floorMs);
        const large = await ask(growth * smallSize, triesMax, cpuMsMost);
        const figures = { path, name, model, smallCpuMs: small.cpuMs, ...large };
        if (showsFigures) console.log(JSON.stringify(figures));
        if (large.cpuMs > cpuMsMost || isTurnLong(large.cpuMsMax) || isOwnFailure(large.said)) slow.push(figures);
      }
    } finally {
      reply = refusal;
    }
    expect(slow).toEqual([]);
  });
});

const takenModels = new Map<string, number>();

/** A model like the given one, another after every three answers: more failures would open the circuit of its route. */
function takeModel(name: string): string {
  const rows = builtIns.flatMap(({ models }) => models.map((model) => ({ model, names: getNames(model) })));
  const own = rows.find(({ names }) => names.includes(name))?.model;
  const plugin = builtIns.find(({ models }) => models.some((model) => model === own));
  const like = ({ capability, endpoint, options }: Model) => JSON.stringify([capability, endpoint, options]);
  const others =
    plugin?.models.filter((model) => model !== own && own !== undefined && like(model) === like(own)) ?? [];
  const taken = takenModels.get(name) ?? 0;
  takenModels.set(name, taken + 1);
  return [name, ...others.map(({ id }) => id)][Math.floor(taken / 3)] ?? name;
}

/** An answer of a provider is one of the gateway's errors or a true answer, and never a failure of the gateway itself. */
const isOwnFailure = (said: string) => said.includes("internal_error");

describe("JSON that stands in a text is parsed in no long turn of the event loop, and ends nothing", () => {
  /** Values of one such text, unbounded, take 1400 MB. */
  const grownMbMax = 800;
  const mbOf = (figure: "VmHWM" | "VmRSS") => {
    const status = readFileSync(`/proc/${gateway.pid}/status`, "utf8");
    return Number(new RegExp(`${figure}:\\s+(\\d+)`).exec(status)?.[1]) / 1024;
  };
  const peakMb = () => mbOf("VmHWM");
  let mbBefore: number;

  // Forgets the peak of the tests before. What they made stays in memory for a while.
  beforeAll(() => {
    writeFileSync(`/proc/${gateway.pid}/clear_refs`, "5");
    mbBefore = mbOf("VmRSS");
  });

  test("of a request, wherever it is hidden", async () => {
    const wrong: unknown[] = [];
    for (const [place, text, at] of placed(requestPlaces)) {
      for (const model of modelsOf(place.models, at)) {
        const body = JSON.stringify({ model, ...place.body(text.make(hiddenCharsMax)) });
        const found = await leastOf(place, body, triesMax, Number.POSITIVE_INFINITY);
        const figures = { path: place.path, place: place.name, text: text.name, model, ...found, peak: peakMb() };
        if (showsFigures) console.log(JSON.stringify(figures));
        if (isTurnLong(found.cpuMsMax) || found.status !== 400 || isOwnFailure(found.said)) wrong.push(figures);
      }
    }
    expect(wrong).toEqual([]);
  });

  test("of a provider's answer, wherever it is hidden", async () => {
    const wrong: unknown[] = [];
    try {
      for (const [place, text] of placed(answerPlaces)) {
        const { path, request, status = 200, mediaType = "application/json" } = place;
        const model = takeModel(place.model);
        const chars = status === 200 ? (mediaType === "application/json" ? hiddenCharsMax : 900_000) : 60_000;
        reply = { status, mediaType, body: place.body(text.make(chars)) };
        const form = typeof request === "function" ? request() : undefined;
        form?.set("model", model);
        const found = await leastOf(
          { path },
          form ?? JSON.stringify({ model, ...request }),
          triesMax,
          Number.POSITIVE_INFINITY,
        );
        const figures = { path, place: place.name, text: text.name, model, ...found, peak: peakMb() };
        if (showsFigures) console.log(JSON.stringify(figures));
        const isUnread = found.said.includes("is paused");
        if (isTurnLong(found.cpuMsMax) || isOwnFailure(found.said) || isUnread) wrong.push(figures);
      }
    } finally {
      reply = refusal;
    }
    expect(wrong).toEqual([]);
  });

  test("and makes the process no larger than the bodies that it has room for", () => {
    expect(peakMb() - mbBefore).toBeLessThan(grownMbMax);
  });
});
