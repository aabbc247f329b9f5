import { afterEach, beforeAll, describe, expect, test } from "bun:test";
import { type AgentName, type Agents, prepareAgents } from "../../support/agents.ts";
import { useAgentsGateway } from "../../support/agents-gateway.ts";
import { changeCharacter } from "../../support/change-character.ts";
import { ownerEmail } from "../../support/gateway.ts";
import { isLong } from "../../support/long.ts";
import { prepareMsMax } from "../../support/prepare-once.ts";
import { answerInText, type ScriptedProviders } from "../../support/scripted-providers.ts";

const callsMax = 2;
const shared = useAgentsGateway({ MAX_CONCURRENT_CALLS: String(callsMax) });
const models: Record<AgentName, string> = { codex: "gpt-5.4", claude: "claude-sonnet-4-6" };
const hello = { model: models.codex, messages: [{ role: "user", content: "Hello" }] };
const keys: Record<string, string> = {};
let agents: Agents;
beforeAll(async () => {
  agents = await prepareAgents();
}, 3 * prepareMsMax);
beforeAll(async () => {
  const { gateway } = shared;
  await gateway.cli("account", "create", "--email", "poor@example.com");
  const create = async (account: string, ...flags: string[]) =>
    (await gateway.cli<{ key: string }>("key", "create", "--account", account, "--name", "test", ...flags)).key;
  keys.poor = await create("poor@example.com");
  keys.spent = await create(ownerEmail, "--budget-usd", "0.000001");
  keys.narrow = await create(ownerEmail, "--models", "famA-4o");
  keys.wrong = changeCharacter(gateway.key, -1);
});
/** Whether the provider has answered what counts as a failure of its route, which is 503 for the next test once it is paused. */
let hasRouteFailed = false;
const watched =
  (fault: NonNullable<Fault>): Fault =>
  async (request) => {
    const answer = (await fault(request)) ?? answerInText(request);
    hasRouteFailed ||= answer.status !== 400;
    return answer;
  };
afterEach(async () => {
  if (hasRouteFailed) await shared.restart();
  hasRouteFailed = false;
  Object.assign(shared.providers, { fault: undefined });
  Object.assign(shared.recorder, { onCall: undefined, padding: 0 });
});

type Fault = ScriptedProviders["fault"];
const refusal =
  (status: number, code: string, message: string, headers: Record<string, string> = {}): Fault =>
  () =>
    Response.json({ type: "error", error: { type: code, code, message } }, { status, headers });

/** Half of a stream and then what is given; a request for a whole answer gets one. */
const broken =
  (end: string): Fault =>
  async (request) => {
    if (request.body.stream !== true) return answerInText(request);
    const { headers } = answerInText(request);
    const text = await answerInText(request).text();
    const [head] = /^[\s\S]*?Hello?[\s\S]*?\n\n/.exec(text) ?? [text.slice(0, text.length / 2)];
    return new Response(head + end, { headers });
  };

