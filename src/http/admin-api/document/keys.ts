import { type Static, Type } from "@sinclair/typebox";
import { DisplayName, GatewayError, optional, quoteValue } from "../../../contract/index.ts";
import {
  type ApiAdministrator,
  type ApiKey,
  checkKeyFields,
  createServiceAccount,
  expiryField,
  findServiceAccounts,
  keyFields,
  listServiceAccounts,
  listUsableKeys,
  readKeyFields,
  readNewKeyFields,
  type ServiceAccount,
  toKeyFieldsJson,
} from "../../../keys/index.ts";
import { bodyFields } from "../../../lib/fields.ts";
import { expectManagedKeys } from "../../../tenants/index.ts";
import type { HttpDeps } from "../../deps.ts";
import { Email } from "../../forms/read-fields.ts";
import { invalid, toSecondsOrNull } from "../lists.ts";
import { toBody, toBudget, withPlannedIds } from "./account-fields.ts";
import {
  closed,
  diff,
  entriesMax,
  entriesOf,
  expectFew,
  expectOnce,
  findOwner,
  isSame,
  readAccountNames,
  readOwnerId,
  Text,
} from "./plan-entries.ts";
import { defineSection, type Planning, type Step } from "./section.ts";

const KeyEntry = Type.Object(
  {
    id: Type.Optional(Text(100)),
    account: { ...Email, description: "The e-mail of its account, or the address of its team" },
    name: { ...DisplayName, description: "Identifies the key if `id` is absent or does not exist" },
    status: Type.Optional(Type.Union([Type.Literal("active"), Type.Literal("revoked")])),
    service_account: optional({ ...Text(200), description: "The name of the service account whose key it is" }),
    ...bodyFields({ ...expiryField, ...keyFields }),
  },
  closed,
);
type KeyEntry = Static<typeof KeyEntry>;

/** The API keys without their secrets. One is found by its id, and on another gateway by its name. */
export const keys = defineSection({
  schema: entriesOf(KeyEntry),
  area: "keys",
  async read(deps) {
    const emails = await readAccountNames(deps);
    const usable = await listUsableKeys(deps.store, deps.now(), { limit: entriesMax + 1 });
    expectFew("keys", usable.length);
    const services = await findServicesOf(deps, usable);
    return usable.flatMap((key) => {
      const account = emails.get(key.accountId);
      return account === undefined ? [] : [toKeyEntry(key, account, services)];
    });
  },
  plan: planKeys,
});

function findServicesOf({ store }: HttpDeps, keys: readonly ApiKey[]): Promise<ReadonlyMap<string, ServiceAccount>> {
  return findServiceAccounts(
    store,
    keys.flatMap(({ serviceAccountId }) => serviceAccountId ?? []),
  );
}

function toKeyEntry(key: ApiKey, account: string, services: ReadonlyMap<string, ServiceAccount>): KeyEntry {
  const service = key.serviceAccountId === undefined ? undefined : services.get(key.serviceAccountId);
  return {
    id: key.id,
    account,
    name: key.name,
    status: "active",
    ...(service !== undefined && { service_account: service.name }),
    expires_at: toSecondsOrNull(key.expiresAt),
    ...toKeyFieldsJson(key),
  };
}

