import { readFileSync } from "node:fs";
import { commandLine, createProject } from "../../accounts/index.ts";
import type { Config } from "../../config/index.ts";
import { formatUsd } from "../../contract/index.ts";
import { creditWallet } from "../../ledger/index.ts";
import { getModelNames, type ModelNames } from "../../providers/index.ts";
import { type CliContext, type CommandResult, defineCommand, UsageError } from "../command.ts";
import { type ForeignDatabase, openForeignDatabase } from "../import/foreign-database.bun.ts";
import { planLiteLlm } from "../import/litellm.ts";
import { planNewApi } from "../import/new-api.ts";
import { readOpenRouterKeys } from "../import/openrouter.ts";
import {
  addBudgets,
  applyPlan,
  formatBudget,
  formatPlan,
  type ImportPlan,
  noteBudgets,
  splitBudget,
  toNanodollars,
  toPlanJson,
  withoutClaimed,
} from "../import/plan.ts";
import { columns } from "../lib/format.ts";
import { withProviders } from "../lib/with-providers.ts";
import { findRecipient, withStore } from "../lib/with-store.ts";

const dryRun = {
  value: "",
  description: "Only print what would be imported, and what cannot be carried over",
} as const;
const database = {
  value: "URL",
  description: "Its database: postgres://…, mysql://… or the path of an SQLite file",
} as const;
const credit = {
  value: "USD",
  description: "Credit to each account that is imported without a balance, once",
} as const;

/** Makes the plan and prints it, or carries it out. */
async function runImport(
  context: CliContext,
  { config, now, isDry, url }: { config: Config; now: number; isDry: boolean; url: string | undefined },
  makePlan: (models: ModelNames, opened: ForeignDatabase | undefined) => Promise<ImportPlan>,
): Promise<CommandResult> {
  const foreign = url === undefined ? undefined : await openForeignDatabase(url);
  try {
    return await withProviders(context, { config, now }, async (providers, opened) => {
      const plan = await withoutClaimed(await makePlan(getModelNames(providers.snapshot), foreign), opened);
      const text = formatPlan(plan);
      if (isDry) return { json: toPlanJson(plan), text: `${text}\n\nNothing was changed` };
      const done = await applyPlan(plan, opened, { config, providers, now });
      const counts = [
        `${done.accounts} accounts`,
        `${done.keys} keys`,
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

/** Credit for accounts that bring no balance. */
function withCredit(plan: ImportPlan, usd: string | undefined): ImportPlan {
  if (usd === undefined) return plan;
  const nanodollars = toNanodollars(usd);
  if (nanodollars === undefined) throw new UsageError(`--credit is ${usd}, expected US dollars such as 25.00`);
  const accounts = plan.accounts.map((account) =>
    account.creditNanodollars > 0 ? account : { ...account, creditNanodollars: nanodollars },
  );
  return { ...plan, accounts };
}

export const importLiteLlm = defineCommand({
  name: "import litellm",
  description: "Take over models, teams, users, budgets and keys of LiteLLM; its keys keep working",
  flags: { database, credit, "dry-run": dryRun },
  args: ["CONFIG"],
  example: "import litellm config.yaml --database postgres://llm:secret@db.example.com/litellm --dry-run",
  run(context, { args, flags, config, now }) {
    const yaml = readYaml(args.CONFIG);
    const isDry = flags["dry-run"] !== undefined;
    return runImport(context, { config, now, isDry, url: flags.database }, async (models, foreign) => {
      const reading = { known: models, manifests: context.manifests ?? {}, env: context.env };
      return withCredit(await planLiteLlm(yaml, foreign, reading), flags.credit);
    });
  },
});

export const importNewApi = defineCommand({
  name: "import new-api",
  description: "Take over channels, users, balances and tokens of new-api or one-api; its tokens keep working",
  flags: { database: { ...database, required: true }, credit, "dry-run": dryRun },
  args: [],
  example: "import new-api --database one-api.db --dry-run",
  run(context, { flags, config, now }) {
    const isDry = flags["dry-run"] !== undefined;
    return runImport(context, { config, now, isDry, url: flags.database }, async (models, foreign) =>
      withCredit(
        await planNewApi(foreign as ForeignDatabase, { known: models, manifests: context.manifests ?? {} }),
        flags.credit,
      ),
    );
  },
});

export const importOpenRouter = defineCommand({
  name: "import openrouter",
  description:
    "Create keys like those of OpenRouter, which does not export its own; reads its management key from standard input",
  flags: {
    account: { value: "A", description: "Account that gets the keys; default: a new team, OpenRouter" },
    url: { value: "URL", description: "OpenRouter's API; default https://openrouter.ai/api/v1" },
    credit,
    "dry-run": dryRun,
  },
  args: [],
  example: "import openrouter --account ada@example.org < management.key",
  async run(context, { flags, config, now }) {
    const secret = (await context.stdin?.())?.trim();
    if (!secret) throw new UsageError("Standard input is empty, expected OpenRouter's management key there");
    const { keys, notes } = await readOpenRouterKeys(flags.url ?? "https://openrouter.ai/api/v1", secret);
    const shown = (rows: string[][]) => (rows.length === 0 ? "OpenRouter has no keys in use" : columns(rows));
    const describe = ({ name, budget }: (typeof keys)[number]) => [
      name,
      budget === undefined ? "no budget" : formatBudget(budget),
    ];
    const tail = () => notes.map((note) => `\n- ${note}`).join("");
    if (flags["dry-run"] !== undefined) {
      const text = `${shown(keys.map(describe))}${tail()}\n\nNothing was changed`;
      const json = keys.map(({ name, budget, expiresAt }) => ({
        name,
        budget: budget ?? null,
        expiresAt: expiresAt ?? null,
      }));
      return { json: { keys: json, notes }, text };
    }
    const creditNanodollars = flags.credit === undefined ? 0 : toNanodollars(flags.credit);
    if (creditNanodollars === undefined)
      throw new UsageError(`--credit is ${flags.credit}, expected US dollars such as 25.00`);
    const created = await withStore(
      config,
      async ({ store, accounts }) => {
        const accountId =
          flags.account === undefined
            ? await createProject(store, { by: commandLine, name: "OpenRouter", changes: {} }, () => now)
            : (await findRecipient(accounts, flags.account)).id;
        if (creditNanodollars > 0) {
          const fields = { accountId, nanodollars: creditNanodollars, note: "Credit at the import from OpenRouter" };
          await creditWallet(store, fields, () => now);
        }
        const made = [];
        for (const { name, budget, expiresAt } of keys) {
          if (expiresAt !== undefined && expiresAt <= now) continue;
          const { own, budgets } = splitBudget(budget);
          const bounds = own && { budgetNanodollars: own.limitNanodollars, budgetPeriod: own.period };
          const key = await accounts.createKey({ accountId, name, bounds, expiresAt, by: commandLine.accountId });
          const left = await addBudgets(store, { accountId, keyId: key.id, budgets }, now);
          notes.push(...noteBudgets(`The key ${name}`, left));
          made.push({ name, ...key });
        }
        return { account: accountId, keys: made };
      },
      now,
    );
    const rows = created.keys.map(({ name, key }) => [name, key]);
    return { json: { ...created, notes }, text: `${shown(rows)}\n\nEach key is shown only once${tail()}` };
  },
});

function readYaml(file: string): unknown {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${(error as NodeJS.ErrnoException).code}`);
  }
  try {
    return Bun.YAML.parse(text);
  } catch (error) {
    throw new UsageError(`${file} is no YAML: ${(error as Error).message}`);
  }
}
