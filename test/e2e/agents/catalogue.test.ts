import { beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ownNames } from "../../../src/http/api/codex-models.ts";
import { type Agents, prepareAgents } from "../../support/agents.ts";
import { useAgentsGateway } from "../../support/agents-gateway.ts";
import { prepareMsMax } from "../../support/prepare-once.ts";

const shared = useAgentsGateway();
let agents: Agents;
beforeAll(async () => {
  agents = await prepareAgents();
}, 3 * prepareMsMax);

const made = "made.txt";
const line = "written by an agent";
const patch = `*** Begin Patch\n*** Add File: ${made}\n+${line}\n*** End Patch\n`;
const tools = [
  ["exec_command", { cmd: `echo '${line}' > ${made}` }],
  ["apply_patch", patch],
] as const;

/** Roads by which Codex asks for the list. */
const roads = {
  "the address of the catalogue": () => {
    const { origin, key } = { ...shared.gateway, ...shared.recorder };
    return { key, codexProvider: `model_catalog_url = "${origin}/v1/models?catalogue=whole"` };
  },
  "a command for its token": () => ({ key: { command: `echo ${shared.gateway.key}` } }),
};

describe.each(Object.keys(roads) as (keyof typeof roads)[])("Codex with %s", (road) => {
  test.each(
    ["claude-sonnet-4-6", "gemini-3-flash-preview", "gpt-5.5"].flatMap((model) =>
      tools.map(([name, input]) => [name, model, input] as const),
    ),
  )("has the tool %s for %s, by the gateway's list", async (name, model, input) => {
    if (agents.missing !== undefined) return;
    const { recorder, providers } = shared;
    recorder.calls.length = 0;
    providers.seen.length = 0;
    providers.plan = { name, input };
    const options = { origin: recorder.origin, model, ...roads[road]() };
    const { code, stdout, stderr, folder } = await agents.run("codex", "Do what there is to do, please", options);
    expect([code, code === 0 ? "" : stdout + stderr]).toEqual([0, ""]);
    expect(stderr).not.toContain("metadata");
    expect(readFileSync(join(folder, made), "utf8")).toBe(`${line}\n`);
    const asked = recorder.calls.filter(({ method }) => method === "GET");
    expect(asked.length).toBeGreaterThan(0);
    for (const { path, status } of asked)
      expect([path, status]).toEqual([expect.stringContaining("client_version="), 200]);
    const isOurs = providers.seen[0]?.text.includes("You are a coding agent in the user's terminal");
    expect(isOurs).toBe(!ownNames.has(model) || road === "the address of the catalogue");
  });
});
