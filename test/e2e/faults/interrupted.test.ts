import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { catalogueRow } from "../../support/catalogue.ts";
import { completionOf, finishChunk, textChunk, usageChunk } from "../../support/chunks.ts";
import type { CallRow } from "../../support/ledger-view.ts";
import { eventsReply, jsonReply, type Reply, textReply } from "../../support/reply.ts";
import { type Bench, keepCircuitClosed, startBench } from "../replay/bench.ts";
import { expectCost } from "../replay/expect-ledger.ts";
import { interruptedRows } from "./interrupted-rows.ts";

/** One that is paid from the wallet and one that draws on the quota: both end alike. */
const models = ["famA-4.1", "famA-4o-mini"];
const messages = [{ role: "user", content: "Tell me about kites" }];
const words = "Kites fly well in a steady wind of four to six metres a second";
const usage = { prompt_tokens: 50, completion_tokens: 70, total_tokens: 120 };
const less = { prompt_tokens: 40, completion_tokens: 30, total_tokens: 70 };
const zero = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
const negative = { prompt_tokens: -5, completion_tokens: -1, total_tokens: -6 };

let bench: Bench;
beforeAll(async () => {
  bench = await startBench();
});
afterAll(() => bench.stop());

/** How one thing goes: what the provider does, when the client leaves, and whether the provider's line is cut then. */
interface Happening {
  replies: Reply[];
  leaves?: "asked" | "answered" | "read";
  cut?: true;
}

const hang: Reply = { ...textReply(""), fault: { kind: "hang" } };
const reset: Reply = { ...textReply(""), fault: { kind: "reset" } };
const firstEventBytes = new TextEncoder().encode(`data: ${JSON.stringify(textChunk(words))}\n\n`).length;
const afterFirst = (reply: Reply, bytes: number): Reply => ({ ...reply, fault: { kind: "hangAfter", bytes } });
const streamOf = (...reports: unknown[]) =>
  eventsReply(textChunk(words), finishChunk(), ...reports.map(usageChunk), "[DONE]");
const wholeOf = (report?: unknown) => jsonReply(completionOf(words, report));
const silent = eventsReply(finishChunk(), usageChunk(zero), "[DONE]");
/** Its end comes when the client is long gone. */
const slowWhole: Reply = { ...wholeOf(usage), slices: 8, fault: { kind: "drip", gapMs: 20 } };
const begun = afterFirst(eventsReply(textChunk(words), textChunk(" more")), firstEventBytes);
const cutInside = afterFirst(wholeOf(usage), 40);

/** All but one token of the output is in the total alone. */
const hidden = { ...usage, completion_tokens: 1 };

/** A row of docs/billing.md, streamed and whole; `case` tells the ways apart in which one row can happen. */
interface Way {
  case?: string;
  streamed: Happening;
  whole?: Happening;
}

/** The ways in which each row of docs/billing.md can happen, by its first column. */
const happenings: Record<string, Way | Way[]> = {
  "the client disconnects before the first byte": {
    streamed: { replies: [hang], leaves: "asked" },
    whole: { replies: [slowWhole], leaves: "asked" },
  },
  "the client disconnects at or after the first byte": [
    {
      case: "at it",
      streamed: { replies: [begun], leaves: "answered" },
      whole: { replies: [wholeOf(usage)], leaves: "answered" },
    },
    {
      case: "after it",
      streamed: { replies: [begun], leaves: "read" },
      whole: { replies: [wholeOf(usage)], leaves: "read" },
    },
  ],
  "the provider fails before the first byte": { streamed: { replies: [reset] }, whole: { replies: [reset] } },
  "the provider fails after the first byte": {
    streamed: { replies: [begun], cut: true },
    whole: { replies: [{ ...wholeOf(usage), fault: { kind: "cutAfter", bytes: 40 } }] },
  },
  "both at once, before the first byte": {
    streamed: { replies: [hang, reset], leaves: "asked", cut: true },
    whole: { replies: [hang, reset], leaves: "asked", cut: true },
  },
  "both at once, after the first byte": {
    streamed: { replies: [begun], leaves: "read", cut: true },
    whole: { replies: [cutInside, reset], leaves: "asked", cut: true },
  },
  "no report, a negative one, or zero although there was output": [
    { case: "no report", streamed: { replies: [streamOf()] }, whole: { replies: [wholeOf()] } },
    { case: "negative", streamed: { replies: [streamOf(negative)] }, whole: { replies: [wholeOf(negative)] } },
    { case: "zero", streamed: { replies: [streamOf(zero)] }, whole: { replies: [wholeOf(zero)] } },
  ],
  "a report of zero, and no output": {
    streamed: { replies: [silent] },
    whole: { replies: [jsonReply(completionOf("", zero))] },
  },
  "a total above the prompt and output": {
    streamed: { replies: [streamOf(hidden)] },
    whole: { replies: [wholeOf(hidden)] },
  },
  "several reports: the same twice, less or negative the last time": [
    { case: "the same twice", streamed: { replies: [streamOf(less, less)] } },
    { case: "less the last time", streamed: { replies: [streamOf(usage, less)] } },
    { case: "negative the last time", streamed: { replies: [streamOf(less, negative)] } },
  ],
  "a report behind the mark of the end": {
    streamed: { replies: [eventsReply(textChunk(words), finishChunk(), "[DONE]", usageChunk(usage))] },
  },
};

/** The ways in which a row of the page can happen. */
const waysOf = (what: string): Way[] => [happenings[what] ?? []].flat();