/** Half of a stream of OpenAI's, and how the response ended. */
const endsWith = (status: "failed" | "incomplete", reason: string): Fault => {
  const why =
    status === "failed" ? { error: { code: reason, message: "It broke" } } : { incomplete_details: { reason } };
  const response = { id: "resp_1", object: "response", model: "gpt-5.4", output: [], status, ...why };
  const event = { type: `response.${status}`, sequence_number: 99, response };
  return broken(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
};

interface Failure {
  key?: string;
  model?: string;
  padding?: number;
  fault?: Fault;
  /** Whether other calls take all the places that the gateway has. */
  isFull?: boolean;
}

/**
 * Statuses and how many requests each agent makes; `Infinity`: it goes on for minutes. After five failures the route is paused, and
 * the next request is 503, which Codex repeats four times.
 */
const failures: [string, Failure, Partial<Record<AgentName, [statuses: number[], requests: number]>>][] = [
  ["a wrong key", { key: "wrong" }, { codex: [[401], 6], claude: [[401], 1] }],
  ["an empty wallet", { key: "poor" }, { codex: [[400], 1], claude: [[402], 1] }],
  ["an unknown model", { model: "nobody" }, { codex: [[400], 1], claude: [[404], 2] }],
  ["a gateway that is full", { isFull: true }, { codex: [[503], 5], claude: [[529], Number.POSITIVE_INFINITY] }],
  [
    "too long a context",
    { fault: refusal(400, "context_length_exceeded", "prompt is too long: 300000 tokens > 200000 maximum") },
    { codex: [[400], 1], claude: [[400], 1] },
  ],
  [
    "too long a context for llama.cpp",
    {
      fault: refusal(
        400,
        "exceed_context_size_error",
        "request (36023 tokens) exceeds the available context size (2048 tokens), try increasing it",
      ),
    },
    { codex: [[400], 1], claude: [[400], 1] },
  ],
  [
    "a provider's rate limit",
    { fault: refusal(429, "rate_limit_exceeded", "Slow down", { "retry-after": "1" }) },
    { codex: [[429], 6], claude: [[429], Number.POSITIVE_INFINITY] },
  ],
  [
    "a provider that fails",
    { fault: refusal(500, "api_error", "Something broke") },
    { codex: [[503], 5], claude: [[500, 529], Number.POSITIVE_INFINITY] },
  ],
  ["a stream that is cut", { fault: broken("") }, { codex: [[200, 503], 10], claude: [[200], 4] }],
  ["a budget that is used up", { key: "spent" }, { codex: [[400], 1], claude: [[402], 1] }],
  ["a model that the key may not use", { key: "narrow" }, { codex: [[400], 1], claude: [[403], 1] }],
  ["a body that is too large", { padding: 64_000_000 }, { codex: [[400], 1], claude: [[413], 1] }],
  [
    "a request that the provider finds wrong",
    { fault: refusal(400, "invalid_request_error", "Something is wrong") },
    { codex: [[400], 1], claude: [[400], 6] },
  ],
  [
    "a provider that does not know the gateway's key",
    { fault: refusal(401, "authentication_error", "Unknown key") },
    { codex: [[400], 1], claude: [[500], 1] },
  ],
  [
    "a provider that is overloaded",
    { fault: refusal(503, "overloaded_error", "Busy") },
    { codex: [[503], 5], claude: [[529], Number.POSITIVE_INFINITY] },
  ],
  [
    "a model that the provider does not have",
    { fault: refusal(404, "model_not_found", "No such model") },
    { codex: [[400], 1], claude: [[404], 2] },
  ],
  [
    "a provider that forbids it",
    { fault: refusal(403, "permission_error", "Not in your region") },
    { codex: [[400], 1], claude: [[500], 1] },
  ],
  [
    "a provider where the operator has no money",
    { fault: refusal(429, "insufficient_quota", "You exceeded your current quota") },
    { codex: [[400], 1], claude: [[500], 1] },
  ],
  [
    "an error in the stream",
    {
      fault: broken(
        'event: error\ndata: {"type":"error","error":{"type":"api_error","code":"server_error","message":"Broke"}}\n\n',
      ),
    },
    { codex: [[200, 503], 10], claude: [[200], 4] },
  ],
  [
    "a response that failed for a reason of tomorrow",
    { fault: endsWith("failed", "of_tomorrow") },
    { codex: [[200, 503], 6] },
  ],
  ["a response that came too fast", { fault: endsWith("failed", "rate_limit_exceeded") }, { codex: [[200, 503], 6] }],
  [
    "a response for which the operator has no money",
    { fault: endsWith("failed", "insufficient_quota") },
    { codex: [[200], 1] },
  ],
  ["a response that found no room", { fault: endsWith("failed", "context_length_exceeded") }, { codex: [[200], 1] }],
  ["a response to a wrong prompt", { fault: endsWith("failed", "invalid_prompt") }, { codex: [[200], 1] }],
  ["a response of a full server", { fault: endsWith("failed", "server_is_overloaded") }, { codex: [[200], 1] }],
  ["a response that was cut short", { fault: endsWith("incomplete", "max_output_tokens") }, { codex: [[200], 1] }],
];

/** The failures up to here are the usual ones; the others are tried in the long form. */
const usualCount = 9;
if (!isLong) console.log(`The other ${failures.length - usualCount} failures of agents are for LONG=1`);

/** Requests after which a client that goes on is ended; the long form waits for the last of those that are counted. */
const seenEnough = 3;
const seenWhole = 4;

describe.each(["codex", "claude"] as const)("%s", (agent) => {
  test.each((isLong ? failures : failures.slice(0, usualCount)).filter(([, , expected]) => agent in expected))(
    "stops after %s",
    async (_, { key, model = models[agent], padding = 0, fault, isFull }, expected) => {
      if (agents.missing !== undefined) return;
      const { gateway, recorder, providers } = shared;
      const [statuses, requests] = expected[agent] as [number[], number];
      const isWhole = requests <= seenWhole || (isLong && requests < Number.POSITIVE_INFINITY);
      const abort = new AbortController();
      recorder.calls.length = 0;
      Object.assign(recorder, { padding, onCall: (count: number) => !isWhole && count >= seenEnough && abort.abort() });
      providers.fault = fault && watched(fault);
      const release = isFull === true ? await fill() : () => {};
      const { origin } = recorder;
      const options = { origin, key: keys[key ?? ""] ?? gateway.key, model, signal: abort.signal };
      const { stdout, stderr } = await agents.run(agent, "Say hello to Ada", options);
      release();
      const made = recorder.calls.filter(({ method }) => method === "POST");
      // One that is ended may have sent more before it heard of it.
      const counted = isWhole ? made.length : Math.min(made.length, seenEnough);
      expect([counted, stdout + stderr]).toEqual([isWhole ? requests : seenEnough, stdout + stderr]);
      expect(statuses).toEqual(expect.arrayContaining(made.flatMap(({ status }) => status ?? [])));
      await shared.ledger.untilSettled();
    },
  );
});

/** Takes all places of the gateway. Returns what gives them back. */
async function fill(): Promise<() => void> {
  const { gateway, providers } = shared;
  const waiting = Promise.withResolvers<void>();
  providers.fault = async () => {
    await waiting.promise;
    return Response.json({ error: { message: "Enough" } }, { status: 400 });
  };
  const before = providers.seen.length;
  const held = Array.from({ length: callsMax }, () => gateway.post("/chat/completions", hello));
  while (providers.seen.length < before + callsMax) await Bun.sleep(10);
  return () => {
    waiting.resolve();
    void Promise.all(held);
  };
}
