/**
 * One document with all that an operator decides: accounts and teams, API keys without their secrets, providers, catalogue,
 * virtual models, rules of alerts and issuers of tokens. Reading it gives the state; writing it makes the state what it says, which is
 * planned first, entry by entry, so that a plan can be read before anything changes and a document that is in force changes nothing.
 * What the document does not name is left as it is: an account is archived, a key revoked and a provider removed by saying so.
 */
import { type Static, type TSchema, Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import {
  type Account,
  type AdminKeyActor,
  type AdminKeyArea,
  type ApiKey,
  addToTeam,
  changeProject,
  createProject,
  findTwoPeople,
  hasScope,
  listAccountsPage,
  listPeople,
  listUsersPage,
  parseTokenIssuers,
  readAccountBudget,
  recordAudit,
  teamActions,
} from "../../accounts/index.ts";
import { gatewayOwner, readRules, ruleNames, writeRule } from "../../alerts/index.ts";
import { formatUsd, GatewayError, quoteValue } from "../../contract/index.ts";
import { responses } from "../api/openapi.ts";
import { readThreshold, toRuleJson } from "../dashboard-api/alerts.ts";
import { changeCatalogue, readCatalogueBody } from "../dashboard-api/catalogue.ts";
import { Models } from "../dashboard-api/keys.ts";
import { readBudget } from "../dashboard-api/read-fields.ts";
import type { HttpDeps } from "../deps.ts";
import { parseUrl } from "../lifecycle/origin.ts";
import { formBody } from "../lifecycle/validate.ts";
import { type AdminApi, adminRoutes, writeOnce } from "./guard.ts";
import { invalid, optional, parameters, readFlag } from "./lists.ts";
import { readKeyChanges, readKeyLimits } from "./project-keys.ts";
import { readProjectChanges, security, tags } from "./projects.ts";

const Text = (maxLength: number) => Type.String({ minLength: 1, maxLength });
const Email = Text(254);
const Usd = Type.String({ minLength: 1, maxLength: 30, description: "US dollars, exact decimal text" });
const Period = Type.Union([Type.Literal("day"), Type.Literal("week"), Type.Literal("month")]);
const Limit = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER });
const closed = { additionalProperties: false };

const AccountEntry = Type.Object(
  {
    email: { ...Email, description: "By which an account is found; that of a team is its address" },
    kind: Type.Optional(
      Type.Union([Type.Literal("account"), Type.Literal("team")], { description: "What is created; default: account" }),
    ),
    name: optional(Text(200)),
    status: Type.Optional(Type.Union([Type.Literal("active"), Type.Literal("archived")])),
    allowed_models: optional(Models),
    free_tokens_per_day: optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
    requests_per_minute: optional(Limit),
    tokens_per_minute: optional(Limit),
    budget_usd: optional(Usd),
    budget_period: optional(Period),
    people: Type.Optional(
      Type.Array(
        Type.Object({ email: Email, role: Type.Union([Type.Literal("admin"), Type.Literal("member")]) }, closed),
        { maxItems: 500, description: "Those who work in a team beside its holder, and sign in here already" },
      ),
    ),
  },
  closed,
);
const KeyEntry = Type.Object(
  {
    id: Type.Optional(Text(100)),
    account: { ...Email, description: "The e-mail of its account, or the address of its team" },
    name: { ...Text(200), description: "By which a key is found where no id is given, or none has it" },
    status: Type.Optional(Type.Union([Type.Literal("active"), Type.Literal("revoked")])),
    expires_at: optional(Type.Integer({ minimum: 1, maximum: 10_000_000_000, description: "Seconds since 1970" })),
    allowed_models: optional(Models),
    allowed_networks: optional(Type.Array(Text(50), { minItems: 1, maxItems: 100 })),
    budget_usd: optional(Usd),
    budget_period: optional(Period),
    requests_per_minute: optional(Limit),
    tokens_per_minute: optional(Limit),
    concurrent_calls: optional(Limit),
  },
  closed,
);
const ProviderEntry = Type.Object(
  {
    name: Text(60),
    status: Type.Optional(
      Type.Union([Type.Literal("present"), Type.Literal("removed")], { description: "Of one that was added here" }),
    ),
    manifest: Type.Optional(Type.Unknown({ description: "Of one that is added here; its keys are set apart" })),
    enabled: Type.Optional(Type.Boolean()),
    priority: optional(Type.Integer({ minimum: 0, maximum: 1000 })),
    weight: optional(Type.Integer({ minimum: 0, maximum: 1000 })),
  },
  closed,
);
const RuleEntry = Type.Object(
  { rule: Text(60), enabled: Type.Boolean(), threshold: optional(Type.String({ maxLength: 30 })) },
  closed,
);

