import { beforeAll, describe, expect, test } from "bun:test";
import { type Agents, prepareAgents } from "../../support/agents.ts";
import { useAgentsGateway } from "../../support/agents-gateway.ts";
import { prepareMsMax } from "../../support/prepare-once.ts";
import { answerInText, type ScriptedRequest } from "../../support/scripted-providers.ts";

/** Codex gives up a stream that has no event for so long, and asks once more; by default five minutes. */
const idleMs = 10_000;
const silentMs = 2.5 * idleMs;

const shared = useAgentsGateway({ SSE_HEARTBEAT_SECONDS: "1" });
let agents: Agents;
beforeAll(async () => {
  agents = await prepareAgents();
}, 3 * prepareMsMax);

/** Answers whole events, with the silence where the question says. */
function beSilent(request: ScriptedRequest): Response {
  const at = Number(/silent at event (\d)/.exec(request.text)?.[1]);
  async function* pieces() {
    const events = (await answerInText(request).text()).split(/(?<=\n\n)/);
    for (const [place, event] of events.entries()) {
      if (place === at) await Bun.sleep(silentMs);
      yield event;
    }
  }
  const { headers } = answerInText(request);
  return new Response(pieces() as unknown as ReadableStream, { headers });
}

const turns = [
  ["a provider of its own protocol that says nothing at first", "gpt-5.4", 0],
  ["a provider of its own protocol that says nothing for long in its answer", "gpt-5.4", 4],
  ["a provider of another protocol that says nothing at first", "claude-sonnet-4-6", 0],
  ["a provider of another protocol that says nothing for long in its answer", "claude-sonnet-4-6", 3],
] as const;

describe("Codex waits longer than its limit of silence", () => {
  test("for each kind of provider, which is asked once a turn", async () => {
    if (agents.missing !== undefined) return;
    const { gateway, providers, ledger } = shared;
    providers.fault = beSilent;
    const runs = await Promise.all(
      turns.map(async ([name, model, at]) => {
        const codexProvider = `stream_idle_timeout_ms = ${idleMs}`;
        const options = { origin: gateway.origin, key: gateway.key, model, codexProvider };
        const { code, stdout } = await agents.run("codex", `Be silent at event ${at}`, options);
        return [name, code, stdout.includes("Hello Ada")];
      }),
    );
    expect(runs).toEqual(turns.map(([name]) => [name, 0, true]));
    const asked = turns.map(([name, , at], place) => [
      name,
      providers.seen.filter(
        ({ provider, text }) =>
          provider === (place < 2 ? "openai" : "anthropic") && text.includes(`silent at event ${at}`),
      ).length,
    ]);
    expect(asked).toEqual(turns.map(([name]) => [name, 1]));
    expect(ledger.counts()).toMatchObject({ calls: turns.length, open: 0 });
  });
});
