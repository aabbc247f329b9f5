import { afterAll, beforeAll, expect, test } from "bun:test";
import { type DialectName, said, sendingOf, toReply } from "../../support/imperfect-answers.ts";
import { type Imperfection, imperfections, type Outcome } from "../../support/imperfections.ts";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";
import { isLong, rounds, testMsMax } from "../../support/long.ts";
import { randomBelow } from "../../support/random.ts";
import { type ReplayUpstream, startReplayUpstream } from "../../support/replay-upstream.ts";
import { jsonReply } from "../../support/reply.ts";
import { type ClientName, clients, type Got } from "./imperfect-clients.ts";

let gateway: InProcessGateway;
let upstream: ReplayUpstream;

/** A model of each dialect, the provider that has it, and the stand-in that is asked for it. */
const models: Readonly<Record<DialectName, string>> = {
  openai: "lab/m",
  responses: "gpt-5.3-codex",
  anthropic: "claude-haiku-4-5",
  gemini: "gemini-2.5-flash-lite",
  bedrock: "bedrock/amazon.nova-micro-v1:0",
};
const providers = { openai: "lab", responses: "openai", anthropic: "anthropic", gemini: "gemini", bedrock: "bedrock" };
const backup = "backup/m";

beforeAll(async () => {
  upstream = await startReplayUpstream();
  const env = {
    SANDBOX: "off",
    OPENAI_API_KEY: "sk-openai",
    OPENAI_BASE_URL: upstream.baseUrlOf("openai", "/v1"),
    ANTHROPIC_API_KEY: "sk-anthropic",
    ANTHROPIC_BASE_URL: upstream.baseUrlOf("anthropic", "/v1"),
    GEMINI_API_KEY: "sk-gemini",
    GEMINI_BASE_URL: upstream.baseUrlOf("gemini", "/v1beta"),
    BEDROCK_API_KEY: "a-key-of-the-cloud-0123456789",
    BEDROCK_REGION: "us-east-1",
    BEDROCK_BASE_URL: upstream.baseUrlOf("bedrock"),
    BACKUP_API_KEY: "k",
    LAB_API_KEY: "k",
    REQUESTS_PER_MINUTE: "1000000",
    TOKENS_PER_MINUTE: "100000000000",
    FREE_TOKENS_PER_DAY: "1000000000000",
  };
  const virtual = Object.entries(models).map(([name, model]) => ({ id: `safe-${name}`, models: [model, backup] }));
  gateway = await startInProcess({
    env,
    files: {
      "plugins/lab.json": manifestOf("lab"),
      "plugins/backup.json": manifestOf("backup"),
      "catalogue/virtual.json": { models: virtual },
    },
  });
  upstream.answer("backup", jsonReply(backupAnswer));
});
afterAll(async () => {
  await gateway.stop();
  await upstream.stop();
});

const manifestOf = (name: string) => ({
  name,
  baseUrl: upstream.baseUrlOf(name, "/v1"),
  dialect: "openai",
  models: [{ id: `${name}/m`, premium: false, contextTokens: 100_000, outputTokensMax: 20_000 }],
});

