import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { faultsOf } from "../../support/openai-schema.ts";
import { type Recording, recordingsMissing, recordingsOf } from "../../support/recordings.ts";
import { replyOf } from "../../support/reply.ts";
import { saidByChunks, type WireChunk } from "../../support/said.ts";
import { saidIn } from "../../support/said-in.ts";
import { parseEvents } from "../../support/sse.ts";
import { type Bench, keepCircuitClosed, startBench } from "./bench.ts";
import { expectCost } from "./expect-ledger.ts";
import { type Plan, providers, replayOf } from "./plan.ts";

interface WireError {
  error: { message: string; type: string; param: string | null; code: string | null };
}

const plans = recordingsOf(...providers)
  .map(replayOf)
  .filter((plan) => plan?.recording.path.includes("/errors/")) as Plan[];
const named = (streams: boolean) =>
  plans
    .filter((plan) => (plan.recording.status === 200) === streams)
    .map((plan): [string, Plan] => [plan.recording.path, plan]);

/** What the client gets for what the provider said (design, part 8): the provider's words, or only ours. */
function promisedFor({ status, body, path }: Recording): { status: number; theirWords: boolean; code?: string } {
  const text = new TextDecoder().decode(body);
  const { error } = JSON.parse(text) as WireError;
  const refused = { status: 500, theirWords: false, code: "upstream_error" };
  if (error.code === "context_length_exceeded" || path.includes("too-long")) {
    return { status: 400, theirWords: true, code: "context_length_exceeded" };
  }
  // What the account must be allowed or sold is the operator's affair.
  if (error.code === "model_terms_required") return refused;
  if (path.includes("request-too-large")) return { status: 400, theirWords: false, code: "request_too_large" };
  if (text.includes("API_KEY_INVALID") || String(error.code).startsWith("insufficient_quota")) return refused;
  if (status === 400 || status === 422) return { status: 400, theirWords: true };
  if (status === 404) return { status: 400, theirWords: true, code: "model_not_found" };
  if (status === 401 || status === 403) return refused;
  if (status === 413 || status === 429) return { status: 429, theirWords: false, code: "rate_limit_exceeded" };
  return { status: 500, theirWords: true, code: "upstream_error" };
}

describe.skipIf(recordingsMissing !== undefined)("recorded errors", () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await startBench();
  });
  afterAll(() => bench.stop());

  /** The errors of OpenAI are many for one model. */
  const keepClosed = async ({ provider, endpoint, body }: Plan) => {
    if (provider !== "openai" || endpoint !== "/chat/completions") return;
    await keepCircuitClosed(bench, (body as { model: string }).model);
  };

  test.each(named(false))("%s reaches the client as promised, and nothing is charged", async (_, plan) => {
    const { gateway, upstream, ledger } = bench;
    const promised = promisedFor(plan.recording);
    const recorded = JSON.parse(new TextDecoder().decode(plan.recording.body)) as WireError;
    const streamed = plan.endpoint === "/chat/completions" ? [false, true] : [false];
    await keepClosed(plan);
    for (const stream of streamed) {
      upstream.answer(plan.provider, replyOf(plan.recording));
      const response = await gateway.post(plan.endpoint, { ...plan.body, ...(stream ? { stream } : {}) });
      const { error } = (await response.json()) as WireError;
      expect({ status: response.status, faults: faultsOf("ErrorResponse", { error }) }).toEqual({
        status: promised.status,
        faults: [],
      });
      expect(error.message.includes(recorded.error.message)).toBe(promised.theirWords);
      if (promised.code !== undefined) expect(error.code).toBe(promised.code);
      if (promised.status === 429) expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0);
      if (promised.status === 400 && recorded.error.param) expect(error.param).toBe(recorded.error.param);
      expect(ledger.callOf(response)).toMatchObject({
        state: "released",
        status: promised.status,
        usage_source: "none",
      });
      expect(ledger.callOf(response).charged_nanodollars ?? 0).toBe(0);
    }
  });

  test.each(named(true))("%s ends the stream with its error, and what was said is charged", async (_, plan) => {
    const { gateway, upstream, ledger } = bench;
    await keepClosed(plan);
    upstream.answer(plan.provider, replyOf(plan.recording));
    const recorded = parseEvents<WireError>(new TextDecoder().decode(plan.recording.body)).events;
    const response = await gateway.post(plan.endpoint, plan.body);
    const { events, done } = parseEvents<WireChunk & WireError>(await response.text());
    expect({ status: response.status, done }).toEqual({ status: 200, done: false });
    const last = events.at(-1) as WireError;
    expect(faultsOf("ErrorResponse", last)).toEqual([]);
    expect(last.error.message).toContain(recorded.at(-1)?.error.message as string);
    expect(saidByChunks(events).choices[0]?.text).toBe(saidIn(plan.recording).choices[0]?.text as string);
    const call = ledger.callOf(response);
    expect(call).toMatchObject({ state: "settled", usage_source: "estimated" });
    expect(call.output_tokens).toBeGreaterThan(0);
    expectCost(call, plan.row);
  });

  test("the ledger is right after all of them", async () => {
    const verdict = await bench.gateway.run("ledger", "verify", "--json");
    expect(verdict.code).toBe(0);
    expect(bench.ledger.counts().open).toBe(0);
  });
});

if (recordingsMissing !== undefined) console.log(`Skipped: ${recordingsMissing}`);
