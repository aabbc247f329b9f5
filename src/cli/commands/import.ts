import { readFileSync } from "node:fs";
import type { Config } from "../../config/index.ts";
import { decodeText, formatUsd } from "../../contract/index.ts";
import { getModelNames, type ModelNames } from "../../providers/index.ts";
import { type CliContext, type CommandResult, defineCommand, UsageError } from "../command.ts";
import { makeKeys, withoutMade } from "../import/apply-openrouter.ts";
import { applyPlan } from "../import/apply-plan.ts";
import { type ForeignDatabase, openForeignDatabase } from "../import/foreign-database.bun.ts";
import { planLiteLlm } from "../import/litellm.ts";
import { Losses } from "../import/losses.ts";
import { planNewApi } from "../import/new-api.ts";
import { type OpenRouterKey, readOpenRouterKeys } from "../import/openrouter.ts";
import { type DraftPlan, formatBudget, formatPlan, toNanodollars, toPlanJson } from "../import/plan.ts";
import { settlePlan } from "../import/settle-plan.ts";
import { columns } from "../lib/format.ts";
import { parseCount } from "../lib/parse.ts";
import { withProviders } from "../lib/with-providers.ts";
import { withStore } from "../lib/with-store.ts";

const dryRun = {
  value: "",
  description: "Only show the result of the import, and everything that cannot be imported",
} as const;
const database = {
  value: "URL",
  description: "Its database: postgres://…, mysql://… or the path of an SQLite file",
} as const;
const credit = {
  value: "USD",
  description: "Credit to each account that is imported without a balance, once",
} as const;
const freeTokens = {
  value: "N",
  description: "Daily free quota in tokens of each account that is created, not counted in budgets; default 0",
} as const;
const accept = {
  value: "LIST",
  description:
    "Restrictions that may be lost, separated by commas as in the notes, or all; default: none, so their keys are revoked",
} as const;

interface ImportFlags {
  readonly accept: string | undefined;
  readonly credit: string | undefined;
  readonly database?: string | undefined;
  readonly "dry-run": string | undefined;
  readonly "free-tokens": string | undefined;
}

function readFlags({ accept: names, credit: usd, "free-tokens": tokens, ...flags }: ImportFlags) {
  const creditNanodollars = usd === undefined ? 0 : toNanodollars(usd);
  if (creditNanodollars === undefined) throw new UsageError(`--credit is ${usd}, expected US dollars such as 25.00`);
  return {
    creditNanodollars,
    losses: new Losses(names?.split(",").flatMap((name) => name.trim() || [])),
    freeTokensPerDay: tokens === undefined ? 0 : parseCount("--free-tokens", tokens),
    isDry: flags["dry-run"] !== undefined,
    url: flags.database,
  };
}

/** Makes the plan and prints it, or carries it out. */
async function runImport(
  context: CliContext,
  { config, now, flags }: { config: Config; now: number; flags: ImportFlags },
  makeDraft: (read: {
    known: ModelNames;
    manifests: Readonly<Record<string, unknown>>;
    losses: Losses;
    foreign: ForeignDatabase | undefined;
  }) => Promise<DraftPlan>,
): Promise<CommandResult> {
  const { creditNanodollars, losses, freeTokensPerDay, isDry, url } = readFlags(flags);
  const { manifests } = await context.loadBuiltIns();
  const foreign = url === undefined ? undefined : await openForeignDatabase(url);
  try {
    return await withProviders(context, { config, now }, async (providers, opened) => {
      const models = getModelNames(providers.snapshot);
      const draft = await makeDraft({ known: models, manifests, losses, foreign });
      const accounts = draft.accounts.map((account) =>
        account.creditNanodollars > 0 ? account : { ...account, creditNanodollars },
      );
      const plan = await settlePlan({ ...draft, accounts }, opened, { known: models, freeTokensPerDay });
      const text = formatPlan(plan);
      if (isDry) return { json: toPlanJson(plan), text: `${text}\n\nNothing was changed` };
      const done = await applyPlan(plan, opened, { config, providers, now });
      const counts = [
        `${done.accounts} accounts`,
        `${done.keys} keys`,
        ...(done.releasedKeys > 0 ? [`${done.releasedKeys} keys that were held back`] : []),
        `${formatUsd(done.creditedNanodollars)} USD of credit`,
        `${done.providers} providers`,
        `${done.virtualModels} virtual models`,
      ];
      const notes = done.notes.map((note) => `\n- ${note}`).join("");
      return {
        json: {
          ...toPlanJson(plan),
          imported: { ...done, creditedNanodollars: undefined, credited_usd: formatUsd(done.creditedNanodollars) },
        },
        text: `${text}\n\nImported: ${counts.join(", ")}${notes}`,
      };
    });
  } finally {
    await foreign?.close();
  }
}

