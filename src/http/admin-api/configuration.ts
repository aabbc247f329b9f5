/**
 * One document with all that an operator decides: accounts and teams, API keys without their secrets, budgets, limits of models and roles,
 * providers, catalogue, virtual models, rules of alerts and issuers of tokens. Reading it gives the state; writing it makes the state what it says, which is
 * planned first, entry by entry, so that a plan can be read before anything changes and a document that is in force changes nothing.
 * What the document does not name is left as it is: an account is archived, a key revoked and a provider removed by saying so.
 */
import { isDeepStrictEqual } from "node:util";
import { type Static, type TSchema, Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import {
  gatewayOwner,
  getRulesOf,
  listMetricRules,
  type MetricRule,
  type RuleSetting,
  readRules,
} from "../../alerts/index.ts";
import { DisplayName, formatUsd, GatewayError, quoteValue } from "../../contract/index.ts";
import { ownBudgetId } from "../../db/index.ts";
import { parseTokenIssuers } from "../../identity/index.ts";
import {
  type ApiAdministrator,
  type ApiKey,
  checkKeyFields,
  createServiceAccount,
  findServiceAccounts,
  listServiceAccounts,
  listUsableKeys,
  type ServiceAccount,
} from "../../keys/index.ts";
import { readJson } from "../../lib/json.ts";
import type { ProviderPlugin } from "../../provider/index.ts";
import { checkManifest } from "../../providers/index.ts";
import {
  type Account,
  type AdminKeyArea,
  accountRoles,
  addNewToTeam,
  addToTeam,
  changeBudget,
  changeProject,
  changeRoleLimits,
  checkBudget,
  checkModelLimits,
  checkRoleLimits,
  createBudget,
  createProject,
  deleteBudget,
  deleteModelLimits,
  eachAccount,
  emailsOf,
  expectKnownHolder,
  expectManagedKeys,
  findAccounts,
  findMembers,
  hasScope,
  listAccountsPage,
  listBudgets,
  listModelLimits,
  listRoleLimits,
  listUsersPage,
  parseEmail,
  parseTeamAddress,
  type StoredBudget,
  type StoredModelLimits,
  setModelLimits,
  type TeamMember,
  teamActions,
  type User,
} from "../../tenants/index.ts";
import type { HttpDeps } from "../deps.ts";
import {
  type MetricRuleBody,
  metricRuleActions,
  metricRuleFields,
  readMetricRule,
  readThreshold,
  toMetricRuleJson,
  toRuleJson,
  writeAuditedRule,
} from "../forms/alerts.ts";
import { Email, keyFields, limitFields, Models, modelNamesOf, Period, readBudget, Usd } from "../forms/read-fields.ts";
import { toKeyFieldsJson, toLimitsJson } from "../forms/serializers.ts";
import { parseUrl } from "../lifecycle/origin.ts";
import { formBody } from "../lifecycle/validate.ts";
import { budgetAmounts, budgetTarget, readBudgetChanges, toTarget } from "./budgets.ts";
import { changeCatalogue, readCatalogueBody } from "./catalogue.ts";
import { type AdminApi, adminRoutes, describeRead, describeWrite, lacksScope, writeOnce } from "./guard.ts";
import { invalid, readFlag, removable } from "./lists.ts";
import { readKeyChanges, readKeyLimits } from "./project-keys.ts";
import { readProjectChanges } from "./projects.ts";
import { idOfLimitedModel } from "./rate-limits.ts";

const Text = (maxLength: number) => Type.String({ minLength: 1, maxLength });
const closed = { additionalProperties: false };

const AccountEntry = Type.Object(
  {
    email: { ...Email, description: "By which an account is found; that of a team is its address" },
    kind: Type.Optional(
      Type.Union([Type.Literal("account"), Type.Literal("team")], { description: "What is created; default: account" }),
    ),
    verified: Type.Optional(
      Type.Literal(false, {
        description: "Somebody only signed up with this e-mail. Without it, the document gives such an account nothing",
      }),
    ),
    name: removable(DisplayName),
    status: Type.Optional(Type.Union([Type.Literal("active"), Type.Literal("archived")])),
    allowed_models: removable(Models),
    free_tokens_per_day: removable(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
    ...limitFields,
    budget_usd: removable(Usd),
    budget_period: removable(Period),
    billed_afterwards: Type.Optional(Type.Boolean()),
    people: Type.Optional(
      Type.Array(
        Type.Object({ email: Email, role: Type.Union([Type.Literal("admin"), Type.Literal("member")]) }, closed),
        {
          maxItems: 500,
          description:
            "Members of a team other than its holder. Those who do not sign in yet get an account and need an invitation",
        },
      ),
    ),
  },
  closed,
);
const KeyEntry = Type.Object(
  {
    id: Type.Optional(Text(100)),
    account: { ...Email, description: "The e-mail of its account, or the address of its team" },
    name: { ...DisplayName, description: "By which a key is found where no id is given, or none has it" },
    status: Type.Optional(Type.Union([Type.Literal("active"), Type.Literal("revoked")])),
    service_account: removable({ ...Text(200), description: "The name of the service account whose key it is" }),
    expires_at: removable(Type.Integer({ minimum: 1, maximum: 10_000_000_000, description: "Seconds since 1970" })),
    ...keyFields,
    budget_period: removable(Period),
  },
  closed,
);
const ProviderEntry = Type.Object(
  {
    name: Text(60),
    status: Type.Optional(
      Type.Union([Type.Literal("present"), Type.Literal("removed")], { description: "Of one that was added here" }),
    ),
    manifest: Type.Optional(
      Type.Unknown({ description: "Of one that was added here or is now; its keys are set apart" }),
    ),
    enabled: Type.Optional(Type.Boolean()),
    priority: removable(Type.Integer({ minimum: 0, maximum: 1000 })),
    weight: removable(Type.Integer({ minimum: 0, maximum: 1000 })),
  },
  closed,
);
/** One of the gateway's rules, or one of the operator's own for a metric, which has a name and the fields after it. */
const RuleEntry = Type.Object(
  {
    rule: { ...Text(60), description: "`metric`: a rule of the operator's own" },
    enabled: Type.Optional(Type.Boolean()),
    threshold: removable(Type.String({ maxLength: 30 })),
    id: Type.Optional(Text(100)),
    name: Type.Optional({
      ...metricRuleFields.name,
      description: "By which a rule for a metric is found without its id",
    }),
    status: Type.Optional(Type.Union([Type.Literal("present"), Type.Literal("removed")])),
    metric: Type.Optional(metricRuleFields.metric),
    scope: Type.Optional(metricRuleFields.scope),
    subject: metricRuleFields.subject,
    comparison: Type.Optional(metricRuleFields.comparison),
    minutes: Type.Optional(metricRuleFields.minutes),
    min_calls: metricRuleFields.min_calls,
  },
  closed,
);
type RuleEntry = Static<typeof RuleEntry>;

const BudgetEntry = Type.Object(
  {
    account: Type.Optional({
      ...Email,
      description: "The e-mail of its account, or the address of its team; absent: each by itself",
    }),
    ...budgetTarget,
    ...budgetAmounts,
    budget_usd: Type.Optional(Usd),
    status: Type.Optional(Type.Union([Type.Literal("present"), Type.Literal("removed")])),
  },
  closed,
);
type BudgetEntry = Static<typeof BudgetEntry>;

const RateLimitEntry = Type.Object(
  {
    account: Type.Optional({
      ...Email,
      description: "The e-mail of its account, or the address of its team; absent: each",
    }),
    api_key_id: removable({ ...Text(100), description: "`null`: all keys of the account together" }),
    model: Text(200),
    ...limitFields,
    status: Type.Optional(Type.Union([Type.Literal("present"), Type.Literal("removed")])),
  },
  closed,
);
type RateLimitEntry = Static<typeof RateLimitEntry>;

const RoleLimitEntry = Type.Object(
  {
    role: Type.Union(
      accountRoles.map((role) => Type.Literal(role)),
      {
        description: "`none`: accounts that nobody signs in to, such as those of teams",
      },
    ),
    ...limitFields,
    free_tokens_per_day: removable(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
  },
  closed,
);

/** Rows in one section of a document. */
const entriesMax = 10_000;
const list = (entry: TSchema) => Type.Optional(Type.Array(entry, { maxItems: entriesMax }));
const sectionSchemas = {
  accounts: Type.Optional(Type.Array(AccountEntry, { maxItems: entriesMax })),
  keys: Type.Optional(Type.Array(KeyEntry, { maxItems: entriesMax })),
  budgets: Type.Optional(Type.Array(BudgetEntry, { maxItems: entriesMax })),
  rate_limits: Type.Optional(
    Type.Array(RateLimitEntry, {
      maxItems: entriesMax,
      description: "Of single models; others stand with what they bind",
    }),
  ),
  role_limits: Type.Optional(
    Type.Array(RoleLimitEntry, {
      maxItems: accountRoles.length,
      description: "Of accounts that have none of their own, by the role of their holder",
    }),
  ),
  providers: Type.Optional(Type.Array(ProviderEntry, { maxItems: 200 })),
  sandbox: Type.Optional(Type.Union([Type.Literal("on"), Type.Literal("off"), Type.Literal("auto")])),
  catalogue: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), { description: "The operator's files by name without .json" }),
  ),
  virtual_models: list(Type.Unknown()),
  alerts: Type.Optional(Type.Array(RuleEntry, { maxItems: 100 })),
  jwt_issuers: list(Type.Unknown()),
};
const Document = formBody(sectionSchemas);
type Document = Static<typeof Document>;
type Section = keyof typeof sectionSchemas;
const sections = Object.keys(sectionSchemas) as Section[];