const backupAnswer = {
  id: "b",
  object: "chat.completion",
  created: 1,
  model: "m",
  choices: [{ index: 0, message: { role: "assistant", content: "From the next route" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 5, completion_tokens: 6, total_tokens: 11 },
};

interface Trial {
  dialect: DialectName;
  client: ClientName;
  form: "whole" | "stream";
  rows: readonly Imperfection[];
}

const nameOf = ({ dialect, client, form, rows }: Trial) =>
  `${rows.map(({ name }) => name).join(" + ") || "no deviation"} | ${dialect} to ${client}, ${form}`;

/** Plays an answer with its deviations. Returns what is wrong with what became of it. */
async function play(trial: Trial, seed: number): Promise<string[]> {
  const { dialect, client, form, rows } = trial;
  const sending = sendingOf(dialect, form);
  for (const { apply } of rows) apply(sending);
  upstream.answer(providers[dialect], toReply(sending, (seed % 7) + 1));
  const { path, body, read } = clients[client];
  const before = upstream.seen.length;
  const response = await gateway.post(path, { ...body, model: `safe-${dialect}`, stream: form === "stream" });
  const got = await read(response, form);
  const asked = upstream.seen.slice(before).map(({ provider }) => provider);
  const id = response.headers.get("x-request-id") ?? "";
  const charges = [id, `${id}-2`].flatMap((one) => gateway.ledger.call(one) ?? []);
  const faults = judge(trial, got, { asked, charges });
  if (rows.some(({ outcome }) => outcome !== "same") || faults.length > 0) await succeed(dialect);
  return faults;
}

/** An ordinary answer, so that no circuit opens by the failures before it. */
async function succeed(dialect: DialectName): Promise<void> {
  upstream.answer(providers[dialect], toReply(sendingOf(dialect, "whole")));
  const { path, body } = clients.chat;
  for (let turn = 0; turn < 2; turn++) await (await gateway.post(path, { ...body, model: models[dialect] })).text();
}

type Charge = ReturnType<InProcessGateway["ledger"]["callOf"]>;
/** What was charged, and whether a provider reported it. */
const showCharge = ({ input_tokens: input, output_tokens: output, usage_source: source, state }: Charge) =>
  state === "settled" ? `${input} + ${output} ${source}` : state;

function judge({ rows, client }: Trial, got: Got, { asked, charges }: { asked: string[]; charges: Charge[] }) {
  const faults: string[] = [];
  const outcomes = new Set<Outcome>(rows.map(({ outcome }) => outcome));
  const wanted: Outcome = (["elsewhere", "failure", "cut"] as const).find((outcome) => outcomes.has(outcome)) ?? "same";
  const isPair = rows.length > 1;
  const billed = String(charges.map(showCharge));
  if (wanted === "elsewhere") {
    if (got.text !== "From the next route") faults.push(`was not served by the next route: ${show(got)}`);
    if (billed !== "released,5 + 6 reported") faults.push(`was charged ${billed}, not for the next route alone`);
    if (asked.filter((name) => name !== "backup").length === 0) faults.push("was not asked");
    return faults;
  }
  if (asked.includes("backup")) return [`was asked for elsewhere although it had content: ${asked}`];
  if (wanted === "failure") {
    if (!got.failed) faults.push(`a failure was told as a success: ${show(got)}`);
    return faults;
  }
  // Two deviations at once may be too much: then the call fails.
  if (got.failed) return isPair ? [] : [`failed: ${show(got)}`];
  const end = got.isCut ? "cut" : "same";
  if (end !== wanted) faults.push(`was told as ${end}, not as ${wanted}`);
  if (got.text !== said.text) faults.push(`has the text ${JSON.stringify(got.text)}`);
  if (got.reasoning !== said.reasoning) faults.push(`has the reasoning ${JSON.stringify(got.reasoning)}`);
  const calls = got.calls.map(({ name, input }) => `${name} ${JSON.stringify(readInput(input))}`);
  const saidCalls = said.calls.map(({ name, input }) => `${name} ${JSON.stringify(input)}`);
  if (String(calls) !== String(saidCalls)) faults.push(`has the calls ${calls}`);
  const ids = got.calls.map(({ id }) => id);
  if (new Set(ids).size !== ids.length || ids.some((id) => !clients[client].id.test(String(id))))
    faults.push(`has the ids ${ids}`);
  const { input, output } = said.usage;
  if (billed !== `${input} + ${output} reported`) faults.push(`was charged ${billed}`);
  return faults;
}

function readInput(text: unknown): unknown {
  try {
    return typeof text === "string" ? JSON.parse(text) : text;
  } catch {
    return text;
  }
}

const show = (got: Got) => JSON.stringify(got).slice(0, 300);

const isNative = (dialect: DialectName, client: ClientName) =>
  (dialect === "anthropic" && client === "messages") || (dialect === "responses" && client === "responses");

/** All exchanges of one deviation. */
function trialsOf(row: Imperfection): Trial[] {
  const trials: Trial[] = [];
  for (const dialect of row.dialects) {
    for (const form of row.forms) {
      for (const client of Object.keys(clients) as ClientName[]) {
        if (row.isTranslatedOnly && isNative(dialect, client)) continue;
        trials.push({ dialect, client, form, rows: [row] });
      }
    }
  }
  return trials;
}

/** `SEED` chooses which pairs and clients are tried. */
const below = randomBelow(Number(process.env.SEED ?? 7));
const pick = <Member>(members: readonly Member[]): Member => members[below(members.length)] as Member;

/** In the short form one client for each deviation and dialect; in the long one all clients and forms. */
function sampled(trials: readonly Trial[]): readonly Trial[] {
  if (isLong) return trials;
  const dialects = new Set(trials.map(({ dialect }) => dialect));
  return [...dialects].map((dialect) => pick(trials.filter((trial) => trial.dialect === dialect)));
}

/** Two deviations of the same dialect and form, for one client; `undefined` where one leaves nothing to the other. */
function pairOf(): Trial | undefined {
  const dialect = pick(Object.keys(models) as DialectName[]);
  const form = pick(["whole", "stream"] as const);
  const client = pick(Object.keys(clients) as ClientName[]);
  const fitting = imperfections.filter(
    (row) =>
      row.dialects.includes(dialect) &&
      row.forms.includes(form) &&
      !(row.isTranslatedOnly === true && isNative(dialect, client)),
  );
  const rows = [pick(fitting), pick(fitting)].sort((one, other) => rank(one) - rank(other));
  const [one, other] = rows as [Imperfection, Imperfection];
  const isSamePart = partsOf(one).some((part) => partsOf(other).includes(part));
  const isTwice =
    one === other || isSamePart || (rows.some(isOtherForm) && rows.some(({ outcome }) => outcome !== "same"));
  if (isTwice || rows.every(isOtherForm)) return undefined;
  try {
    const sending = sendingOf(dialect, form);
    for (const { apply } of rows) apply(sending);
  } catch {
    return undefined;
  }
  return { dialect, form, client, rows };
}

const partsOf = ({ part = [] }: Imperfection) => [part].flat();

/** What changes an answer comes before what replaces it. */
const rank = (row: Imperfection) => (row.outcome === "elsewhere" ? 2 : isOtherForm(row) ? 1 : 0);

function isOtherForm({ forms, dialects, apply }: Imperfection): boolean {
  const [dialect = "openai"] = dialects;
  const sending = sendingOf(dialect, forms[0] ?? "whole");
  apply(sending);
  return sending.body !== undefined || sending.form !== forms[0];
}

/** Plays a trial. What it throws is a fault of the trial: the error alone names neither its deviations nor its seed. */
async function playSafely(trial: Trial, seed: number): Promise<string[]> {
  try {
    return await play(trial, seed);
  } catch (error) {
    await succeed(trial.dialect);
    return [`threw ${Bun.inspect(error)}`];
  }
}

async function playAll(trials: readonly Trial[]): Promise<string[]> {
  const faults: string[] = [];
  for (const [index, trial] of trials.entries()) {
    for (const fault of await playSafely(trial, index)) {
      const line = `${nameOf(trial)}, seed ${index}: ${fault}`;
      // The long form may be ended before its list of faults is shown.
      if (isLong) console.log(line);
      faults.push(line);
    }
  }
  return faults;
}

test(
  "an answer without a deviation arrives whole in every dialect, for every client",
  async () => {
    const plain: Imperfection = {
      name: "no deviation",
      source: "",
      outcome: "same",
      dialects: Object.keys(models) as DialectName[],
      forms: ["whole", "stream"],
      apply: () => undefined,
    };
    expect(await playAll(trialsOf(plain))).toEqual([]);
  },
  testMsMax,
);

test(
  "each way in which real servers deviate is read for what it is, failed, or tried elsewhere",
  async () => {
    expect(imperfections.length).toBeGreaterThanOrEqual(40);
    const trials = imperfections.flatMap((row) => sampled(trialsOf(row)));
    const began = performance.now();
    const faults = await playAll(trials);
    console.log(
      `${imperfections.length} deviations, ${trials.length} exchanges, ${Math.round(performance.now() - began)} ms`,
    );
    expect(faults).toEqual([]);
  },
  testMsMax,
);

test(
  "two ways at once are read for what they are, or fail",
  async () => {
    const trials: Trial[] = [];
    while (trials.length < rounds(75, 20_000)) {
      const pair = pairOf();
      if (pair !== undefined) trials.push(pair);
    }
    expect(await playAll(trials)).toEqual([]);
  },
  testMsMax,
);