export const importLiteLlm = defineCommand({
  name: "import litellm",
  description: "Import models, teams, users, budgets and keys from LiteLLM; its keys keep working",
  flags: { database, credit, "free-tokens": freeTokens, accept, "dry-run": dryRun },
  args: ["CONFIG"],
  example: "import litellm config.yaml --database postgres://llm:secret@db.example.com/litellm --dry-run",
  run(context, { args, flags, config, now }) {
    const yaml = readYaml(args.CONFIG);
    return runImport(context, { config, now, flags }, ({ foreign, ...reading }) =>
      planLiteLlm(yaml, foreign, { ...reading, env: context.env }),
    );
  },
});

export const importNewApi = defineCommand({
  name: "import new-api",
  description: "Import channels, users, balances and tokens from new-api or one-api; its tokens keep working",
  flags: { database: { ...database, required: true }, credit, "free-tokens": freeTokens, accept, "dry-run": dryRun },
  args: [],
  example: "import new-api --database one-api.db --dry-run",
  run(context, { flags, config, now }) {
    return runImport(context, { config, now, flags }, ({ foreign, ...reading }) =>
      planNewApi(foreign as ForeignDatabase, reading),
    );
  },
});

export const importOpenRouter = defineCommand({
  name: "import openrouter",
  description:
    "Create keys like those of OpenRouter, which does not export its own; reads its management key from standard input",
  flags: {
    account: { value: "A", description: "Account for the keys; default: a new team, OpenRouter" },
    url: { value: "URL", description: "OpenRouter's API; default https://openrouter.ai/api/v1" },
    credit,
    "free-tokens": freeTokens,
    accept,
    "dry-run": dryRun,
  },
  args: [],
  example: "import openrouter --account ada@example.org < management.key",
  async run(context, { flags, config, now }) {
    const { losses, isDry, ...given } = readFlags(flags);
    const managementKey = (await context.stdin?.())?.trim();
    if (!managementKey) throw new UsageError("Standard input is empty, expected OpenRouter's management key there");
    const source = { baseUrl: flags.url ?? "https://openrouter.ai/api/v1", managementKey };
    const read = await readOpenRouterKeys(source, losses, now);
    const { note } = losses;
    return await withStore(
      config,
      async (opened) => {
        const keys = await withoutMade(read, opened, note);
        if (isDry) return showOpenRouterKeys(keys, losses.toNotes());
        // Before anything is made, since a name that cannot be accepted is refused.
        losses.toNotes();
        const created = await makeKeys(keys, opened, { account: flags.account, ...given, note, now });
        const notes = losses.toNotes();
        const shown = created.keys.map(({ name, key }) => [name, key]);
        return {
          json: { ...created, notes },
          text: [
            shown.length === 0 ? "No key was created" : `${columns(shown)}\n\nEach key is shown only once`,
            ...notes.map((text) => `- ${text}`),
          ].join("\n"),
        };
      },
      now,
    );
  },
});

function showOpenRouterKeys(keys: readonly OpenRouterKey[], notes: readonly string[]): CommandResult {
  const rows = keys.map(({ name, restriction: { budgets } }) => [name, formatBudget(budgets[0]) || "no budget"]);
  const text = [
    rows.length === 0 ? "OpenRouter has no more keys in use" : columns(rows),
    ...notes.map((note) => `- ${note}`),
  ].join("\n");
  const json = keys.map(({ name, restriction: { budgets }, expiresAt }) => {
    return { name, budget: budgets[0] ?? null, expiresAt: expiresAt ?? null };
  });
  return { json: { keys: json, notes }, text: `${text}\n\nNothing was changed` };
}

function readYaml(file: string): unknown {
  let text: string;
  try {
    text = decodeText(readFileSync(file));
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${(error as NodeJS.ErrnoException).code}`);
  }
  try {
    return Bun.YAML.parse(text);
  } catch (error) {
    throw new UsageError(`${file} is no YAML: ${(error as Error).message}`);
  }
}