/** The scope that each section needs, to read or to write. */
const areas: Readonly<Record<Section, AdminKeyArea>> = {
  accounts: "accounts",
  keys: "keys",
  budgets: "accounts",
  rate_limits: "accounts",
  role_limits: "accounts",
  providers: "providers",
  sandbox: "providers",
  catalogue: "catalogue",
  virtual_models: "catalogue",
  alerts: "alerts",
  jwt_issuers: "accounts",
};

const Value = Type.Unknown();
const Plan = Type.Object({
  object: Type.Literal("organization.config.plan"),
  dry_run: Type.Boolean(),
  changes: Type.Array(
    Type.Object({
      section: Type.String(),
      id: Type.String({ description: "The name of the entry" }),
      action: Type.Union(["create", "change", "remove"].map((word) => Type.Literal(word as Change["action"]))),
      fields: Type.Record(Type.String(), Type.Object({ before: Value, after: Value })),
    }),
  ),
  warnings: Type.Array(Type.String(), { description: "Names of models that no model here has" }),
  keys: Type.Array(
    Type.Object({
      account: Type.String(),
      name: Type.String(),
      id: Type.String(),
      value: Type.String({ description: "The key, which is shown only here" }),
    }),
    { description: "Those that were created" },
  ),
});

/** One entry that is not as the document says. */
interface Change {
  readonly section: Section;
  readonly id: string;
  readonly action: "create" | "change" | "remove";
  readonly fields: Record<string, { before: unknown; after: unknown }>;
}

/** Warnings of one plan. */
const warningsMax = 50;

interface CreatedKey {
  readonly account: string;
  readonly name: string;
  readonly id: string;
  readonly value: string;
}

interface Step extends Change {
  /** The account that it changes, as it is now; absent: it is made by a step before, or the step is of no account. */
  readonly account?: Account | undefined;
  run(): Promise<unknown>;
}

interface Planning {
  readonly deps: HttpDeps;
  readonly admin: ApiAdministrator;
  readonly document: Document;
  /** The accounts and teams that the document names, by the names that it has for them. */
  readonly accounts: ReadonlyMap<string, Account>;
  /** The ids that keys of the document have here, by the ids that it has for them. Those that are created come later. */
  readonly keyIds: Map<string, string>;
  /** The keys that were created, as far as the steps have run. */
  readonly createdKeys: CreatedKey[];
  /** The providers that it adds, replaces and removes, as far as it is planned. */
  readonly providers: { readonly added: ProviderPlugin[]; readonly removed: string[] };
  /** The ids of models that the document adds, by their names. */
  readonly addedModels: ReadonlyMap<string, string>;
  /** Names that no model has, one message each. */
  readonly warnings: Set<string>;
}

/** The document of the gateway below /organization/config. */
export function configurationController(deps: HttpDeps, api: AdminApi) {
  return new Elysia({ prefix: "/organization/config" })
    .use(adminRoutes(deps, api, undefined, readCatalogueBody))
    .get(
      "",
      async ({ request, admin }) => {
        const sections = parseUrl(request).searchParams.get("sections");
        return await readDocument(deps, chooseSections(admin, sections));
      },
      {
        detail: describeRead("Retrieve all that an operator decides as one document", Document, {
          description: "Without secrets. Of a key that may not read all of it, the sections that it may read.",
          query: {
            sections: {
              description: "Some of them, divided by commas: `providers,catalogue`",
              schema: { type: "string" },
            },
          },
        }),
      },
    )
    .put(
      "",
      ({ request, admin, body }) =>
        writeOnce(deps, { request, admin, body }, async () => {
          const isDryRun = readFlag(parseUrl(request).searchParams, "dry_run");
          const accounts = await findAccounts(deps.store, listAccountNames(body));
          const none = {
            keyIds: new Map(),
            createdKeys: [],
            warnings: new Set<string>(),
            providers: { added: [], removed: [] },
          };
          const addedModels = listAddedModels(body);
          const planning: Planning = { deps, admin, document: body, accounts, addedModels, ...none };
          const steps = await planDocument(planning);
          if (!isDryRun) await runSteps(planning, steps);
          const changes = steps.map(({ run: _, account: __, ...change }) => change);
          return {
            object: "organization.config.plan" as const,
            dry_run: isDryRun,
            changes,
            warnings: [...planning.warnings].slice(0, warningsMax),
            keys: planning.createdKeys,
          };
        }),
      {
        body: Document,
        detail: describeWrite("Make the gateway what a document says", Plan, {
          description:
            "Sections and entries that are absent stay as they are. With `dry_run=true` nothing changes, and the answer is the " +
            "plan. Entries are written one after the other: when one is refused, those before it are in force, and the same " +
            "document can be sent again; keys that were created until then are revoked, as their values were never delivered.",
          query: {
            dry_run: { description: "Only say what would change", schema: { type: "boolean", default: false } },
          },
        }),
      },
    );
}

