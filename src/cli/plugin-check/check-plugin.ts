import { type Capability, capabilityForms } from "../../contract/index.ts";
import type { ProviderPlugin } from "../../provider/index.ts";
import { sendsKeyInClear } from "../../providers/index.ts";
import { type Check, chatChecks } from "./chat-checks.ts";
import { errorChecks } from "./error-checks.ts";
import { type CheckFinding, findDifference } from "./findings.ts";
import type { Fixture } from "./fixture.ts";
import { openaiFixtures } from "./openai-fixtures.ts";
import { simulate, simulatedKey } from "./simulate.ts";

/** One line of the report. */
export interface Mark {
  readonly check: string;
  readonly ok: boolean;
  readonly wrong?: string;
  readonly fix?: string;
}

/**
 * Runs the whole suite over a plugin: its own fixtures, and OpenAI's fixtures for capabilities that use OpenAI's
 * dialect.
 */
export async function checkPlugin(plugin: ProviderPlugin, own: readonly Fixture[]): Promise<Mark[]> {
  const ofKey: Check = { name: "the key travels encrypted", run: async () => findClearText(plugin) };
  const capabilities = new Set<Capability>(plugin.models.map(({ capability }) => capability));
  const spoken = await listSpoken(plugin, capabilities);
  const simulated = openaiFixtures.filter(({ capability = "chat" }) => spoken.has(capability));
  // A further endpoint of a model is checked where there is a fixture.
  const modelOf = (capability: Capability) => capabilityForms[capability].also?.of ?? capability;
  const fixtures = [...own, ...simulated].filter(({ capability = "chat" }) => capabilities.has(modelOf(capability)));
  const ofFixtures = fixtures.map((fixture) => ({
    name: `${fixture.capability ?? "chat"}: ${fixture.about}`,
    run: async () => findDifference(fixture, await simulate(plugin, fixture, fixture.reply)),
  }));
  const checks: Check[] = [...(plugin.credential !== "none" ? [ofKey] : []), ...ofFixtures];
  for (const capability of capabilities) {
    const those = fixtures.filter((fixture) => (fixture.capability ?? "chat") === capability);
    const good = those.filter(({ expect }) => expect?.error === undefined);
    if (capability === "chat") checks.push(...chatChecks(plugin, those));
    else if (good.length === 0) checks.push({ name: `${capability}: has a fixture`, run: async () => noFixture });
    const whole = good.find(({ request }) => request.stream !== true);
    const stream = good.find(({ request }) => request.stream === true);
    for (const fixture of [whole, stream]) if (fixture !== undefined) checks.push(...errorChecks(plugin, fixture));
    if (whole !== undefined) checks.push({ name: `${capability}: the key is sent`, run: () => tryKey(plugin, whole) });
  }
  const marks: Mark[] = [];
  for (const { name, run } of checks) {
    const finding = await run();
    marks.push(finding === undefined ? { check: name, ok: true } : { check: name, ok: false, ...finding });
  }
  return marks;
}

function findClearText(plugin: ProviderPlugin): CheckFinding {
  if (!sendsKeyInClear(plugin)) return undefined;
  return {
    wrong: `the key is sent in clear text to ${plugin.baseUrl}`,
    fix: "use https; http is for addresses of this machine and of your own network",
  };
}

const noFixture: CheckFinding = {
  wrong: "nothing shows how its provider answers",
  fix: "write a fixture with this capability into fixtures/",
};

/** The capabilities that the plugin asks for in OpenAI's dialect, whose answers can be simulated without a fixture. */
async function listSpoken(plugin: ProviderPlugin, capabilities: ReadonlySet<Capability>): Promise<Set<Capability>> {
  const spoken = new Set<Capability>();
  for (const capability of capabilities) {
    const fixture = openaiFixtures.find((one) => (one.capability ?? "chat") === capability);
    if (fixture === undefined) continue;
    const { requests } = await simulate(plugin, fixture, fixture.reply);
    if (requests.some(({ url }) => /\/(chat\/completions|embeddings)$/.test(url))) spoken.add(capability);
  }
  return spoken;
}

async function tryKey(plugin: ProviderPlugin, fixture: Fixture): Promise<CheckFinding> {
  if (plugin.credential === "none") return undefined;
  const { requests } = await simulate(plugin, fixture, fixture.reply);
  const isSent = requests.some(
    ({ url, headers }) =>
      url.includes(simulatedKey) || [...headers.values()].some((text) => text.includes(simulatedKey)),
  );
  if (isSent) return undefined;
  return {
    wrong: "no request carried the key",
    fix: 'see authorize, or set credential: "none" if the provider needs no key',
  };
}