/** Makes it happen and returns the call as the ledger has it once it has ended. */
async function happen({ replies, leaves, cut }: Happening, body: Record<string, unknown>): Promise<CallRow> {
  const { gateway, upstream, ledger } = bench;
  await keepCircuitClosed(bench, body.model as string);
  upstream.answer("openai", ...replies);
  const asked = upstream.seen.length;
  const controller = new AbortController();
  const asking = gateway.ask("/chat/completions", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ messages, ...body }),
    signal: controller.signal,
  });
  asking.catch(() => undefined);
  await until(() => upstream.seen.length > asked);
  const response = leaves === "asked" ? undefined : await asking;
  if (leaves === "read") await response?.body?.getReader().read();
  if (leaves === undefined) await readAll(response, () => cut && upstream.cut());
  else {
    controller.abort();
    if (cut) upstream.cut();
  }
  await ledger.untilSettled();
  return response === undefined ? (ledger.latest() as CallRow) : ledger.callOf(response);
}

async function readAll(response: Response | undefined, onPiece: () => void): Promise<void> {
  for await (const _bytes of (response?.body ?? []) as AsyncIterable<Uint8Array>) onPiece();
}

async function until(holds: () => boolean): Promise<void> {
  const deadline = Date.now() + 60_000;
  while (!holds()) {
    if (Date.now() > deadline) throw new Error(`Still not so after a minute: ${holds}`);
    await Bun.sleep(2);
  }
}

const tokensOf = (call: CallRow) => [call.input_tokens, call.output_tokens];

/** What the other columns of docs/billing.md say about a call. */
const outcomes: Record<string, (call: CallRow, happening: Happening) => void> = {
  nothing(call) {
    expect(call).toMatchObject({ state: "released", usage_source: "none" });
    expect([call.charged_nanodollars, call.quota_tokens, call.output_tokens ?? 0]).toEqual([0, 0, 0]);
  },
  "the prompt"(call) {
    expect(call).toMatchObject({ state: "settled", usage_source: "estimated", status: 499, output_tokens: 0 });
    expect(call.input_tokens).toBeGreaterThan(0);
    expect((call.charged_nanodollars as number) + (call.quota_tokens as number)).toBeGreaterThan(0);
  },
  /** By what the gateway notices first. */
  "nothing, or the prompt"(call, happening) {
    outcomes[call.state === "settled" ? "the prompt" : "nothing"]?.(call, happening);
  },
  estimated(call) {
    expect(call).toMatchObject({ state: "settled", usage_source: "estimated" });
    // Of the words, and not of what was never made.
    expect(call.output_tokens).toBeGreaterThanOrEqual(words.split(" ").length);
    expect(call.output_tokens).toBeLessThan(40);
    expect(call.input_tokens).toBeGreaterThan(0);
  },
  "what came"(call) {
    expect(call).toMatchObject({ state: "settled", usage_source: "estimated" });
    // How much that is depends on when the line is cut.
    expect(call.output_tokens).toBeLessThan(40);
    expect(call.input_tokens).toBeGreaterThan(0);
  },
  "as reported"(call, { replies }) {
    expect(call).toMatchObject({ state: "settled", usage_source: "reported" });
    const saidNothing = new TextDecoder().decode(replies[0]?.body).includes('"total_tokens":0');
    expect(tokensOf(call)).toEqual(saidNothing ? [0, 0] : [usage.prompt_tokens, usage.completion_tokens]);
  },
  "the rest is output"(call) {
    expect(call).toMatchObject({ state: "settled", usage_source: "reported" });
    expect(tokensOf(call)).toEqual([hidden.prompt_tokens, hidden.total_tokens - hidden.prompt_tokens]);
  },
  "the last usable report"(call) {
    expect(call).toMatchObject({ state: "settled", usage_source: "reported" });
    expect(tokensOf(call)).toEqual([less.prompt_tokens, less.completion_tokens]);
  },
};

const rows = interruptedRows();

test("docs/billing.md has a row for each of these, and no other", () => {
  expect(rows.map(({ what }) => what).sort()).toEqual(Object.keys(happenings).sort());
  for (const { what, whole } of rows)
    for (const way of waysOf(what)) expect([what, whole === "–"]).toEqual([what, !way.whole]);
});

describe.each(models)("%s", (model) => {
  const forms = rows.flatMap((row) =>
    waysOf(row.what).flatMap((way) => {
      const what = way.case === undefined ? row.what : `${row.what} (${way.case})`;
      return [
        { what, form: "streamed", outcome: row.streamed, stream: true, happening: way.streamed },
        { what, form: "whole", outcome: row.whole, stream: false, happening: way.whole },
      ];
    }),
  );

  test.each(forms.filter(({ outcome }) => outcome !== "–"))(
    "$what, $form: $outcome",
    async ({ outcome, stream, happening }) => {
      const expectOutcome = outcomes[outcome];
      if (happening === undefined || expectOutcome === undefined)
        throw new Error("docs/billing.md has an outcome that no test knows");
      const call = await happen(happening, { model, stream });
      expectOutcome(call, happening);
      if (call.state === "settled") expectCost(call, catalogueRow(model));
      const { premium, quota_tokens, charged_nanodollars } = call;
      if (call.state === "settled" && call.output_tokens !== 0) {
        expect(premium === 1 ? charged_nanodollars : quota_tokens).toBeGreaterThan(0);
      }
    },
  );
});

test("afterwards nothing is held, and the ledger is true", async () => {
  const key = (await (await bench.gateway.ask("/key")).json()) as Record<"wallet" | "quota", Record<string, unknown>>;
  expect([key.wallet.held_usd, key.quota.held]).toEqual(["0", 0]);
  const { code, stdout } = await bench.gateway.run("ledger", "verify");
  expect({ code, stdout: code === 0 ? "" : stdout }).toEqual({ code: 0, stdout: "" });
});