/** Runs the steps of a plan one after the other. */
async function runSteps({ deps, admin, createdKeys }: Planning, steps: readonly Step[]): Promise<void> {
  try {
    for (const step of steps) await step.run();
  } catch (error) {
    // Nobody would ever see their values.
    for (const { id } of createdKeys) await deps.accounts.revokeKey(id, admin.accountId);
    throw error;
  }
}

/** The sections that a request asks for and its key may read. @throws {GatewayError} `invalid_request`, `forbidden` */
function chooseSections(admin: ApiAdministrator, text: string | null): Section[] {
  const mayRead = (section: Section) => hasScope(admin.scopes, areas[section], "read");
  if (text === null || text === "") {
    const readable = sections.filter(mayRead);
    if (readable.length > 0) return readable;
    throw lacksScope(admin, "of any section");
  }
  return text.split(",").map((name) => {
    const section = sections.find((one) => one === name.trim());
    if (section === undefined) {
      throw invalid("sections", `sections has ${quoteValue(name)}, expected some of ${sections.join(", ")}`);
    }
    if (!mayRead(section)) throw lacksScope(admin, `${areas[section]}:read, which ${section} needs`);
    return section;
  });
}

async function readDocument(deps: HttpDeps, sections: readonly Section[]): Promise<Document> {
  const document: Record<string, unknown> = {};
  for (const section of sections) {
    const value = await readers[section](deps);
    if (value !== undefined) document[section] = value;
  }
  return document as Document;
}

const readers: { readonly [S in Section]: (deps: HttpDeps) => Promise<Document[S]> | Document[S] } = {
  async accounts(deps) {
    const accounts = await listAll(deps);
    const members = await findMembers(deps.store);
    return accounts.map((account) => toAccountEntry(account, members.get(account.id)));
  },
  async keys(deps) {
    const { store, now } = deps;
    const emails = new Map((await listAll(deps)).map(({ id, email }) => [id, email]));
    const keys = await listUsableKeys(store, now(), { limit: entriesMax + 1 });
    expectFew("keys", keys.length);
    const services = await findServicesOf(deps, keys);
    return keys.flatMap((key) => {
      const account = emails.get(key.accountId);
      return account === undefined ? [] : [toKeyEntry(key, account, services)];
    });
  },
  async budgets(deps) {
    const emails = new Map((await listAll(deps)).map(({ id, email }) => [id, email]));
    const budgets = await listBudgets(deps.store, undefined, { limit: entriesMax + 1 });
    expectFew("budgets", budgets.length);
    const entries = budgets.flatMap((budget) => {
      const entry = toBudgetEntry(budget, deps.now());
      if (budget.isOfGateway) return [entry];
      const account = emails.get(budget.accountId);
      // Accounts and keys have their own budgets among their fields.
      return account === undefined || (isOwn(budget) && entry.raise_usd === null) ? [] : [{ account, ...entry }];
    });
    // Those of one document are made in the same millisecond: only what they count tells their order again.
    return entries.sort((a, b) => (labelBudget(a) < labelBudget(b) ? -1 : 1));
  },
  async rate_limits(deps) {
    const emails = new Map((await listAll(deps)).map(({ id, email }) => [id, email]));
    const limits = await listModelLimits(deps.store, undefined, entriesMax + 1);
    expectFew("rate_limits", limits.length);
    return limits.flatMap(({ accountId, ...entry }) => {
      if (accountId === undefined) return [toRateLimitEntry(entry)];
      const account = emails.get(accountId);
      return account === undefined ? [] : [{ account, ...toRateLimitEntry(entry) }];
    });
  },
  role_limits: async ({ store }) => (await listRoleLimits(store)).map(toRoleLimitEntry),
  providers: ({ providers }) =>
    [...providers.settings.rows.values()]
      .filter(({ isRemoved }) => !isRemoved)
      .map(({ name, manifest, isEnabled, priority, weight }) => ({
        name,
        ...(manifest !== undefined && { manifest: readJson(manifest, "file") }),
        enabled: isEnabled,
        priority: priority ?? null,
        weight: weight ?? null,
      })),
  // The environment decides it, which is not this document's.
  sandbox: ({ providers: { settings } }) =>
    settings.sandbox.source === "environment" ? undefined : settings.sandbox.setting,
  catalogue(deps) {
    const { virtual: _, ...files } = deps.catalogue.read().files;
    return files;
  },
  virtual_models: (deps) => toRows(deps.catalogue.read().files.virtual),
  async alerts({ store }) {
    const rules = (await readRules(store, [gatewayOwner])).get(gatewayOwner) ?? [];
    const metricRules = await listMetricRules(store);
    const emails = await emailsOf(
      store,
      metricRules.map(({ subject }) => subject),
    );
    return [
      ...rules.map(toRuleJson).map(({ rule, enabled, threshold }) => ({ rule, enabled, threshold })),
      ...metricRules.map((rule) => toMetricEntry(rule, emails)),
    ];
  },
  jwt_issuers: async ({ tokenIssuers }) =>
    tokenIssuers.isFromEnvironment ? undefined : [...(await tokenIssuers.read())],
};

async function listAll({ store }: HttpDeps): Promise<Account[]> {
  const accounts = await listAccountsPage(store, { limit: entriesMax + 1, includesDisabled: true });
  expectFew("accounts", accounts.length);
  return accounts;
}

/** A document of more entries is no document that somebody reads. @throws {GatewayError} `invalid_request` */
function expectFew(section: Section, count: number): void {
  if (count <= entriesMax) return;
  throw invalid(
    "sections",
    `There are more than ${entriesMax} ${section}; ask for the other sections, and list ${section} by their own endpoint`,
  );
}

function toAccountEntry(account: Account, members: readonly TeamMember[] = []): Static<typeof AccountEntry> {
  const { budget } = account;
  return {
    email: account.email,
    kind: members.length > 0 || account.email.endsWith(".invalid") ? "team" : "account",
    ...(account.holder === "claimed" && { verified: false }),
    name: account.name ?? null,
    status: account.disabledAt === undefined ? "active" : "archived",
    allowed_models: account.allowedModels ?? null,
    free_tokens_per_day: account.freeTokensPerDay ?? null,
    ...toLimitsJson(account),
    budget_usd: budget === undefined ? null : formatUsd(budget.limitNanodollars),
    budget_period: budget?.period ?? null,
    ...(account.isBilledAfterwards && { billed_afterwards: true }),
    ...(members.length > 0 && { people: members.map(({ email, role }) => ({ email, role })) }),
  };
}

