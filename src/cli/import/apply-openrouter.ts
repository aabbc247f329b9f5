import { commandLine } from "../../audit/index.ts";
import { GatewayError } from "../../contract/index.ts";
import { inTransaction } from "../../db/index.ts";
import { creditWallet } from "../../ledger/index.ts";
import { createProject, findImported, noteImported, type ProjectChanges } from "../../tenants/index.ts";
import { expectRecipient, type OpenedStore } from "../lib/with-store.ts";
import { addBudgets, noteBudgets } from "./apply-plan.ts";
import type { OpenRouterKey } from "./openrouter.ts";
import { toKeyFields } from "./restrictions.ts";

const openRouter = "openrouter";

/** The keys that no earlier import made. */
export async function withoutMade(
  keys: readonly OpenRouterKey[],
  { store }: OpenedStore,
  note: (message: string) => void,
): Promise<OpenRouterKey[]> {
  const fresh: OpenRouterKey[] = [];
  for (const key of keys) {
    const target = await findImported(store, { source: openRouter, kind: "key", ref: key.ref });
    if (target === undefined) fresh.push(key);
    else note(`Key ${key.name} was made at an earlier import: ${target}, which stays as it is`);
  }
  return fresh;
}

/** Creates keys that are modelled on OpenRouter's keys. */
export async function makeKeys(
  keys: readonly OpenRouterKey[],
  { store, accounts }: OpenedStore,
  {
    account,
    creditNanodollars,
    freeTokensPerDay,
    note,
    now,
  }: {
    account: string | undefined;
    creditNanodollars: number;
    freeTokensPerDay: number;
    note: (message: string) => void;
    now: number;
  },
) {
  const accountId =
    account === undefined
      ? await openTeam(store, { changes: { freeTokensPerDay }, now })
      : (await expectRecipient(accounts, account)).id;
  if (creditNanodollars > 0) {
    const fields = {
      accountId,
      nanodollars: creditNanodollars,
      note: "Credit at the import from OpenRouter",
      reference: `import:${openRouter}:${accountId}`,
    };
    try {
      await creditWallet(store, fields, () => now);
    } catch (error) {
      if (!(error instanceof GatewayError) || error.code !== "conflict") throw error;
      note("The account was credited at an earlier import with another sum, which stays");
    }
  }
  const made = [];
  for (const { name, ref, restriction, expiresAt } of keys) {
    const { bounds, budgets } = toKeyFields(restriction);
    const imported = { source: openRouter, ref };
    const by = commandLine.accountId;
    const key = await accounts.createKey({ accountId, name, bounds, expiresAt, by, imported });
    for (const text of noteBudgets(
      `The key ${name}`,
      await addBudgets(store, { accountId, keyId: key.id, budgets }, now),
    )) {
      note(text);
    }
    made.push({ name, ...key });
  }
  return { account: accountId, keys: made };
}

/** The team of all imports without an account. */
async function openTeam(
  store: OpenedStore["store"],
  { changes, now }: { changes: ProjectChanges; now: number },
): Promise<string> {
  const team = { source: openRouter, kind: "account", ref: "" } as const;
  const present = await findImported(store, team);
  if (present !== undefined) return present;
  return inTransaction(store, async (scope) => {
    const target = await createProject(scope, { by: commandLine, name: "OpenRouter", changes }, () => now);
    await noteImported(scope, { ...team, target }, now);
    return target;
  });
}
