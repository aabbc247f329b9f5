import { describe, expect, test } from "bun:test";
import { builtIns } from "../../../plugins/index.ts";
import type { Capability } from "../../../src/contract/index.ts";
import type { ProviderPlugin } from "../../../src/provider/index.ts";
import { isLong } from "../../support/long.ts";
import { exemplarOf } from "./exemplars.ts";
import { mutantsOf, triedOf } from "./mutants.ts";
import { expectSound, outcomeOf, sse } from "./outcome.ts";

async function expectEachSound(
  plugin: ProviderPlugin,
  mutants: Iterable<string>,
  outcome: (body: string) => ReturnType<typeof outcomeOf>,
) {
  const bodies = new Set(mutants);
  for (const body of triedOf(bodies, builtIns.indexOf(plugin))) {
    const came = await outcome(body);
    try {
      expectSound(came);
    } catch (error) {
      throw new Error(`The provider answered ${body}`, { cause: error });
    }
  }
  expect(bodies.size).toBeGreaterThan(50);
}

const cases = builtIns.flatMap((plugin) =>
  [...new Set(plugin.models.map(({ capability }) => capability))]
    .filter((capability) => exemplarOf(plugin.name, capability) !== undefined)
    .map((capability) => [plugin.name, capability, plugin] as const),
);
if (!isLong) console.log("One of three answers is tried with each plugin; all are for LONG=1");

describe("an answer in which one thing is not what it should be", () => {
  test.each(cases)("of %s' %s is answered or refused in our words", async (name, capability, plugin) => {
    const whole = exemplarOf(name, capability)?.whole;
    await expectEachSound(plugin, mutantsOf(whole).map(jsonOf), (body) =>
      outcomeOf(plugin, capability, () => json(body)),
    );
  });

  const streaming = cases.filter(([name, capability]) => exemplarOf(name, capability)?.events !== undefined);
  test.each(streaming)("of %s' %s is so in a stream", async (name, capability, plugin) => {
    const events = exemplarOf(name, capability)?.events as readonly unknown[];
    await expectEachSound(plugin, streamsOf(events), (body) => streamed(plugin, capability, body));
  });
});

/** Of each mutant of each event, the stream in which it stands in its place. */
function* streamsOf(events: readonly unknown[]): Generator<string> {
  for (const [at, event] of events.entries()) {
    for (const mutant of mutantsOf(event)) {
      const all = events.with(at, mutant).map((one) => `data: ${jsonOf(one)}\n\n`);
      yield `${all.join("")}data: [DONE]\n\n`;
    }
  }
}

const jsonOf = (value: unknown) => JSON.stringify(value) ?? "";
const json = (body: string) => new Response(body, { headers: { "content-type": "application/json" } });

function streamed(plugin: ProviderPlugin, capability: Capability, body: string): ReturnType<typeof outcomeOf> {
  return outcomeOf(plugin, capability, () => sse([new TextEncoder().encode(body)]), true);
}