function findServicesOf({ store }: HttpDeps, keys: readonly ApiKey[]): Promise<ReadonlyMap<string, ServiceAccount>> {
  return findServiceAccounts(
    store,
    keys.flatMap(({ serviceAccountId }) => serviceAccountId ?? []),
  );
}

function toKeyEntry(
  key: ApiKey,
  account: string,
  services: ReadonlyMap<string, ServiceAccount>,
): Static<typeof KeyEntry> {
  const service = key.serviceAccountId === undefined ? undefined : services.get(key.serviceAccountId);
  return {
    id: key.id,
    account,
    name: key.name,
    status: "active",
    ...(service !== undefined && { service_account: service.name }),
    expires_at: key.expiresAt === undefined ? null : Math.floor(key.expiresAt / 1000),
    ...toKeyFieldsJson(key),
  };
}

/** The account of a rule is named by its e-mail, which it has on another gateway too. */
function toMetricEntry(rule: MetricRule, emails: ReadonlyMap<string, string>): RuleEntry {
  const { unit: _, subject, ...fields } = toMetricRuleJson(rule);
  return { rule: "metric", ...fields, subject: emails.get(subject) ?? subject };
}

function toRows(file: unknown): unknown[] {
  const rows = Array.isArray(file) ? file : (file as { models?: unknown } | undefined)?.models;
  return Array.isArray(rows) ? rows : [];
}

/** The accounts and teams that entries name. */
function listAccountNames({ accounts = [], keys = [], budgets = [], rate_limits: limits = [] }: Document): string[] {
  const names = [...keys, ...budgets, ...limits].flatMap(({ account = [] }) => account);
  return [...accounts.map(({ email }) => email), ...names];
}

/** Plans the changes, in an order in which each entry finds what it names. @throws {GatewayError} */
async function planDocument(planning: Planning): Promise<Step[]> {
  const { admin, document } = planning;
  const present = sections.filter((section) => document[section] !== undefined);
  for (const section of present) {
    if (!hasScope(admin.scopes, areas[section], "write")) {
      throw lacksScope(admin, `${areas[section]}:write, which ${section} needs`);
    }
  }
  const steps = [
    ...(await planProviders(planning)),
    ...planCatalogue(planning),
    ...(await planAccounts(planning)),
    ...(await planKeys(planning)),
    ...(await planBudgets(planning)),
    ...(await planRateLimits(planning)),
    ...(await planRoleLimits(planning)),
    ...(await planAlerts(planning)),
    ...(await planIssuers(planning)),
  ];
  expectKnownHolders(planning, steps);
  return steps;
}

/**
 * A document names accounts by their e-mails. Where somebody has only signed up with one, it may end things, and otherwise has to
 * say that it knows: an entry of the account with `verified: false`, as exports have it.
 *
 * @throws {GatewayError} `conflict`
 */
function expectKnownHolders({ document, accounts }: Planning, steps: readonly Step[]): void {
  const declared = (document.accounts ?? []).filter(({ verified }) => verified === false);
  const declaredIds = new Set(declared.flatMap(({ email }) => accounts.get(email)?.id ?? []));
  for (const { account, section, action, fields } of steps) {
    const isEnd = action === "remove" || (Object.keys(fields).length === 1 && fields.status?.after === "archived");
    if (account === undefined || isEnd || declaredIds.has(account.id)) continue;
    expectKnownHolder(account, { param: section });
  }
}

/** The fields of an entry that are given and are not so yet. */
function diff(current: Readonly<Record<string, unknown>>, target: Readonly<Record<string, unknown>>) {
  const fields: Change["fields"] = {};
  for (const [name, after] of Object.entries(target)) {
    const before = current[name] ?? null;
    if (after !== undefined && !isDeepStrictEqual(before, after)) fields[name] = { before, after };
  }
  return fields;
}

/** @throws {GatewayError} `invalid_request` for an entry that is named twice. */
function expectOnce(section: Section, names: readonly string[]): void {
  const seen = new Set<string>();
  for (const name of names) {
    if (seen.has(name)) throw invalid(section, `${section} has ${quoteValue(name)} twice; leave one out`);
    seen.add(name);
  }
}

interface Budget {
  readonly budget_usd?: string | null | undefined;
  readonly budget_period?: Static<typeof Period> | null | undefined;
}

/**
 * A budget as it is written here, so that `5.00` is no change of `5`: a period that is not given stays, and without an amount there is
 * none.
 *
 * @throws {GatewayError} `invalid_request`
 */
function toBudget({ budget_usd: usd, budget_period: period }: Budget, current: Budget): Budget {
  if (usd === null) return { budget_usd: null, budget_period: null };
  if (usd === undefined && (period === undefined || period === null)) return {};
  const amount = usd === undefined ? current.budget_usd : formatUsd(readBudget(usd));
  if (amount == null) throw invalid("budget_usd", "budget_period is given without budget_usd; send both");
  return { budget_usd: amount, budget_period: period ?? current.budget_period ?? "month" };
}

/** Returns the fields of an entry that differ, so that only the plan is written. A budget is an amount and a period. */
function toBody<Wanted extends Budget>(target: Wanted, fields: Change["fields"]) {
  const isBudget = "budget_usd" in fields || "budget_period" in fields;
  const { budget_usd, budget_period, ...others } = target;
  const changed = Object.fromEntries(Object.entries(others).filter(([name]) => name in fields));
  return {
    ...(changed as Partial<Omit<Wanted, keyof Budget>>),
    ...(isBudget && { budget_usd: budget_usd ?? null, ...(budget_period != null && { budget_period }) }),
  };
}

