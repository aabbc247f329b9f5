/**
 * One document with everything that an operator decides: accounts and teams, API keys without their secrets, budgets,
 * limits of models and roles, providers, catalogue, virtual models, token issuers, and sections of modules. Reading it
 * returns the state; writing it makes the state match it. A write is planned first, entry by entry, so a plan can be read
 * before anything changes, and writing a document that matches the state changes nothing. Things that the document does
 * not name are left as they are: to archive an account, revoke a key or remove a provider, the document must say so.
 */
import { type Static, Type } from "@sinclair/typebox";
import { quoteValue } from "../../../contract/index.ts";
import type { ApiAdministrator } from "../../../keys/index.ts";
import { expectKnownHolder, findAccounts, hasScope } from "../../../tenants/index.ts";
import type { HttpDeps } from "../../deps.ts";
import { parseUrl } from "../../lifecycle/origin.ts";
import type { Route } from "../../lifecycle/route.ts";
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

/** The gateway's own sections in their order in a document. Sections of modules follow. */
const ownSections = {
  accounts,
  keys,
  ...(declaredSections as Readonly<Record<DeclaredName, (typeof declaredSections)[string]>>),
  providers,
  sandbox,
  catalogue,
  virtual_models: virtualModels,
  jwt_issuers: jwtIssuers,
} as const satisfies Readonly<Record<string, Section>>;
type Sections = Readonly<Record<string, Section>>;

/** Sections that are planned before the others, because entries of the others refer to theirs. */
const plannedFirst = ["providers", "sandbox", "catalogue", "virtual_models"];

/** A document, with the types of the gateway's own sections. */
type Document = {
  readonly [Name in keyof typeof ownSections]?: Static<(typeof ownSections)[Name]["schema"]>;
} & Readonly<Record<string, unknown>>;

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
type SectionStep = Step & { readonly section: string };

/** The document of the gateway below /organization/config. */
export function configurationController(deps: HttpDeps, api: AdminApi, ofModules: Sections): Route[] {
  const sections: Sections = { ...ownSections, ...ofModules };
  const schemas = Object.entries(sections).map(([name, { schema }]) => [name, Type.Optional(schema)] as const);
  const Document = formBody(Object.fromEntries(schemas));
  const route = adminRoutes(deps, api, { path: "/organization/config", readBody: readCatalogueBody });
  return [
    route.get(
      "",
      async ({ request, admin }) => {
        const text = parseUrl(request).searchParams.get("sections");
        return await readDocument(deps, chooseSections(sections, admin, text));
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
        const planning = await preparePlanning(deps, admin, body as Document);
        const steps = await planDocument(planning, sections, body as Document);
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
function chooseSections(sections: Sections, admin: ApiAdministrator, text: string | null): [string, Section][] {
  const all = Object.entries(sections);
  const mayRead = ({ area }: Section) => hasScope(admin.scopes, area, "read");
  if (text === null || text === "") {
    const readable = all.filter(([, section]) => mayRead(section));
    if (readable.length > 0) return readable;
    throw lacksScope(admin, "of any section");
  }
  return text.split(",").map((part) => {
    const chosen = all.find(([name]) => name === part.trim());
    if (chosen === undefined) {
      const expected = Object.keys(sections).join(", ");
      throw invalid("sections", `sections has ${quoteValue(part)}, expected some of ${expected}`);
    }
    const [name, section] = chosen;
    if (!mayRead(section)) throw lacksScope(admin, `${section.area}:read, which ${name} needs`);
    return chosen;
  });
}

async function readDocument(deps: HttpDeps, chosen: readonly [string, Section][]): Promise<object> {
  const document: Record<string, unknown> = {};
  for (const [name, section] of chosen) {
    const value = await section.read(deps);
    if (value !== undefined) document[name] = value;
  }
  return document;
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
async function planDocument(planning: Planning, sections: Sections, document: Document): Promise<SectionStep[]> {
  const present = Object.entries(sections).filter(([name]) => document[name] !== undefined);
  for (const [name, { area }] of present) {
    if (!hasScope(planning.admin.scopes, area, "write")) {
      throw lacksScope(planning.admin, `${area}:write, which ${name} needs`);
    }
  }
  const steps: SectionStep[] = [];
  const rank = (name: string) => (plannedFirst.includes(name) ? plannedFirst.indexOf(name) : plannedFirst.length);
  for (const [section, { plan }] of present.toSorted(([one], [other]) => rank(one) - rank(other))) {
    for (const step of await plan(planning, document[section], document)) steps.push({ ...step, section });
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