async function planKeys(planning: Planning, value: readonly KeyEntry[]): Promise<Step[]> {
  const { deps, admin, accounts: accountList, keyIds, createdKeys } = planning;
  const { accounts, store, now } = deps;
  const entries = value.map((entry) => withPlannedIds(planning, entry));
  expectOnce(
    "keys",
    entries.map(({ id, account, name }) => id ?? `${account}: ${name}`),
  );
  const accountIds = [...new Set(entries.flatMap(({ account }) => accountList.get(account)?.id ?? []))];
  const usable = entries.length === 0 ? [] : await listUsableKeys(store, now(), { accountIds });
  const byAccount = Map.groupBy(usable, ({ accountId }) => accountId);
  const services = await findServicesOf(deps, usable);
  const givenIds = new Set(entries.flatMap(({ id = [] }) => id));
  /** The keys that entries stand for. */
  const takenIds = new Set(usable.flatMap(({ id }) => (givenIds.has(id) ? id : [])));
  const steps: Step[] = [];
  for (const { id, account: email, status = "active", name, budget_usd, budget_period, ...others } of entries) {
    const account = findOwner(planning, { section: "keys", what: `the key ${quoteValue(name)}`, email });
    const present = account === undefined ? [] : (byAccount.get(account.id) ?? []);
    const named = present.filter((key) => key.name === name && !takenIds.has(key.id));
    const toWanted = (current: Partial<ReturnType<typeof toKeyEntry>>) => {
      return { name, ...others, ...toBudget({ budget_usd, budget_period }, current) };
    };
    const isAsWanted = (one: ApiKey) => {
      const current = toKeyEntry(one, email, services);
      return isSame(diff(current, toWanted(current)));
    };
    // Ids of another gateway match no key here. An entry then takes a key of its name, at best one that needs no change.
    const candidate = id === undefined && named.length > 1 ? undefined : (named.find(isAsWanted) ?? named[0]);
    const key = present.find((one) => one.id === id) ?? candidate;
    if (key === undefined && named.length > 1) {
      throw invalid("keys", `${email} has ${named.length} keys called ${quoteValue(name)}; identify one by its id`);
    }
    if (key !== undefined) takenIds.add(key.id);
    if (id !== undefined && key !== undefined) keyIds.set(id, key.id);
    const common = { id: `${email}: ${name}`, account };
    if (status === "revoked") {
      if (key === undefined) continue;
      steps.push({ ...common, action: "remove", fields: {}, run: () => accounts.revokeKey(key.id, admin.accountId) });
      continue;
    }
    const current: Partial<ReturnType<typeof toKeyEntry>> = key === undefined ? {} : toKeyEntry(key, email, services);
    const { service_account: service, ...target } = toWanted(current);
    if (key === undefined) {
      if (account !== undefined) await expectManagedKeys(store, admin, account.id);
      // A key that has ended since it was exported is not made again.
      if (others.expires_at != null && others.expires_at * 1000 <= now()) continue;
      const { name: _, ...fields } = diff({}, { ...target, service_account: service });
      const limits = readNewKeyFields(toBody(target, fields), now());
      checkKeyFields({ name, ...limits }, now());
      steps.push({
        ...common,
        action: "create",
        fields,
        async run() {
          const accountId = await readOwnerId(planning, email);
          const serviceAccountId =
            service == null ? undefined : await openServiceAccount(deps, admin, { accountId, name: service });
          const made = await accounts.createKey({ accountId, by: admin.accountId, name, serviceAccountId, ...limits });
          if (id !== undefined) keyIds.set(id, made.id);
          createdKeys.push({ account: email, name, id: made.id, value: made.key });
        },
      });
      continue;
    }
    if (service !== undefined && service !== (current.service_account ?? null)) {
      throw new GatewayError("conflict", `The key ${name} of ${email} stays with its service account; create another`, {
        param: "keys",
      });
    }
    const fields = diff(current, target);
    if (isSame(fields)) continue;
    await expectManagedKeys(store, admin, key.accountId);
    const body = toBody(target, fields);
    const changes = { name: body.name, ...readKeyFields(body, now()) };
    steps.push({
      ...common,
      action: "change",
      fields,
      run: () => accounts.changeKey(key.id, changes, admin.accountId),
    });
  }
  return steps;
}

/**
 * Finds the service account of this name, or creates it.
 *
 * @returns Its id.
 */
async function openServiceAccount(
  { store, now }: HttpDeps,
  admin: ApiAdministrator,
  { accountId, name }: { accountId: string; name: string },
): Promise<string> {
  const present = await listServiceAccounts(store, accountId, { limit: entriesMax });
  const current = present.find((one) => one.name === name);
  return (current ?? (await createServiceAccount(store, { accountId, name, by: admin.accountId }, now()))).id;
}