async function planAccounts(planning: Planning): Promise<Step[]> {
  const { deps, admin, document, accounts } = planning;
  const { store, now } = deps;
  const entries = (document.accounts ?? []).map((entry) => {
    const isNew = !accounts.has(entry.email);
    const parse = !isNew ? toLower : entry.kind === "team" ? parseTeamAddress : parseEmail;
    const target = withPlannedIds(planning, entry);
    return { ...target, account: accounts.get(entry.email), email: parse(entry.email) };
  });
  expectOnce(
    "accounts",
    entries.map(({ email }) => email),
  );
  const members = await findMembers(
    store,
    entries.flatMap(({ account }) => account?.id ?? []),
  );
  const users = await findUsersByEmail(
    deps,
    entries.flatMap(({ people = [] }) => people.map(({ email }) => toLower(email))),
  );
  const steps: Step[] = [];
  /** They run last: the entry of a person may follow the entry of their team. */
  const memberships: Step[] = [];
  for (const entry of entries) {
    const { email, account, kind = "account", verified: _, people = [], budget_usd, budget_period, ...others } = entry;
    const present = account === undefined ? [] : members.get(account.id);
    const current =
      account === undefined
        ? undefined
        : { billed_afterwards: account.isBilledAfterwards, ...toAccountEntry(account, present) };
    const target = { ...others, ...toBudget({ budget_usd, budget_period }, current ?? {}) };
    const fields = diff(current ?? { status: "active" }, target);
    const { name, status, ...body } = toBody(target, fields);
    const isDisabled = status === undefined ? undefined : status === "archived";
    const changes = { ...readProjectChanges(body), name, isDisabled };
    const common = { section: "accounts" as const, id: email, account };
    if (account === undefined) {
      // A team cannot be without a name.
      const place =
        kind === "team" ? { address: email, name: target.name ?? email } : { email, name: target.name ?? undefined };
      steps.push({
        ...common,
        action: "create",
        fields,
        run: () => createProject(store, { by: admin, ...place, changes }, now),
      });
    } else if (Object.keys(fields).length > 0) {
      steps.push({
        ...common,
        action: "change",
        fields,
        run: () => changeProject(store, { by: admin, accountId: account.id, changes }, now),
      });
    }
    for (const { email: personEmail, role } of people) {
      const person = users.get(toLower(personEmail));
      if (person === undefined) {
        memberships.push(planNewPerson(planning, { email, personEmail: parseEmail(personEmail), role }));
        continue;
      }
      const member = present?.find(({ personId }) => personId === person.id);
      // The holder of an account is a member already.
      if (member?.role === role || person.id === account?.id) continue;
      const isDemotion = member !== undefined && role === "member";
      const holder = person.isVerified || isDemotion ? "verified" : "claimed";
      expectKnownHolder({ ...person, holder }, { param: "accounts", isPerson: true });
      memberships.push(planPerson(planning, { email, person, role, member }));
    }
  }
  return [...steps, ...memberships];
}

const toLower = (text: string) => text.trim().toLowerCase();

/** @throws {GatewayError} `invalid_request` for more people than a document may have. */
async function findUsersByEmail({ store }: HttpDeps, emails: readonly string[]): Promise<ReadonlyMap<string, User>> {
  const unique = [...new Set(emails)];
  if (unique.length === 0) return new Map();
  if (unique.length > entriesMax) throw invalid("accounts", `accounts have more than ${entriesMax} people`);
  const users = await listUsersPage(store, { limit: unique.length, emails: unique });
  return new Map(users.map((user) => [user.email, user]));
}

function planNewPerson(
  { deps: { store, now, accounts }, admin }: Planning,
  { email, personEmail, role }: { email: string; personEmail: string; role: TeamMember["role"] },
): Step {
  return {
    section: "accounts",
    id: `${email}: ${personEmail}`,
    action: "create",
    fields: { role: { before: null, after: role } },
    async run() {
      const { id: accountId } = (await accounts.find(email)) as Account;
      await addNewToTeam(store, { by: admin, accountId, email: personEmail, role }, now);
    },
  };
}

function planPerson(
  { deps: { store, now, accounts }, admin }: Planning,
  {
    email,
    person,
    role,
    member,
  }: { email: string; person: User; role: TeamMember["role"]; member: TeamMember | undefined },
): Step {
  return {
    section: "accounts",
    id: `${email}: ${person.email}`,
    action: member === undefined ? "create" : "change",
    fields: { role: { before: member?.role ?? null, after: role } },
    async run() {
      const { id: accountId } = (await accounts.find(email)) as Account;
      const change = { accountId, personId: person.id, role };
      if (member === undefined) await addToTeam(store, { by: admin, ...change }, now);
      else await teamActions(store, now).setRole({ ...admin, isOperator: true }, change);
    },
  };
}

