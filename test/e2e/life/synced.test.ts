import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { toCallKey } from "../../../src/db/index.ts";
import { completionOf, finishChunk, textChunk, usageChunk } from "../../support/chunks.ts";
import { type Gateway, startGateway } from "../../support/gateway.ts";
import { type SystemCall, traceProcess, whyNoTrace } from "../../support/trace.ts";

/** So many calls are looked at to find one beside which no job of the gateway syncs. */
const callsMax = 5;
/** The provider says this last, and the gateway to its client; nothing else in an answer is so. */
const lastWord = "farewell";
const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };

if (whyNoTrace !== undefined) console.warn(`The order of commits, requests and answers is not traced: ${whyNoTrace}`);

const receives: ReadonlySet<string> = new Set(["read", "readv", "recvfrom", "recvmsg"]);
const sends: ReadonlySet<string> = new Set(["write", "writev", "sendto", "sendmsg"]);

describe.skipIf(whyNoTrace !== undefined)("of a call alone", () => {
  const provider = startProvider();
  const gateways: Partial<Record<"full" | "normal", Gateway>> = {};
  beforeAll(async () => {
    for (const synchronous of ["full", "normal"] as const) {
      const env = { OPENAI_API_KEY: "sk", OPENAI_BASE_URL: provider.baseUrl, SQLITE_SYNCHRONOUS: synchronous };
      gateways[synchronous] = await startGateway({ env, isFunded: true });
    }
  });
  afterAll(async () => {
    for (const gateway of Object.values(gateways)) await gateway.stop();
    await provider.stop();
  });

  test.each([
    ["an answer", false],
    ["a stream", true],
  ])(
    "the hold is written before the request of %s goes to the provider, the charge is written and synced before the last byte goes to the client, and that is the only sync",
    async (_, stream) => {
      // Jobs of the gateway, such as the one that counts usage, sync the log too. A call beside which none of them did has one.
      const syncs: number[] = [];
      while (!syncs.includes(1) && syncs.length < callsMax) {
        const commits = await commitsOf(gateways.full as Gateway, stream);
        expect(commits.charge).toEqual({ written: true, synced: true });
        if (commits.syncs === 1) expect(commits.hold).toEqual({ written: true, synced: false });
        else expect(commits.hold.written).toBe(true);
        syncs.push(commits.syncs);
      }
      expect(syncs).toContain(1);
    },
  );

  test("nothing is synced with SQLITE_SYNCHRONOUS=normal, and all is written in time", async () => {
    const { hold, charge, syncs } = await commitsOf(gateways.normal as Gateway, true);
    expect(hold).toEqual({ written: true, synced: false });
    expect(charge).toEqual({ written: true, synced: false });
    expect(syncs).toBe(0);
  });
});

interface Commit {
  /** Whether the call's row went into SQLite's log in time. */
  readonly written: boolean;
  /** Whether the log was synced after that, still in time. */
  readonly synced: boolean;
}

interface Commits {
  readonly hold: Commit;
  readonly charge: Commit;
  /** How often the log was synced between the request's last byte in and the answer's last byte out. */
  readonly syncs: number;
}

/** Makes one call while the gateway is traced. */
async function commitsOf(gateway: Gateway, stream: boolean): Promise<Commits> {
  const body = { model: "famA-4.1", stream, max_tokens: 20, messages: [{ role: "user", content: "Hello" }] };
  // What a first call writes beside its own, such as the time at which its key was last used, is not looked at.
  await (await gateway.post("/chat/completions", body)).text();
  await Bun.sleep(1000);
  const trace = await traceProcess(gateway.pid);
  const response = await gateway.post("/chat/completions", body);
  const text = await response.text();
  const calls = await trace.stop();
  expect([response.status, text.includes(lastWord)]).toEqual([200, true]);
  const callId = response.headers.get("x-request-id") as string;
  const last = stream ? "[DONE]" : lastWord;
  const [asked, answered] = [first(calls, receives, "POST /"), first(calls, receives, last)];
  const [asks, answers] = [first(calls, sends, "POST /"), first(calls, sends, last)];
  expect(asked.returned).toBeLessThan(asks.begun);
  expect(answered.returned).toBeLessThan(answers.begun);
  return {
    hold: commitBetween(calls, callId, asked.returned, asks.begun),
    charge: commitBetween(calls, callId, answered.returned, answers.begun),
    syncs: ofLogBetween(calls, asked.returned, answers.begun).filter(isSync).length,
  };
}

function commitBetween(calls: readonly SystemCall[], callId: string, from: number, until: number): Commit {
  const ofLog = ofLogBetween(calls, from, until);
  const key = toCallKey(callId);
  const written = ofLog.findLast(({ name, text }) => name.startsWith("pwrite") && toBytes(text).includes(key));
  if (written === undefined) return { written: false, synced: false };
  return { written: true, synced: ofLog.some((call) => isSync(call) && call.begun > written.returned) };
}

const escapes: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r", v: "\v", f: "\f" };

/** The bytes of the data of a call: strace writes those that are no text as in C. */
function toBytes(text: string): Buffer {
  const plain = text.replaceAll(/\\([0-7]{1,3}|.)/g, (_, code: string) =>
    /^[0-7]/.test(code) ? String.fromCharCode(Number.parseInt(code, 8)) : (escapes[code] ?? code),
  );
  return Buffer.from(plain, "latin1");
}

/** The calls of SQLite's log that began after one event and had returned before another. */
function ofLogBetween(calls: readonly SystemCall[], from: number, until: number): SystemCall[] {
  const between = calls.filter(({ begun, returned }) => begun > from && returned < until);
  return between.filter(({ text }) => /^\d+<[^>]*modelgate\.db-wal>/.test(text));
}

function isSync({ name, text }: SystemCall): boolean {
  return /^f(data)?sync$/.test(name) && / = 0$/.test(text);
}

function first(calls: readonly SystemCall[], names: ReadonlySet<string>, text: string): SystemCall {
  const found = calls.find((call) => names.has(call.name) && isOfSocket(call) && call.text.includes(text));
  if (found === undefined) throw new Error(`No ${[...names].join(" or ")} of a socket with ${text} was seen`);
  return found;
}

function isOfSocket({ text }: SystemCall): boolean {
  return /^\d+<(socket|TCP)/.test(text);
}

function startProvider() {
  const event = (payload: unknown) => `data: ${JSON.stringify(payload)}\n\n`;
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      if (!(await request.text()).includes('"stream":true')) return Response.json(completionOf(lastWord, usage));
      const events = [textChunk(lastWord), finishChunk(), usageChunk(usage)].map(event);
      const pieces = [...events, "data: [DONE]\n\n"];
      const rest = new ReadableStream<string>({
        async pull(controller) {
          controller.enqueue(pieces.shift() as string);
          if (pieces.length === 0) controller.close();
          else await Bun.sleep(20);
        },
      });
      return new Response(rest, { headers: { "content-type": "text/event-stream" } });
    },
  });
  return { baseUrl: `http://127.0.0.1:${server.port}/v1`, stop: () => server.stop(true) };
}
