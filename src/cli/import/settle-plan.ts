import { createHash } from "node:crypto";
import { formatUsd, isName, toName } from "../../contract/index.ts";
import { networksMax } from "../../keys/index.ts";
import { latestTimeMs } from "../../lib/expiry.ts";
import type { ModelNames } from "../../providers/index.ts";
import { type Account, findImported } from "../../tenants/index.ts";
import type { OpenedStore } from "../lib/with-store.ts";
import type { DraftAccount, DraftKey, DraftPlan, ImportPlan, PlannedAccount, PlannedKey } from "./plan.ts";
import {
  both,
  isRestricting,
  type Restriction,
  share,
  toAccountFields,
  toKeyFields,
  unrestricted,
} from "./restrictions.ts";

interface Settling {
  readonly known: ModelNames;
  /**
   * Free tokens per day of each account that the import creates. Calls of free models count in no budget, so the
   * default is 0.
   */
  readonly freeTokensPerDay: number;
}

/**
 * Decides where everything of a draft goes, by what is here. What restricts an account is put on its keys where the account is not
 * made by this import, and nothing goes to somebody who has only signed up with the e-mail of a user there.
 */
export async function settlePlan(
  draft: DraftPlan,
  { store, accounts: own }: Pick<OpenedStore, "store" | "accounts">,
  { known, freeTokensPerDay }: Settling,
): Promise<ImportPlan> {
  const { source, models, providers, accounts, keys, losses } = withNames(draft);
  const byAccount = Map.groupBy(keys, ({ account }) => account);
  const made = new Map<string, string>();
  const settled: PlannedAccount[] = [];
  const onKeys = new Map<string, Restriction>();
  const leftOut = new Set<string>();
  for (const account of accounts) {
    const { ref, name, email, restriction, ...others } = account;
    const ofAccount = byAccount.get(ref) ?? [];
    const address = email ?? addressOf(source, ref);
    const importedId = await findImported(store, { source, kind: "account", ref });
    const here = importedId === undefined ? await own.find(address) : await own.find(importedId);
    // The second of two users there with one e-mail is in the account of the first.
    const first = here === undefined ? made.get(address) : undefined;
    if (here?.holder === "claimed" && importedId === undefined) {
      leftOut.add(ref);
      losses.note(describeClaimed(address, account, ofAccount));
      continue;
    }
    if (here === undefined && first === undefined) {
      made.set(address, ref);
      const { changes, ...beside } = toAccountFields(restriction);
      settled.push({ ref, name, email, ...others, ...beside, changes: { freeTokensPerDay, ...changes } });
      continue;
    }
    if (importedId === undefined) {
      onKeys.set(ref, share(restriction, ofAccount.length));
      losses.note(describeShared(here, { account, keys: ofAccount.length, address }));
    }
    const target = here === undefined ? { sharedWith: first } : { id: here.id };
    settled.push({ ref, name, email, ...others, ...target, changes: {}, budgets: [], modelLimits: [] });
  }
  const texts = new Set<string>();
  const settledKeys = keys.flatMap((key) => {
    if (leftOut.has(key.account)) return [];
    // The other gateway finds the first one.
    if (texts.has(key.sha256)) {
      losses.note(`The key ${key.name} has the text of another key, which comes first there, and is left out`);
      return [];
    }
    texts.add(key.sha256);
    return [toPlannedKey(key, onKeys.get(key.account), losses.note)];
  });
  if (settled.some(({ id, sharedWith }) => id === undefined && sharedWith === undefined)) {
    noteFreeModels({ models, providers }, known, { freeTokensPerDay, note: losses.note });
  }
  return { source, models, providers, accounts: settled, keys: settledKeys, notes: losses.toNotes() };
}

/** Names of people there may have characters that no name has here. */
function withNames({ models, accounts, keys, losses, ...draft }: DraftPlan): DraftPlan {
  const unnamed = models.filter(({ name }) => !isName(name));
  if (unnamed.length > 0) losses.note(`${unnamed.length} models are left out, because their names are not valid here`);
  return {
    ...draft,
    models: models.filter(({ name }) => isName(name)),
    accounts: accounts.map((account) => ({ ...account, name: toName(account.name) ?? account.ref })),
    keys: keys.map((key) => ({ ...key, name: toName(key.name) ?? "key" })),
    losses,
  };
}

function toPlannedKey(
  { restriction, heldFor, expiresAt, allowedNetworks: networks, ...key }: DraftKey,
  more: Restriction = unrestricted,
  note: (message: string) => void,
): PlannedKey {
  const holds = [...new Set(heldFor)].sort().join(", ");
  if (networks !== undefined && networks.length > networksMax) {
    note(`The key ${key.name} has ${networks.length} networks: the first ${networksMax} of them are allowed here`);
  }
  return {
    ...key,
    // An end that no calendar has is as far as one goes.
    expiresAt: expiresAt === undefined ? undefined : Math.min(Math.floor(expiresAt), latestTimeMs),
    allowedNetworks: networks?.slice(0, networksMax),
    ...toKeyFields(both(restriction, more)),
    ...(holds !== "" && { heldFor: holds }),
  };
}

function describeClaimed(
  email: string,
  { creditNanodollars: credit }: DraftAccount,
  keys: readonly DraftKey[],
): string {
  const money = credit > 0 ? ` and ${formatUsd(credit)} USD` : "";
  return (
    `${email} is only claimed here, by somebody who signed up with it: ${keys.length} keys${money} are left out. Take the account ` +
    `back (modelgate account invite ${email}, or POST /organization/invites), and import again`
  );
}

function describeShared(
  here: Account | undefined,
  { account, keys, address }: { account: DraftAccount; keys: number; address: string },
): string {
  const { name, restriction, creditNanodollars: credit } = account;
  const whose =
    here === undefined
      ? `the account of another user with the e-mail ${address}`
      : `${here.email}, which is here already`;
  const money = credit > 0 ? ` and ${formatUsd(credit)} USD` : "";
  const limits = isRestricting(restriction) ? "; what restricts it there is shared out among them" : "";
  return `The account of ${name} is ${whose}: it gets ${keys} keys${money}${limits}`;
}

/** Names the models that draw on the free quota, which no budget and no wallet pays for. */
function noteFreeModels(
  { models, providers }: Pick<DraftPlan, "models" | "providers">,
  known: ModelNames,
  { freeTokensPerDay, note }: { freeTokensPerDay: number; note: (message: string) => void },
): void {
  const rows = providers.flatMap(({ manifest }) => (manifest?.models ?? []) as { id: string; premium?: boolean }[]);
  const ownFree = new Set(rows.filter(({ premium }) => premium !== true).map(({ id }) => id));
  const isFree = (id: string) => ownFree.has(id) || known.findAtProvider(id)?.premium === false;
  const names = models.filter(({ targets }) => targets.some(({ model }) => isFree(model))).map(({ name }) => name);
  if (names.length === 0) return;
  const list = names.slice(0, 10).join(", ") + (names.length > 10 ? ", …" : "");
  note(
    freeTokensPerDay > 0
      ? `${list} draw on the free quota here, ${freeTokensPerDay} tokens a day for each account that is created: no budget pays for them`
      : `${list} draw on the free quota here, which is 0 for accounts that are created: --free-tokens 250000 sets it for each of them`,
  );
}

/** Address of an imported team. The next import finds the team by it. */
export function addressOf(source: string, ref: string): string {
  const digest = createHash("sha256")
    .update(JSON.stringify([source, ref]))
    .digest("hex")
    .slice(0, 32);
  return `import-${digest}@imported.invalid`;
}