async function planKeys(planning: Planning): Promise<Step[]> {
  const { deps, admin, document, accounts: accountList, keyIds, createdKeys } = planning;
  const { accounts, store, now } = deps;
  const entries = (document.keys ?? []).map((entry) => withPlannedIds(planning, entry));
  const created = new Set((document.accounts ?? []).map(({ email }) => toLower(email)));
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
    const account = accountList.get(email);
    if (account === undefined && !created.has(toLower(email))) {
      throw invalid("keys", `The account ${quoteValue(email)} of the key ${quoteValue(name)} does not exist`);
    }
    const present = account === undefined ? [] : (byAccount.get(account.id) ?? []);
    const named = present.filter((key) => key.name === name && !takenIds.has(key.id));
    const toWanted = (current: Partial<ReturnType<typeof toKeyEntry>>) => {
      return { name, ...others, ...toBudget({ budget_usd, budget_period }, current) };
    };
    const isAsWanted = (one: ApiKey) => {
      const current = toKeyEntry(one, email, services);
      return Object.keys(diff(current, toWanted(current))).length === 0;
    };
    // Ids of another gateway match no key here. An entry then takes a key of its name, at best one that needs no change.
    const candidate = id === undefined && named.length > 1 ? undefined : (named.find(isAsWanted) ?? named[0]);
    const key = present.find((one) => one.id === id) ?? candidate;
    if (key === undefined && named.length > 1) {
      throw invalid("keys", `${email} has ${named.length} keys called ${quoteValue(name)}; say which by its id`);
    }
    if (key !== undefined) takenIds.add(key.id);
    if (id !== undefined && key !== undefined) keyIds.set(id, key.id);
    const common = { section: "keys" as const, id: `${email}: ${name}`, account };
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
      const limits = readKeyLimits(
        toBody(target, { ...fields, name: { before: null, after: name } }) as { name: string },
        now(),
      );
      checkKeyFields({ name, ...limits }, now());
      steps.push({
        ...common,
        action: "create",
        fields,
        async run() {
          const { id: accountId } = (await accounts.find(email)) as Account;
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
    if (Object.keys(fields).length === 0) continue;
    await expectManagedKeys(store, admin, key.accountId);
    const changes = readKeyChanges(toBody(target, fields), now());
    steps.push({
      ...common,
      action: "change",
      fields,
      run: () => accounts.changeKey(key.id, changes, admin.accountId),
    });
  }
  return steps;
}

/** Whether it is the budget that an account or a key has among its fields. */
function isOwn({ id, accountId, name }: StoredBudget): boolean {
  return id === ownBudgetId(name ?? accountId);
}

/** A raise that is over is none. */
function toBudgetEntry({ subject, name, keyId, period, limitNanodollars, raise }: StoredBudget, now: number) {
  const isRaised = raise !== undefined && raise.until > now;
  return {
    subject,
    name: name ?? null,
    api_key_id: keyId ?? null,
    budget_period: period,
    budget_usd: formatUsd(limitNanodollars),
    raise_usd: isRaised ? formatUsd(raise.nanodollars) : null,
    raise_until: isRaised ? Math.floor(raise.until / 1000) : null,
  };
}

/** The label of a budget, by which it is also found: "ada@example.com tag each week key_1". */
function labelBudget({ account, subject, name, api_key_id: key, budget_period: period }: BudgetEntry): string {
  return [
    ...(account === undefined ? [] : [account]),
    subject,
    name ?? "each",
    period,
    ...(key == null ? [] : [key]),
  ].join(" ");
}

/** A budget is found by what it counts. @throws {GatewayError} `invalid_request` */
async function planBudgets({ deps, admin, document, accounts, keyIds }: Planning): Promise<Step[]> {
  const { store, now } = deps;
  const entries = document.budgets ?? [];
  const created = new Set((document.accounts ?? []).map(({ email }) => toLower(email)));
  expectOnce("budgets", entries.map(labelBudget));
  const present = await listBudgets(
    store,
    [eachAccount, ...entries.flatMap(({ account = "" }) => accounts.get(account)?.id ?? [])],
    { limit: entriesMax },
  );
  /** The keys have the ids that they have here, as far as they are here yet. */
  const targetOf = (entry: BudgetEntry) => {
    const { keyId, name, ...target } = toTarget(deps, entry);
    const here = (id: string | undefined) => (id === undefined ? undefined : (keyIds.get(id) ?? id));
    return { ...target, keyId: here(keyId), name: target.subject === "key" ? here(name) : name };
  };
  const steps: Step[] = [];
  for (const entry of entries) {
    const account = entry.account === undefined ? undefined : accounts.get(entry.account);
    if (entry.account !== undefined && account === undefined && !created.has(toLower(entry.account))) {
      throw invalid("budgets", `The account ${quoteValue(entry.account)} of a budget does not exist`);
    }
    const owner = entry.account === undefined ? eachAccount : account?.id;
    const target = targetOf(entry);
    const budget = present.find((one) => {
      const isSame = (["subject", "name", "keyId", "period"] as const).every((field) => one[field] === target[field]);
      return isSame && one.accountId === owner;
    });
    const common = { section: "budgets" as const, id: labelBudget(entry), account };
    if (entry.status === "removed") {
      if (owner === undefined || budget === undefined) continue;
      steps.push({
        ...common,
        action: "remove",
        fields: {},
        run: () => deleteBudget(store, { by: admin, accountId: owner, id: budget.id }, now()),
      });
      continue;
    }
    const { budget_usd: usd, raise_usd: raise, raise_until: until } = entry;
    const isOver = until != null && until * 1000 <= now();
    const targetBudget = {
      budget_usd: usd === undefined ? undefined : formatUsd(readBudget(usd)),
      raise_usd: isOver ? null : typeof raise === "string" ? formatUsd(readBudget(raise, "raise_usd")) : raise,
      raise_until: isOver ? null : until,
    };
    const changes = readBudgetChanges(targetBudget);
    const fields = diff(budget === undefined ? {} : toBudgetEntry(budget, now()), targetBudget);
    if (budget !== undefined && owner !== undefined) {
      if (Object.keys(fields).length === 0) continue;
      steps.push({
        ...common,
        action: "change",
        fields,
        run: () => changeBudget(store, { by: admin, accountId: owner, id: budget.id, changes }, now()),
      });
      continue;
    }
    const { limitNanodollars } = changes;
    if (limitNanodollars === undefined) throw invalid("budgets", `The budget ${labelBudget(entry)} has no budget_usd`);
    checkBudget({ ...target, accountId: owner, limitNanodollars, raise: changes.raise ?? undefined }, now());
    steps.push({
      ...common,
      action: "create",
      fields,
      async run() {
        const accountId =
          entry.account === undefined ? eachAccount : ((await deps.accounts.find(entry.account)) as Account).id;
        const made = { ...targetOf(entry), limitNanodollars, raise: changes.raise ?? undefined };
        await createBudget(store, { by: admin, accountId, ...made }, now());
      },
    });
  }
  return steps;
}

function toRateLimitEntry({ keyId, model, limits }: Pick<StoredModelLimits, "keyId" | "model" | "limits">) {
  return {
    api_key_id: keyId ?? null,
    model,
    ...toLimitsJson(limits),
  };
}

/** Limits of a model are found by whom they bind. @throws {GatewayError} `invalid_request` */
async function planRateLimits({ deps, admin, document, accounts, keyIds }: Planning): Promise<Step[]> {
  const { store, now } = deps;
  const entries = (document.rate_limits ?? []).map((entry) => ({
    ...entry,
    model: idOfLimitedModel(deps, entry.model),
  }));
  if (entries.length === 0) return [];
  const created = new Set((document.accounts ?? []).map(({ email }) => toLower(email)));
  const labelOf = ({ account = "each account", model, api_key_id: key }: RateLimitEntry) =>
    [account, model, ...(key == null ? [] : [key])].join(" ");
  expectOnce("rate_limits", entries.map(labelOf));
  const present = await listModelLimits(store, undefined, Number.MAX_SAFE_INTEGER);
  const steps: Step[] = [];
  for (const entry of entries) {
    const { account: email, model, status } = entry;
    const account = email === undefined ? undefined : accounts.get(email);
    if (email !== undefined && account === undefined && !created.has(toLower(email))) {
      throw invalid("rate_limits", `The account ${quoteValue(email)} of a limit does not exist`);
    }
    const keyIdOf = () => (entry.api_key_id == null ? undefined : (keyIds.get(entry.api_key_id) ?? entry.api_key_id));
    const isNewAccount = email !== undefined && account === undefined;
    const there = present.find(
      (one) => !isNewAccount && one.accountId === account?.id && one.keyId === keyIdOf() && one.model === model,
    );
    const common = { section: "rate_limits" as const, id: labelOf(entry), account };
    if (status === "removed") {
      if (there === undefined) continue;
      steps.push({
        ...common,
        action: "remove",
        fields: {},
        run: () => deleteModelLimits(store, { by: admin, accountId: there.accountId, id: there.id }, now()),
      });
      continue;
    }
    const current = there === undefined ? {} : toRateLimitEntry(there);
    const { requests_per_minute, tokens_per_minute, concurrent_calls } = entry;
    const target = { requests_per_minute, tokens_per_minute, concurrent_calls };
    const fields = diff(current, target);
    if (Object.keys(fields).length === 0 && there !== undefined) continue;
    const read = (value: number | null | undefined, before: number | undefined) =>
      value === undefined ? before : (value ?? undefined);
    const limits = {
      requestsPerMinute: read(requests_per_minute, there?.limits.requestsPerMinute),
      tokensPerMinute: read(tokens_per_minute, there?.limits.tokensPerMinute),
      concurrentCalls: read(concurrent_calls, there?.limits.concurrentCalls),
    };
    checkModelLimits({ accountId: email, keyId: keyIdOf(), model, limits });
    steps.push({
      ...common,
      action: there === undefined ? "create" : "change",
      fields,
      async run() {
        const accountId = email === undefined ? undefined : ((await deps.accounts.find(email)) as Account).id;
        await setModelLimits(store, { by: admin, accountId, keyId: keyIdOf(), model, limits }, now());
      },
    });
  }
  return steps;
}

function toRoleLimitEntry({ role, ...limits }: Awaited<ReturnType<typeof listRoleLimits>>[number]) {
  return {
    role,
    ...toLimitsJson(limits),
    free_tokens_per_day: limits.freeTokensPerDay ?? null,
  };
}

/** Limits that an entry leaves out stay. @throws {GatewayError} `invalid_request`, `forbidden` */
async function planRoleLimits({ deps: { store, now }, admin, document }: Planning): Promise<Step[]> {
  const entries = document.role_limits ?? [];
  if (entries.length === 0) return [];
  expectOnce(
    "role_limits",
    entries.map(({ role }) => role),
  );
  const present = new Map((await listRoleLimits(store)).map((limits) => [limits.role, toRoleLimitEntry(limits)]));
  return entries.flatMap(({ role, ...target }): Step[] => {
    const fields = diff(present.get(role) ?? {}, target);
    if (Object.keys(fields).length === 0) return [];
    const isChanged = <Value>(name: keyof typeof target, value: Value) => (name in fields ? value : undefined);
    const changes = {
      requestsPerMinute: isChanged("requests_per_minute", target.requests_per_minute),
      tokensPerMinute: isChanged("tokens_per_minute", target.tokens_per_minute),
      concurrentCalls: isChanged("concurrent_calls", target.concurrent_calls),
      freeTokensPerDay: isChanged("free_tokens_per_day", target.free_tokens_per_day),
    };
    checkRoleLimits(admin, role, changes);
    return [
      {
        section: "role_limits",
        id: role,
        action: "change",
        fields,
        run: () => changeRoleLimits(store, { by: admin, role, changes }, now()),
      },
    ];
  });
}

/** The service account of this name, which is created when there is none. @returns Its id. */
async function openServiceAccount(
  { store, now }: HttpDeps,
  admin: ApiAdministrator,
  { accountId, name }: { accountId: string; name: string },
): Promise<string> {
  const present = await listServiceAccounts(store, accountId, { limit: entriesMax });
  const current = present.find((one) => one.name === name);
  return (current ?? (await createServiceAccount(store, { accountId, name, by: admin.accountId }, now()))).id;
}

async function planProviders({ deps, admin, document, providers: planned }: Planning): Promise<Step[]> {
  const { actions, settings } = deps.providers;
  const { providers: entries = [], sandbox } = document;
  expectOnce(
    "providers",
    entries.map(({ name }) => name),
  );
  const steps: Step[] = [];
  for (const { name, manifest, status = "present", ...order } of entries) {
    const row = settings.rows.get(name);
    const isThere = row !== undefined && !row.isRemoved;
    const isKnown = deps.snapshot().plugins.some((plugin) => plugin.name === name);
    if (status === "removed") {
      if (!isThere || row.manifest === undefined) continue;
      planned.removed.push(name);
      steps.push({
        section: "providers",
        id: name,
        action: "remove",
        fields: {},
        run: () => actions.remove(admin.accountId, name),
      });
      continue;
    }
    const text = isThere ? row.manifest : undefined;
    const isNew = manifest !== undefined && text === undefined && !isKnown;
    const before = text === undefined ? undefined : readJson(text, "file");
    const isReplaced = manifest !== undefined && before !== undefined && !isDeepStrictEqual(before, manifest);
    if (isNew || isReplaced) planned.added.push(checkManifest(name, manifest, admin.role === "owner").plugin);
    if (manifest === undefined && !isKnown && !isThere) {
      throw invalid("providers", `No provider is called ${quoteValue(name)}; add it by a manifest`);
    }
    const current = { enabled: row?.isEnabled ?? true, priority: row?.priority ?? null, weight: row?.weight ?? null };
    const orderFields = diff(isThere ? current : { enabled: true }, order);
    const fields = { ...orderFields, ...(isReplaced && { manifest: { before, after: manifest } }) };
    if (!isNew && Object.keys(fields).length === 0) continue;
    steps.push({
      section: "providers",
      id: name,
      action: isNew ? "create" : "change",
      fields,
      async run() {
        if (isNew) await actions.add(admin, name, manifest);
        if (isReplaced) await actions.replaceManifest(admin, name, manifest);
        if (Object.keys(orderFields).length > 0) await actions.set(admin.accountId, name, order);
      },
    });
  }
  if (sandbox !== undefined && sandbox !== settings.sandbox.setting) {
    if (settings.sandbox.source === "environment") {
      throw new GatewayError("conflict", "SANDBOX is set in the environment, which decides; unset it first");
    }
    const fields = { sandbox: { before: settings.sandbox.setting, after: sandbox } };
    steps.push({
      section: "sandbox",
      id: "sandbox",
      action: "change",
      fields,
      run: () => actions.setSandbox(admin.accountId, sandbox),
    });
  }
  return steps;
}

/** The files are one document: what it does not have is removed. @throws {GatewayError} `invalid_request` */
function planCatalogue({ deps, admin, document, providers: planned }: Planning): Step[] {
  const { catalogue, virtual_models: virtual } = document;
  if (catalogue === undefined && virtual === undefined) return [];
  const { files, revision } = deps.catalogue.read();
  const { virtual: virtualFile, ...others } = files;
  const rows = virtual ?? toRows(virtualFile);
  const isSameVirtual = virtual === undefined || isDeepStrictEqual(virtual, toRows(virtualFile));
  const virtualModels = isSameVirtual ? virtualFile : rows.length === 0 ? undefined : { models: rows };
  const target = { ...(catalogue ?? others), ...(virtualModels !== undefined && { virtual: virtualModels }) };
  const change = changeCatalogue(deps, target, { planned });
  if (change.files.length === 0) return [];
  const names = new Set(change.files.map((name) => name.replace(/\.json$/, "")));
  const fields = Object.fromEntries(
    [...names].map((name) => [name, { before: files[name] ?? null, after: (target as typeof files)[name] ?? null }]),
  );
  return [
    {
      section: catalogue === undefined ? "virtual_models" : "catalogue",
      id: "catalogue",
      action: "change",
      fields,
      run: () => change.write(admin.accountId, revision),
    },
  ];
}

async function planAlerts(planning: Planning): Promise<Step[]> {
  const { store } = planning.deps;
  const entries = planning.document.alerts ?? [];
  if (entries.length === 0) return [];
  expectOnce(
    "alerts",
    entries.map(({ rule, id, name }) => (rule === "metric" ? `metric ${id ?? name}` : rule)),
  );
  const settings = (await readRules(store, [gatewayOwner])).get(gatewayOwner) ?? [];
  const metricRules = await listMetricRules(store);
  const steps: Step[] = [];
  for (const entry of entries) {
    const step =
      entry.rule === "metric"
        ? await planMetricRule(planning, entry, metricRules)
        : planRule(planning, entry, settings);
    if (step !== undefined) steps.push(step);
  }
  return steps;
}

/** One of the gateway's own rules. @throws {GatewayError} `invalid_request` */
function planRule(
  { deps, admin }: Planning,
  { rule: name, enabled, threshold: text }: RuleEntry,
  settings: readonly RuleSetting[],
): Step | undefined {
  const names = getRulesOf(gatewayOwner);
  const rule = names.find((one) => one === name);
  const setting = settings.find((one) => one.rule === rule);
  if (rule === undefined || setting === undefined) {
    const expected = ["metric", ...names].join(", ");
    throw invalid("alerts", `alerts has the rule ${quoteValue(name)}, expected one of ${expected}`);
  }
  const threshold = text === undefined ? setting.threshold : readThreshold(rule, text ?? undefined);
  const target = { rule, isEnabled: enabled ?? setting.isEnabled, threshold };
  const fields = diff(toRuleJson(setting), toRuleJson(target));
  if (Object.keys(fields).length === 0) return undefined;
  return {
    section: "alerts",
    id: rule,
    action: "change",
    fields,
    run: () => writeAuditedRule(deps, { owner: gatewayOwner, by: admin.accountId }, target),
  };
}

/** A rule of the operator's own. @throws {GatewayError} `invalid_request` */
async function planMetricRule(
  planning: Planning,
  { rule: _, id, status, ...ruleEntry }: RuleEntry,
  rules: readonly MetricRule[],
): Promise<Step | undefined> {
  const { deps, admin, keyIds } = planning;
  const named = rules.filter(({ name }) => name === ruleEntry.name);
  const present = rules.find((one) => one.id === id) ?? (named.length === 1 ? named[0] : undefined);
  const label = quoteValue(ruleEntry.name ?? id ?? "");
  if (present === undefined && named.length > 1) {
    throw invalid("alerts", `There are ${named.length} rules called ${label}; say which by its id`);
  }
  const actions = metricRuleActions(deps);
  if (status === "removed") {
    if (present === undefined) return undefined;
    return {
      section: "alerts",
      id: present.name,
      action: "remove",
      fields: {},
      run: () => actions.remove(admin, present.id),
    };
  }
  const current = present && toMetricRuleJson(present);
  const whole = { ...current, ...ruleEntry };
  const missing = (["name", "metric", "scope", "comparison", "threshold", "minutes"] as const).find(
    (field) => whole[field] == null,
  );
  if (missing !== undefined) throw invalid("alerts", `The rule ${label} for a metric has no ${missing}`);
  const { subject = "", ...body } = whole as MetricRuleBody;
  // An entry of the same document may be what the rule is about.
  const isComing = body.scope !== "gateway" && !keyIds.has(subject) && isNamed(planning, body.scope, subject);
  // The subject may have ended before the document was exported.
  const onUnknown = (message: string) =>
    planning.warnings.add(
      `The rule ${label} of alerts is kept as it is, but ${message.replace("There is", "there is")}`,
    );
  const read = () => readMetricRule(deps, { ...body, subject: keyIds.get(subject) ?? subject }, onUnknown);
  const target = isComing
    ? { ...(await readMetricRule(deps, { ...body, scope: "gateway" })), scope: body.scope, subject }
    : await read();
  const { id: ownId, unit, ...shown } = toMetricRuleJson({ ...target, id: present?.id ?? "" });
  const fields = diff(current ?? {}, shown);
  if (Object.keys(fields).length === 0) return undefined;
  return {
    section: "alerts",
    id: shown.name,
    action: present === undefined ? "create" : "change",
    fields,
    async run() {
      const rule = await read();
      return present === undefined ? actions.add(admin, rule) : actions.change(admin, { ...rule, id: ownId });
    },
  };
}

/** Whether the document makes an account, key, provider or model of this name that is not here yet. */
function isNamed(planning: Planning, scope: MetricRule["scope"], name: string): boolean {
  const { document, accounts, deps } = planning;
  const { accounts: entries = [], keys = [], providers = [] } = document;
  switch (scope) {
    case "account":
      return !accounts.has(name) && entries.some(({ email }) => toLower(email) === toLower(name));
    case "key":
      return keys.some(({ id }) => id === name);
    case "provider":
      return (
        !deps.snapshot().plugins.some((plugin) => plugin.name === name) && providers.some((one) => one.name === name)
      );
    case "model":
      return deps.kernel.registry.byName(name) === undefined && planning.addedModels.has(name);
    default:
      return false;
  }
}

/** The ids of the models of a document's rows, by their ids and aliases. */
function listAddedModels({ providers = [], virtual_models: virtual = [], catalogue = {} }: Document) {
  const files = [...Object.values(catalogue), ...providers.map(({ manifest }) => manifest)];
  const ids = new Map<string, string>();
  for (const row of [...virtual, ...files.flatMap(toRows)]) {
    const { id, aliases } = (row ?? {}) as { id?: unknown; aliases?: unknown };
    if (typeof id !== "string") continue;
    for (const name of Array.isArray(aliases) ? [id, ...aliases] : [id]) {
      if (typeof name === "string" && !ids.has(name)) ids.set(name, id);
    }
  }
  return ids;
}

/** An entry whose list of models has ids; names that no model has are among the warnings of the plan. */
function withPlannedIds<Entry extends { readonly allowed_models?: readonly string[] | null | undefined }>(
  planning: Planning,
  entry: Entry,
): Entry {
  if (entry.allowed_models == null) return entry;
  const allowed = modelNamesOf(planning.deps).toIds(entry.allowed_models, {
    planned: (name) => planning.addedModels.get(name),
    onUnknown: (message) => planning.warnings.add(`A list of models is kept as it is, but ${message}`),
  });
  return { ...entry, allowed_models: allowed };
}

/** Whoever decides whose tokens are accepted may make calls for every account. @throws {GatewayError} `forbidden` */
async function planIssuers({ deps, admin, document: { jwt_issuers: issuers } }: Planning): Promise<Step[]> {
  if (issuers === undefined) return [];
  const { tokenIssuers, now } = deps;
  const before = [...(await tokenIssuers.read())];
  const after = parseTokenIssuers(JSON.stringify(issuers));
  if (isDeepStrictEqual(before, after)) return [];
  if (admin.role !== "owner")
    throw new GatewayError("forbidden", "Only owners and their admin keys change jwt_issuers");
  if (tokenIssuers.isFromEnvironment) {
    throw new GatewayError("conflict", "JWT_ISSUERS sets the issuers; change it there");
  }
  return [
    {
      section: "jwt_issuers",
      id: "jwt_issuers",
      action: "change",
      fields: { issuers: { before, after } },
      run: () => tokenIssuers.write(admin, JSON.stringify(issuers), now()),
    },
  ];
}