/** Rows in one section of a document. */
const entriesMax = 10_000;
const list = (entry: TSchema) => Type.Optional(Type.Array(entry, { maxItems: entriesMax }));
const sectionSchemas = {
  accounts: Type.Optional(Type.Array(AccountEntry, { maxItems: entriesMax })),
  keys: Type.Optional(Type.Array(KeyEntry, { maxItems: entriesMax })),
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
  providers: "providers",
  sandbox: "providers",
  catalogue: "catalogue",
  virtual_models: "catalogue",
  alerts: "accounts",
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

interface CreatedKey {
  readonly account: string;
  readonly name: string;
  readonly id: string;
  readonly value: string;
}

type Step = Change & { run(): Promise<CreatedKey | undefined> };

interface Planning {
  readonly deps: HttpDeps;
  readonly admin: AdminKeyActor;
  readonly document: Document;
}

/** The document of the gateway below /organization/config. */
export function configurationController(deps: HttpDeps, api: AdminApi) {
  return new Elysia({ prefix: "/organization/config" })
    .use(adminRoutes(deps, api, undefined, readCatalogueBody))
    .get(
      "",
      async ({ request, admin }) => {
        const wanted = parseUrl(request).searchParams.get("sections");
        return await readDocument(deps, chooseSections(admin, wanted));
      },
      {
        detail: {
          ...{ summary: "Retrieve all that an operator decides as one document", tags, security },
          description: "Without secrets. Of a key that may not read all of it, the sections that it may read.",
          parameters: parameters({
            sections: {
              description: "Some of them, divided by commas: `providers,catalogue`",
              schema: { type: "string" },
            },
          }),
          responses: responses({ "application/json": Document }, [400, 401, 403, 429, 500, 503]),
        },
      },
    )
    .put(
      "",
      ({ request, admin, body }) =>
        writeOnce(deps, { request, admin, body }, async () => {
          const isDryRun = readFlag(parseUrl(request).searchParams, "dry_run");
          const steps = await planDocument({ deps, admin, document: body });
          const keys: CreatedKey[] = [];
          if (!isDryRun) {
            for (const step of steps) {
              const created = await step.run();
              if (created !== undefined) keys.push(created);
            }
          }
          const changes = steps.map(({ run: _, ...change }) => change);
          return { object: "organization.config.plan" as const, dry_run: isDryRun, changes, keys };
        }),
      {
        body: Document,
        detail: {
          ...{ summary: "Make the gateway what a document says", tags, security },
          description:
            "Sections and entries that are absent stay as they are. With `dry_run=true` nothing changes, and the answer is the " +
            "plan. Entries are written one after the other: when one is refused, those before it are in force, and the same " +
            "document can be sent again.",
          parameters: parameters({
            dry_run: { description: "Only say what would change", schema: { type: "boolean", default: false } },
          }),
          responses: responses({ "application/json": Plan }, [400, 401, 403, 409, 413, 429, 500, 503]),
        },
      },
    );
}

/** The sections that a request asks for and its key may read. @throws {GatewayError} `invalid_request`, `forbidden` */
function chooseSections(admin: AdminKeyActor, text: string | null): Section[] {
  const mayRead = (section: Section) => hasScope(admin.key.scopes, areas[section], "read");
  if (text === null || text === "") {
    const readable = sections.filter(mayRead);
    if (readable.length > 0) return readable;
    throw new GatewayError("forbidden", `The admin key ${admin.key.id} has no scope of the document`);
  }
  return text.split(",").map((name) => {
    const section = sections.find((one) => one === name.trim());
    if (section === undefined) {
      throw invalid("sections", `sections has ${quoteValue(name)}, expected some of ${sections.join(", ")}`);
    }
    if (!mayRead(section)) throw lacksScope(admin, section, "read");
    return section;
  });
}

function lacksScope(admin: AdminKeyActor, section: Section, access: "read" | "write"): GatewayError {
  const scope = `${areas[section]}:${access}`;
  return new GatewayError(
    "forbidden",
    `The admin key ${admin.key.id} lacks the scope ${scope}, which ${section} needs`,
  );
}

async function readDocument(deps: HttpDeps, wanted: readonly Section[]): Promise<Document> {
  const document: Record<string, unknown> = {};
  for (const section of wanted) {
    const value = await readers[section](deps);
    if (value !== undefined) document[section] = value;
  }
  return document as Document;
}

const readers: { readonly [S in Section]: (deps: HttpDeps) => Promise<Document[S]> | Document[S] } = {
  async accounts(deps) {
    const accounts = await listAll(deps);
    const entries: Static<typeof AccountEntry>[] = [];
    for (const account of accounts) entries.push(await toAccountEntry(deps, account));
    return entries;
  },
  async keys(deps) {
    const emails = new Map((await listAll(deps)).map(({ id, email }) => [id, email]));
    const keys = (await deps.accounts.listKeys()).filter((key) => isInForce(key, deps.now()));
    expectFew("keys", keys.length);
    return keys.flatMap((key) => {
      const account = emails.get(key.accountId);
      return account === undefined ? [] : [toKeyEntry(key, account)];
    });
  },
  providers: ({ providers }) =>
    [...providers.settings.rows.values()]
      .filter(({ isRemoved }) => !isRemoved)
      .map(({ name, manifest, isEnabled, priority, weight }) => ({
        name,
        ...(manifest !== undefined && { manifest: JSON.parse(manifest) }),
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
  virtual_models: (deps) => toVirtualRows(deps.catalogue.read().files.virtual),
  async alerts({ store }) {
    const settings = (await readRules(store, [gatewayOwner])).get(gatewayOwner) ?? [];
    return settings.map(toRuleJson).map(({ rule, enabled, threshold }) => ({ rule, enabled, threshold }));
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

async function toAccountEntry(deps: HttpDeps, account: Account): Promise<Static<typeof AccountEntry>> {
  const { store, now } = deps;
  const budget = await readAccountBudget(store, account.id, now());
  const people = (await listPeople(store, account.id)).filter(({ isHolder }) => !isHolder);
  const [holder] = await findTwoPeople(store, account.id);
  const isTeam = people.length > 0 || (holder === undefined && account.email.endsWith("@teams.invalid"));
  return {
    email: account.email,
    kind: isTeam ? "team" : "account",
    name: account.name ?? null,
    status: account.disabledAt === undefined ? "active" : "archived",
    allowed_models: account.allowedModels === undefined ? null : [...account.allowedModels],
    free_tokens_per_day: account.freeTokensPerDay ?? null,
    requests_per_minute: account.requestsPerMinute ?? null,
    tokens_per_minute: account.tokensPerMinute ?? null,
    budget_usd: budget === undefined ? null : formatUsd(budget.limitNanodollars),
    budget_period: budget?.period ?? null,
    ...(people.length > 0 && { people: people.map(({ email, teamRole }) => ({ email, role: teamRole })) }),
  };
}

/** Keys with a secret that can be used; those that stand for somebody's tokens come with the tokens. */
function isInForce({ revokedAt, expiresAt, tokenSubject }: ApiKey, now: number): boolean {
  return tokenSubject === undefined && revokedAt === undefined && !(expiresAt !== undefined && expiresAt <= now);
}

function toKeyEntry(key: ApiKey, account: string): Static<typeof KeyEntry> {
  const { budgetNanodollars, budgetPeriod, requestsPerMinute, tokensPerMinute, concurrentCalls } = key.bounds;
  return {
    id: key.id,
    account,
    name: key.name,
    status: "active",
    expires_at: key.expiresAt === undefined ? null : Math.floor(key.expiresAt / 1000),
    allowed_models: key.allowedModels === undefined ? null : [...key.allowedModels],
    allowed_networks: key.allowedNetworks === undefined ? null : [...key.allowedNetworks],
    budget_usd: budgetNanodollars === undefined ? null : formatUsd(budgetNanodollars),
    budget_period: budgetNanodollars === undefined ? null : (budgetPeriod ?? "month"),
    requests_per_minute: requestsPerMinute ?? null,
    tokens_per_minute: tokensPerMinute ?? null,
    concurrent_calls: concurrentCalls ?? null,
  };
}

function toVirtualRows(file: unknown): unknown[] {
  const rows = Array.isArray(file) ? file : (file as { models?: unknown } | undefined)?.models;
  return Array.isArray(rows) ? rows : [];
}

/** What has to happen, in an order in which each entry finds what it names. @throws {GatewayError} */
async function planDocument(planning: Planning): Promise<Step[]> {
  const { document, admin } = planning;
  const present = sections.filter((section) => document[section] !== undefined);
  for (const section of present) {
    if (!hasScope(admin.key.scopes, areas[section], "write")) throw lacksScope(admin, section, "write");
  }
  return [
    ...(await planProviders(planning)),
    ...planCatalogue(planning),
    ...(await planAccounts(planning)),
    ...(await planKeys(planning)),
    ...(await planAlerts(planning)),
    ...(await planIssuers(planning)),
  ];
}

/** The fields of an entry that are given and are not so yet. */
function diff(current: Readonly<Record<string, unknown>>, wanted: Readonly<Record<string, unknown>>) {
  const fields: Change["fields"] = {};
  for (const [name, after] of Object.entries(wanted)) {
    const before = current[name] ?? null;
    if (after !== undefined && JSON.stringify(before) !== JSON.stringify(after)) fields[name] = { before, after };
  }
  return fields;
}

/** @throws {GatewayError} `invalid_request` for an entry that is named twice. */
function expectOnce(section: Section, names: readonly string[]): void {
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw invalid(section, `${section} has ${quoteValue(twice)} twice; leave one out`);
}

/** An amount as it is written here, so that `5.00` is no change of `5`; without a budget there is no period. */
function withBudget<Wanted extends { budget_usd?: string | null | undefined }>(
  wanted: Wanted,
  period: Static<typeof Period> | null | undefined,
) {
  const { budget_usd: usd } = wanted;
  return {
    ...wanted,
    ...(typeof usd === "string" && { budget_usd: formatUsd(readBudget(usd)) }),
    ...(period !== null && period !== undefined && { budget_period: period }),
  };
}

async function planAccounts({ deps, admin, document }: Planning): Promise<Step[]> {
  const { store, now, accounts } = deps;
  const entries = (document.accounts ?? []).map((entry) => ({ ...entry, email: entry.email.trim().toLowerCase() }));
  expectOnce(
    "accounts",
    entries.map(({ email }) => email),
  );
  const steps: Step[] = [];
  for (const { email, kind = "account", people = [], status, budget_period: period, ...wanted } of entries) {
    const account = await accounts.find(email);
    const current = account === undefined ? {} : await toAccountEntry(deps, account);
    const withPeriod = withBudget(wanted, period);
    const given = { ...withPeriod, ...(status !== undefined && { status }) };
    const fields = diff(account === undefined ? { status: "active" } : current, given);
    const changes = () => ({
      ...readProjectChanges(withPeriod),
      name: wanted.name,
      isDisabled: fields.status === undefined ? undefined : status === "archived",
    });
    // What is wrong with an entry is found before the first one is written.
    changes();
    const common = { section: "accounts" as const, id: email };
    if (account === undefined) {
      const name = wanted.name ?? email;
      const place = kind === "team" ? { address: email } : { email };
      steps.push({
        ...{ ...common, action: "create", fields },
        async run() {
          await createProject(store, { by: admin, name, ...place, changes: changes() }, now);
          return undefined;
        },
      });
    } else if (Object.keys(fields).length > 0) {
      steps.push({
        ...{ ...common, action: "change", fields },
        async run() {
          await changeProject(store, { by: admin, accountId: account.id, changes: changes() }, now);
          return undefined;
        },
      });
    }
    steps.push(...(await planPeople(deps, admin, { email, account, people })));
  }
  return steps;
}

async function planPeople(
  deps: HttpDeps,
  admin: AdminKeyActor,
  {
    email: team,
    account,
    people,
  }: { email: string; account: Account | undefined; people: readonly { email: string; role: "admin" | "member" }[] },
): Promise<Step[]> {
  if (people.length === 0) return [];
  const { store, now, accounts } = deps;
  const present = account === undefined ? [] : await listPeople(store, account.id);
  const users = await listUsersPage(store, { limit: people.length, emails: people.map(({ email }) => email) });
  const findId = async () => ((await accounts.find(team)) as Account).id;
  return people.flatMap(({ email, role }): Step[] => {
    const person = users.find((user) => user.email === email.trim().toLowerCase());
    if (person === undefined) {
      throw invalid("accounts", `${quoteValue(email)} of ${team} does not sign in here yet; invite them first`);
    }
    const member = present.find(({ id }) => id === person.id);
    if (member?.teamRole === role) return [];
    const fields = { role: { before: member?.teamRole ?? null, after: role } };
    const common = { section: "accounts" as const, id: `${team}: ${person.email}`, fields };
    return [
      {
        ...common,
        action: member === undefined ? "create" : "change",
        async run() {
          const accountId = await findId();
          const change = { accountId, personId: person.id, role };
          if (member === undefined) await addToTeam(store, { by: admin, ...change }, now);
          else await teamActions(store, now).setRole({ ...admin, isOperator: true }, change);
          return undefined;
        },
      },
    ];
  });
}

async function planKeys({ deps, admin, document }: Planning): Promise<Step[]> {
  const { accounts, now } = deps;
  const entries = document.keys ?? [];
  const created = new Set((document.accounts ?? []).map(({ email }) => email.trim().toLowerCase()));
  expectOnce(
    "keys",
    entries.map(({ id, account, name }) => id ?? `${account}: ${name}`),
  );
  const steps: Step[] = [];
  for (const { id, account: email, status = "active", name, budget_period: period, ...wanted } of entries) {
    const account = await accounts.find(email);
    if (account === undefined && !created.has(email.trim().toLowerCase())) {
      throw invalid("keys", `The account ${quoteValue(email)} of the key ${quoteValue(name)} does not exist`);
    }
    const known =
      account === undefined ? [] : (await accounts.listKeys(account.id)).filter((key) => isInForce(key, now()));
    const named = known.filter((key) => key.name === name);
    const key = known.find((one) => one.id === id) ?? (named.length === 1 ? named[0] : undefined);
    if (key === undefined && named.length > 1) {
      throw invalid("keys", `${email} has ${named.length} keys called ${quoteValue(name)}; say which by its id`);
    }
    const withPeriod = withBudget(wanted, period);
    const label = `${email}: ${name}`;
    if (status === "revoked") {
      if (key === undefined) continue;
      steps.push({
        ...{ section: "keys", id: label, action: "remove", fields: {} },
        async run() {
          await accounts.revokeKey(key.id, admin.accountId);
          return undefined;
        },
      });
      continue;
    }
    if (key === undefined) {
      const limits = readKeyLimits({ name, ...withPeriod }, now());
      steps.push({
        ...{ section: "keys", id: label, action: "create", fields: diff({}, withPeriod) },
        async run() {
          const owner = (await accounts.find(email)) as Account;
          const made = await accounts.createKey({ accountId: owner.id, by: admin.accountId, name, ...limits });
          return { account: email, name, id: made.id, value: made.key };
        },
      });
      continue;
    }
    const fields = diff(toKeyEntry(key, email), { name, ...withPeriod });
    if (Object.keys(fields).length === 0) continue;
    const changes = readKeyChanges({ name, ...withPeriod }, now());
    steps.push({
      ...{ section: "keys", id: label, action: "change", fields },
      async run() {
        await accounts.changeKey(key.id, changes, admin.accountId);
        return undefined;
      },
    });
  }
  return steps;
}

async function planProviders({ deps, admin, document }: Planning): Promise<Step[]> {
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
      steps.push({
        ...{ section: "providers", id: name, action: "remove", fields: {} },
        async run() {
          await actions.remove(admin.accountId, name);
          return undefined;
        },
      });
      continue;
    }
    const text = isThere ? row.manifest : undefined;
    if (manifest !== undefined && text !== undefined && diffs(JSON.parse(text), manifest)) {
      const advice =
        "change its models in the section catalogue, or remove the provider and add it again with its keys";
      throw new GatewayError("conflict", `The manifest of ${name} is another one; ${advice}`, { param: "providers" });
    }
    const isNew = manifest !== undefined && text === undefined && !isKnown;
    if (manifest === undefined && !isKnown && !isThere) {
      throw invalid("providers", `No provider is called ${quoteValue(name)}; add it by a manifest`);
    }
    const current = { enabled: row?.isEnabled ?? true, priority: row?.priority ?? null, weight: row?.weight ?? null };
    const fields = diff(isThere ? current : { enabled: true }, order);
    if (!isNew && Object.keys(fields).length === 0) continue;
    steps.push({
      ...{ section: "providers", id: name, action: isNew ? "create" : "change", fields },
      async run() {
        if (isNew) await actions.add(admin, name, manifest);
        if (Object.keys(fields).length > 0) await actions.set(admin.accountId, name, order);
        return undefined;
      },
    });
  }
  if (sandbox !== undefined && sandbox !== settings.sandbox.setting) {
    const fields = { sandbox: { before: settings.sandbox.setting, after: sandbox } };
    steps.push({
      ...{ section: "sandbox", id: "sandbox", action: "change", fields },
      async run() {
        await actions.setSandbox(admin.accountId, sandbox);
        return undefined;
      },
    });
  }
  return steps;
}

function diffs(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) !== JSON.stringify(other);
}

/** The files are one document: what it does not have is removed. @throws {GatewayError} `invalid_request` */
function planCatalogue({ deps, admin, document }: Planning): Step[] {
  const { catalogue, virtual_models: virtual } = document;
  if (catalogue === undefined && virtual === undefined) return [];
  const { files, revision } = deps.catalogue.read();
  const { virtual: virtualFile, ...others } = files;
  const rows = virtual ?? toVirtualRows(virtualFile);
  const isSameVirtual = virtual === undefined || !diffs(virtual, toVirtualRows(virtualFile));
  const kept = isSameVirtual ? virtualFile : rows.length === 0 ? undefined : { models: rows };
  const wanted = { ...(catalogue ?? others), ...(kept !== undefined && { virtual: kept }) };
  const change = changeCatalogue(deps, wanted);
  if (change.files.length === 0) return [];
  const names = new Set(change.files.map((name) => name.replace(/\.json$/, "")));
  const fields = Object.fromEntries(
    [...names].map((name) => [name, { before: files[name] ?? null, after: (wanted as typeof files)[name] ?? null }]),
  );
  return [
    {
      ...{
        section: catalogue === undefined ? "virtual_models" : "catalogue",
        id: "catalogue",
        action: "change",
        fields,
      },
      async run() {
        await change.write(admin.accountId, revision);
        return undefined;
      },
    },
  ];
}

async function planAlerts({ deps, admin, document }: Planning): Promise<Step[]> {
  const { store, now } = deps;
  const settings = (await readRules(store, [gatewayOwner])).get(gatewayOwner) ?? [];
  return (document.alerts ?? []).flatMap(({ rule: name, ...wanted }): Step[] => {
    const rule = ruleNames.find((one) => one === name);
    if (rule === undefined) {
      throw invalid("alerts", `alerts has the rule ${quoteValue(name)}, expected one of ${ruleNames.join(", ")}`);
    }
    const threshold = readThreshold(rule, wanted.threshold ?? undefined);
    const setting = settings.find((one) => one.rule === rule);
    const fields = diff(setting === undefined ? {} : toRuleJson(setting), wanted);
    if (Object.keys(fields).length === 0) return [];
    return [
      {
        ...{ section: "alerts", id: rule, action: "change", fields },
        async run() {
          await writeRule(store, gatewayOwner, { rule, isEnabled: wanted.enabled, threshold });
          const detail = { enabled: wanted.enabled, threshold: threshold ?? "" };
          await recordAudit(store, { accountId: admin.accountId, action: "alert.rule", subject: rule, detail }, now());
          return undefined;
        },
      },
    ];
  });
}

/** Whoever decides whose tokens are accepted may make calls for every account. @throws {GatewayError} `forbidden` */
async function planIssuers({ deps, admin, document: { jwt_issuers: issuers } }: Planning): Promise<Step[]> {
  if (issuers === undefined) return [];
  const { tokenIssuers, now } = deps;
  const before = [...(await tokenIssuers.read())];
  const after = parseTokenIssuers(JSON.stringify(issuers));
  if (!diffs(before, after)) return [];
  if (admin.role !== "owner") throw new GatewayError("forbidden", "Only admin keys of owners change jwt_issuers");
  return [
    {
      ...{
        section: "jwt_issuers",
        id: "jwt_issuers",
        action: "change",
        fields: { issuers: { before, after } },
      },
      async run() {
        await tokenIssuers.write(admin, JSON.stringify(issuers), now());
        return undefined;
      },
    },
  ];
}
