import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Gateway } from "../support/gateway.ts";
import type { Behaviour } from "./provider.ts";

/** The promise is two seconds, printed; a machine that has other work may be later. */
const noticedMsMax = 60_000;
const behaviours: readonly Behaviour[] = [
  "say-slowly",
  "count-nothing",
  "fail",
  "limit",
  "refuse",
  "babble",
  "reset",
  "cut",
  "fail-late",
];

const row = (id: string, upstreamId = "say") => ({ id, upstreamId, premium: false });

/** Drops in the plugins that the traffic needs. `version` changes what those say that are reloaded, not what they do. */
export function dropPlugins(home: string, baseUrl: string, version: number): void {
  const provider = { baseUrl, dialect: "openai", credential: "none" };
  if (version === 0) {
    const models = behaviours.map((behaviour) => row(`soak/${behaviour}`, behaviour));
    drop(home, "soak.json", JSON.stringify({ name: "soak", ...provider, models }));
  }
  const models = [row("churn/kites"), row(`churn/version-${version % 7}`)];
  drop(home, "churn.json", JSON.stringify({ name: "churn", ...provider, models }));
  drop(
    home,
    "code.ts",
    `import { definePlugin, openai, readModels } from "modelgate/plugin";
export default definePlugin({
  name: "code", baseUrl: "${baseUrl}", credential: "none", handlers: openai({ chat: {} }),
  models: [{ id: "code/kites", upstreamId: "say", capability: "chat", premium: false, ownedBy: "version-${version}", created: ${version} }],
});
`,
  );
}

/** At once, as an operator's \`mv\` does: a file that is half written would be refused, rightly. */
function drop(home: string, name: string, content: string): void {
  mkdirSync(join(home, "plugins"), { recursive: true });
  const draft = join(home, `${name}.draft`);
  writeFileSync(draft, content);
  renameSync(draft, join(home, "plugins", name));
}

/** Waits until every gateway sells a model, or no longer. */
export async function untilSold(gateways: readonly Gateway[], id: string): Promise<void> {
  for (const gateway of gateways) {
    const isSold = async () => (await (await gateway.ask("/models")).text()).includes(`"${id}"`);
    await until(isSold, `${id} is not sold`);
  }
}

/** Makes a key, uses it on every gateway, revokes it, and sees that none takes it any more. */
export async function revokeOne(gateways: readonly Gateway[], email: string): Promise<void> {
  const [first] = gateways as [Gateway];
  const made = await first.cli<{ id: string; key: string }>("key", "create", "--account", email, "--name", "brief");
  const headers = { authorization: `Bearer ${made.key}` };
  const body = { model: "famA-4.1-nano", messages: [{ role: "user", content: "Hello" }] };
  const statusOf = async (gateway: Gateway) => {
    const response = await gateway.post("/chat/completions", body, headers);
    await response.text();
    return response.status;
  };
  for (const gateway of gateways) await until(async () => (await statusOf(gateway)) === 200, "a new key is not taken");
  await first.cli("key", "revoke", made.id);
  for (const gateway of gateways) await until(async () => (await statusOf(gateway)) === 401, "a revoked key is taken");
  for (const gateway of gateways) {
    const status = await statusOf(gateway);
    if (status === 200) throw new Error(`A revoked key was taken again`);
  }
}

async function until(isSo: () => Promise<boolean>, otherwise: string): Promise<void> {
  const deadline = Date.now() + noticedMsMax;
  while (!(await isSo())) {
    if (Date.now() > deadline) throw new Error(`After ${noticedMsMax} ms ${otherwise}`);
    await Bun.sleep(100);
  }
}
