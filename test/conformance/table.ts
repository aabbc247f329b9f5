import { builtIns } from "../../plugins/index.ts";
import { capabilityForms } from "../../src/contract/index.ts";
import type { Model, ProviderPlugin } from "../../src/provider/index.ts";
import { type Feature, features } from "./features.ts";
import { tryFeature, type Verdict } from "./try-feature.ts";

const page = new URL("../../docs/endpoints.md", import.meta.url);
/** Those that serve the specification's models, and the clouds; a column for each of the others would make the table unreadable. */
const shown = ["anthropic", "azure", "bedrock", "gemini", "groq", "openai", "sarvam", "together", "vertex"];
const columns = builtIns.filter(({ name }) => shown.includes(name));
const [begin, end] = ["<!-- providers: made by bun test/conformance/table.ts -->", "<!-- providers: end -->"];

/** The table of what each provider is asked for, as Markdown. */
export async function makeTable(): Promise<string> {
  const rows = await Promise.all(
    features.map(async (feature) => {
      const cells = await Promise.all(columns.map((plugin) => cellOf(plugin, feature)));
      return [feature.name, ...cells];
    }),
  );
  const lines = [["", ...columns.map(({ name }) => name)], ...rows];
  const widths = lines[0]?.map((_, column) => Math.max(3, ...lines.map((line) => (line[column] as string).length)));
  const padded = lines.map(
    (line) => `| ${line.map((cell, column) => cell.padEnd(widths?.[column] ?? 0)).join(" | ")} |`,
  );
  const rule = `| ${widths?.map((width) => "-".repeat(width)).join(" | ")} |`;
  return [padded[0], rule, ...padded.slice(1)].join("\n");
}

/** The table in docs/endpoints.md. */
export async function readTable(): Promise<string> {
  return ((await Bun.file(page).text()).split(begin)[1] ?? "").split(end)[0]?.trim() ?? "";
}

/** One word for all models of the plugin at the endpoint of the feature, or where they differ what most comes to. */
async function cellOf(plugin: ProviderPlugin, feature: Feature): Promise<string> {
  const { also } = capabilityForms[feature.capability];
  if (plugin.handlers[feature.capability] === undefined) return "–";
  const models = plugin.models.filter(
    ({ capability, endpoint }) => capability === (also?.of ?? feature.capability) && endpoint === undefined,
  );
  const verdicts = new Set<Verdict>();
  // Many are alike in all that is sent.
  const unlike = new Map(models.map((model) => [JSON.stringify(toSending(model)), model]));
  for (const model of unlike.values()) verdicts.add(await tryFeature(plugin, model, feature));
  if (verdicts.size === 0) return "–";
  return verdicts.size === 1 ? ([...verdicts][0] as string) : "by model";
}

/** What of a row can change a request. */
function toSending({ id: _, aliases: __, price: ___, created: ____, checkedOn: _____, source: ______, ...row }: Model) {
  const {
    upstreamId,
    outputTokensMax: _1,
    contextTokens: _2,
    retiredOn: _3,
    successor: _4,
    ownedBy: _5,
    ...rest
  } = row;
  return { ...rest, isClaude: upstreamId.startsWith("claude") };
}

if (import.meta.main) {
  const text = await Bun.file(page).text();
  const [before, rest] = text.split(begin);
  const after = rest?.split(end)[1];
  if (after === undefined)
    throw new Error(`Cannot write the table: docs/endpoints.md lacks the lines ${begin} and ${end}`);
  await Bun.write(page, `${before}${begin}\n\n${await makeTable()}\n\n${end}${after}`);
}
