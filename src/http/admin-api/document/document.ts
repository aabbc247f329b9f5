/**
 * One document with everything that an operator decides: accounts and teams, API keys without their secrets, budgets,
 * limits of models and roles, providers, catalogue, virtual models, alert rules and token issuers. Reading it returns
 * the state; writing it makes the state match it. A write is planned first, entry by entry, so a plan can be read
 * before anything changes, and writing a document that matches the state changes nothing. Things that the document does
 * not name are left as they are: to archive an account, revoke a key or remove a provider, the document must say so.
 */
import { type Static, type TOptional, Type } from "@sinclair/typebox";
import { quoteValue } from "../../../contract/index.ts";
import type { ApiAdministrator } from "../../../keys/index.ts";
import { alerts } from "../../../modules/alerts/document-section.ts";
import { expectKnownHolder, findAccounts, hasScope } from "../../../tenants/index.ts";
import type { HttpDeps } from "../../deps.ts";
import { parseUrl } from "../../lifecycle/origin.ts";
import { formBody } from "../../lifecycle/validate.ts";
import type { Declared } from "../../resources/index.ts";
import { readCatalogueBody } from "../catalogue.ts";
import { type AdminApi, adminRoutes, describeRead, describeWrite, lacksScope } from "../guard.ts";
import { invalid, readFlag } from "../lists.ts";
import { accounts } from "./accounts.ts";
import { catalogue, toRows, virtualModels } from "./catalogue.ts";
import { jwtIssuers } from "./jwt-issuers.ts";
import { keys } from "./keys.ts";
import { toLower } from "./plan-entries.ts";
import { providers, sandbox } from "./providers.ts";
import { declaredSections } from "./resource-section.ts";
import type { Change, Planning, Section, Step } from "./section.ts";

type DeclaredName = NonNullable<Declared["document"]>["section"];

/** The sections in their order in a document. */
const sections = {
  accounts,
  keys,
  ...(declaredSections as Readonly<Record<DeclaredName, (typeof declaredSections)[string]>>),
  providers,
  sandbox,
  catalogue,
  virtual_models: virtualModels,
  alerts,
  jwt_issuers: jwtIssuers,
} as const satisfies Readonly<Record<string, Section>>;
type SectionName = keyof typeof sections;
const names = Object.keys(sections) as SectionName[];

/** The sections in planning order: each comes after the sections that its entries refer to. */
const planned: readonly SectionName[] = [
  ...new Set<SectionName>(["providers", "sandbox", "catalogue", "virtual_models", ...names]),
];

const schemas = Object.fromEntries(names.map((name) => [name, Type.Optional(sections[name].schema)])) as {
  readonly [Name in SectionName]: TOptional<(typeof sections)[Name]["schema"]>;
};
const Document = formBody(schemas);
type Document = Static<typeof Document>;

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
  warnings: Type.Array(Type.String(), { description: "Names of models that do not exist here" }),
  keys: Type.Array(
    Type.Object({
      account: Type.String(),
      name: Type.String(),
      id: Type.String(),
      value: Type.String({ description: "The key, which is shown only here" }),
    }),
    { description: "The created keys" },
  ),
});

/** Warnings of one plan. */
const warningsMax = 50;

/** A step with the section that it is of. */
type SectionStep = Step & { readonly section: SectionName };

/** The document of the gateway below /organization/config. */
export function configurationController(deps: HttpDeps, api: AdminApi) {
  const route = adminRoutes(deps, api, { path: "/organization/config", readBody: readCatalogueBody });
  return [
    route.get(
      "",
      async ({ request, admin }) => {
        const sections = parseUrl(request).searchParams.get("sections");
        return await readDocument(deps, chooseSections(admin, sections));
      },
      {
        detail: describeRead("Retrieve the configuration as one document", Document, {
          description: "Without secrets. An admin key gets only the sections that it may read.",
          query: {
            sections: {
              description: "Only these sections, separated by commas: `providers,catalogue`",
              schema: { type: "string" },
            },
          },
        }),
      },
    ),
    route.put(
      "",
      async ({ request, admin, body }) => {
        const isDryRun = readFlag(parseUrl(request).searchParams, "dry_run");
        const planning = await preparePlanning(deps, admin, body);
        const steps = await planDocument(planning, body);
        if (!isDryRun) await runSteps(planning, steps);
        return {
          object: "organization.config.plan" as const,
          dry_run: isDryRun,
          changes: steps.map(({ section, id, action, fields }) => ({ section, id, action, fields })),
          warnings: [...planning.warnings].slice(0, warningsMax),
          keys: planning.createdKeys,
        };
      },
      {
        body: Document,
        detail: describeWrite("Apply a configuration document", Plan, {
          description:
            "Sections and entries that are absent stay as they are. With `dry_run=true` nothing changes, and the answer is the " +
            "plan. Entries are written one after the other. When one is refused, the earlier entries are active, and the same " +
            "document can be sent again; keys created by the refused request are revoked, as their values were never delivered.",
          query: {
            dry_run: {
              description: "Only report the changes, without applying them",
              schema: { type: "boolean", default: false },
            },
          },
        }),
      },
    ),
  ];
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
function chooseSections(admin: ApiAdministrator, text: string | null): SectionName[] {
  const mayRead = (name: SectionName) => hasScope(admin.scopes, sections[name].area, "read");
  if (text === null || text === "") {
    const readable = names.filter(mayRead);
    if (readable.length > 0) return readable;
    throw lacksScope(admin, "of any section");
  }
  return text.split(",").map((part) => {
    const name = names.find((one) => one === part.trim());
    if (name === undefined) {
      throw invalid("sections", `sections has ${quoteValue(part)}, expected some of ${names.join(", ")}`);
    }
    if (!mayRead(name)) throw lacksScope(admin, `${sections[name].area}:read, which ${name} needs`);
    return name;
  });
}

async function readDocument(deps: HttpDeps, chosen: readonly SectionName[]): Promise<Document> {
  const document: Record<string, unknown> = {};
  for (const name of chosen) {
    const value = await sections[name].read(deps);
    if (value !== undefined) document[name] = value;
  }
  return document as Document;
}

/** Finds what the entries of a document name. */
async function preparePlanning(deps: HttpDeps, admin: ApiAdministrator, document: Document): Promise<Planning> {
  const { accounts: own = [], keys = [], providers = [] } = document;
  const declared = (Object.keys(declaredSections) as DeclaredName[]).flatMap((name) => document[name] ?? []);
  const owned: readonly { readonly account?: string }[] = [...keys, ...declared];
  return {
    deps,
    admin,
    accounts: await findAccounts(deps.store, [
      ...own.map(({ email }) => email),
      ...owned.flatMap(({ account = [] }) => account),
    ]),
    entries: {
      accounts: new Set(own.map(({ email }) => toLower(email))),
      keys: new Set(keys.flatMap(({ id = [] }) => id)),
      providers: new Set(providers.map(({ name }) => name)),
    },
    addedModels: listAddedModels(document),
    keyIds: new Map(),
    createdKeys: [],
    providers: { added: [], removed: [] },
    warnings: new Set(),
  };
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

/** Plans the changes of all sections. @throws {GatewayError} */
async function planDocument(planning: Planning, document: Document): Promise<SectionStep[]> {
  const present = names.filter((name) => document[name] !== undefined);
  for (const name of present) {
    const { area } = sections[name];
    if (!hasScope(planning.admin.scopes, area, "write")) {
      throw lacksScope(planning.admin, `${area}:write, which ${name} needs`);
    }
  }
  const steps: SectionStep[] = [];
  for (const section of planned.filter((name) => present.includes(name))) {
    const planOf: Section = sections[section];
    for (const step of await planOf.plan(planning, document[section], document)) steps.push({ ...step, section });
  }
  expectKnownHolders(planning, document, steps);
  return steps;
}

/**
 * A document names accounts by their e-mails. Where somebody has only signed up with one, it may end things, and otherwise has to
 * say that it knows: an entry of the account with `verified: false`, as exports have it.
 *
 * @throws {GatewayError} `conflict`
 */
function expectKnownHolders({ accounts }: Planning, document: Document, steps: readonly SectionStep[]): void {
  const declared = (document.accounts ?? []).filter(({ verified }) => verified === false);
  const declaredIds = new Set(declared.flatMap(({ email }) => accounts.get(email)?.id ?? []));
  for (const { account, section, action, fields } of steps) {
    const isEnd = action === "remove" || (Object.keys(fields).length === 1 && fields.status?.after === "archived");
    if (account === undefined || isEnd || declaredIds.has(account.id)) continue;
    expectKnownHolder(account, { param: section });
  }
}
