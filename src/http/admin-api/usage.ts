import { type TSchema, Type } from "@sinclair/typebox";
import {
  answerColumns,
  type Capability,
  cacheReadColumns,
  cacheWriteColumns,
  formatUsd,
  nullable,
  promptColumns,
  quoteValue,
  sumColumns,
  unitFigures,
} from "../../contract/index.ts";
import {
  describeEarnings,
  type NamedGroup,
  namedGroups,
  readAgentUsage,
  readFigures,
  readGroups,
  readUsageRows,
  type UsageFigures,
  type UsageOfBucket,
} from "../../reports/index.ts";
import { responses } from "../api/openapi.ts";
import type { HttpDeps } from "../deps.ts";
import { displayNameOf, idOfModel } from "../forms/read-fields.ts";
import { keyRoute } from "../lifecycle/call-routes.ts";
import { dataHeaders } from "../lifecycle/headers.ts";
import { parseUrl } from "../lifecycle/origin.ts";
import { type AdminApi, adminRoutes, describeRead } from "./guard.ts";
import { invalid, parameters, readAll, readWhole } from "./lists.ts";

const hourSeconds = 3600;
/** Buckets on a page, by their width: the most, and without `limit`. */
const bucketsOf = {
  "1h": { hours: 1, max: 168, fallback: 24 },
  "1d": { hours: 24, max: 31, fallback: 7 },
} as const;
type Width = keyof typeof bucketsOf;
const costBucketsMax = 180;
const secondsMax = 8_640_000_000_000;

/** Groups of usage; costs say `line_item` for the model. */
const groups = ["project_id", "api_key_id", "model"] as const;
const costGroups = ["project_id", "api_key_id", "line_item", ...namedGroups, "agent"] as const;
type Group = (typeof groups)[number] | NamedGroup | "agent";
/** Maximum number of sessions, tags or end users that are listed by name: those with the highest cost. */
const namesMax = 100;

const nameFields = {
  project_id: nullable(Type.String()),
  user_id: Type.Null(),
  api_key_id: nullable(Type.String()),
};
const money = {
  cost_usd: Type.String({ description: "Cost at the prices of the accounts, exact decimal text" }),
  charged_usd: Type.String({ description: "Amount paid by wallets, exact decimal text" }),
};
const margin = {
  provider_cost_usd: Type.String({ description: "What providers are owed, by the price before a markup" }),
  earned_usd: Type.String({ description: "`charged_usd` without `provider_cost_usd`; negative where it is less" }),
};
const count = Type.Integer();
const resultOf = <Name extends string>(name: Name, fields: Record<string, TSchema>) =>
  Type.Object({
    object: Type.Literal(`organization.usage.${name}.result`),
    num_model_requests: count,
    ...fields,
    ...nameFields,
    model: nullable(Type.String()),
    ...money,
    ...margin,
  });
const pageOf = (result: TSchema, more: Record<string, TSchema> = {}) =>
  Type.Object({
    ...more,
    object: Type.Literal("page"),
    data: Type.Array(
      Type.Object({
        object: Type.Literal("bucket"),
        start_time: count,
        end_time: count,
        results: Type.Array(result),
      }),
    ),
    has_more: Type.Boolean(),
    next_page: nullable(Type.String()),
  });

/** One kind of usage: the capability whose calls count, and the figures that are returned. */
interface Kind {
  readonly path: string;
  readonly capability: Capability;
  readonly summary: string;
  readonly fields: Record<string, TSchema>;
  readonly toJson: (figures: UsageFigures) => Record<string, number>;
}

const toInputTokens = (figures: UsageFigures) => sumColumns(figures, promptColumns);
const toOutputTokens = (figures: UsageFigures) => sumColumns(figures, answerColumns);

const kinds: readonly Kind[] = [
  {
    path: "completions",
    capability: "chat",
    summary: "Usage of chat, responses, messages and completions",
    fields: {
      input_tokens: Type.Integer({ description: "Cached ones included" }),
      output_tokens: count,
      input_cached_tokens: count,
      input_cache_write_tokens: count,
      input_audio_tokens: count,
      output_audio_tokens: count,
    },
    toJson: (figures) => ({
      input_tokens: toInputTokens(figures),
      output_tokens: toOutputTokens(figures),
      input_cached_tokens: sumColumns(figures, cacheReadColumns),
      input_cache_write_tokens: sumColumns(figures, cacheWriteColumns),
      input_audio_tokens: figures.audio_input_tokens,
      output_audio_tokens: figures.audio_output_tokens,
    }),
  },
  {
    path: "embeddings",
    capability: "embeddings",
    summary: "Usage of embeddings",
    fields: { input_tokens: count },
    toJson: (figures) => ({ input_tokens: toInputTokens(figures) }),
  },
  {
    path: "moderations",
    capability: "moderation",
    summary: "Usage of moderations",
    fields: { input_tokens: count },
    toJson: (figures) => ({ input_tokens: toInputTokens(figures) }),
  },
  {
    path: "images",
    capability: "images",
    summary: "Usage of image generation",
    fields: { images: count },
    toJson: ({ images }) => ({ images }),
  },
  {
    path: "audio_speeches",
    capability: "speech",
    summary: "Usage of speech",
    fields: { characters: count },
    toJson: ({ characters }) => ({ characters }),
  },
  {
    path: "audio_transcriptions",
    capability: "transcription",
    summary: "Usage of transcription",
    fields: { seconds: count },
    toJson: ({ audio_ms }) => ({ seconds: Math.round(audio_ms / 1000) }),
  },
];

const KeyUsage = Type.Object({
  object: Type.Literal("key.usage.result"),
  num_model_requests: count,
  input_tokens: Type.Integer({ description: "Cached ones included" }),
  output_tokens: count,
  input_cached_tokens: count,
  ...Object.fromEntries(unitFigures.map(({ field }) => [field, count])),
  model: nullable(Type.String()),
  ...money,
});

const OfName = nullable(Type.String({ description: "If `group_by` has it" }));
const CostResult = Type.Object({
  object: Type.Literal("organization.costs.result"),
  amount: Type.Object({ value: Type.Number({ description: "What wallets paid" }), currency: Type.Literal("usd") }),
  line_item: nullable(Type.String({ description: "The model" })),
  session: OfName,
  tag: OfName,
  end_user: OfName,
  agent: nullable(Type.String({ description: "If `group_by` has it; empty for the session itself" })),
  ...nameFields,
  ...money,
  ...margin,
});

const Comparison = Type.Object(
  {
    start_time: count,
    end_time: count,
    results: Type.Array(
      Type.Object({
        line_item: nullable(Type.String()),
        session: OfName,
        tag: OfName,
        end_user: OfName,
        agent: OfName,
        project_id: nullable(Type.String()),
        api_key_id: nullable(Type.String()),
        ...money,
        ...margin,
        previous: Type.Object({ ...money, ...margin }),
        change_percent: nullable(
          Type.Number({ description: "Of `cost_usd`; `null` if there was none in the buckets before" }),
        ),
      }),
    ),
  },
  {
    description:
      "With `compare`: the sums of the buckets of this page, and of as many buckets before them, whose time is given",
  },
);

const list = (description: string, values?: readonly string[]) => ({
  description,
  schema: { type: "array", items: { type: "string", ...(values && { enum: values }) } },
});
const spanParameters = (widths: readonly string[], groupNames: readonly string[]) => ({
  start_time: { description: "Seconds since 1970", schema: { type: "integer", minimum: 0 }, required: true as const },
  end_time: { description: "End of the time range, exclusive; default now", schema: { type: "integer", minimum: 0 } },
  bucket_width: { description: "Default 1d", schema: { type: "string", enum: widths } },
  group_by: list("The dimensions that rows are grouped by", groupNames),
  project_ids: list("Only these projects"),
  api_key_ids: list("Only these API keys"),
  limit: { description: "Buckets on a page", schema: { type: "integer", minimum: 1, maximum: costBucketsMax } },
  page: { description: "`next_page` of the previous page", schema: { type: "string" } },
});
const { project_ids: _, api_key_ids: __, ...ofKey } = spanParameters(Object.keys(bucketsOf), ["model"]);
const keyParameters = { ...ofKey, models: list("Only these models") };
/** Usage and costs of all projects. */
export function organizationUsageController(deps: HttpDeps, api: AdminApi) {
  const route = adminRoutes(deps, api, { path: "/organization", area: "usage" });
  const usage = kinds.map(({ path, capability, summary, fields, toJson }) => {
    const object = `organization.usage.${path}.result`;
    const answer = async ({ request }: { request: Request }) => {
      const span = readSpan(parseUrl(request).searchParams, deps.now(), groups);
      return await readBuckets(deps, span, readByModel, {
        isOf: (row) => capabilityOf(deps, row) === capability,
        toResult: (figures, names) => ({
          object,
          num_model_requests: figures.requests,
          ...toJson(figures),
          project_id: names.project_id,
          user_id: null,
          api_key_id: names.api_key_id,
          model: nameOf(deps, names.model),
          ...toMoney(figures),
          ...describeEarnings(figures),
        }),
      });
    };
    return route.get(`/usage/${path}`, answer, {
      detail: describeRead(summary, pageOf(resultOf(path, fields)), {
        query: { ...spanParameters(Object.keys(bucketsOf), groups), models: list("Only these models") },
      }),
    });
  });
  return [
    ...usage,
    route.get(
      "/costs",
      async ({ request }) => {
        const span = readSpan(parseUrl(request).searchParams, deps.now(), costGroups, costBucketsMax);
        const named = namedGroups.find((name) => span.groups.has(name));
        const read = span.groups.has("agent")
          ? readByAgent(span)
          : named === undefined
            ? readByModel
            : readByName(named, span);
        const rows = await readPage(deps, span, read);
        const page = toPage(rows, span, {
          isOf: () => true,
          toResult: (figures, names) => ({
            object: "organization.costs.result",
            amount: { value: Number(formatUsd(figures.charged_nanodollars)), currency: "usd" },
            line_item: nameOf(deps, names.model),
            session: names.session,
            tag: names.tag,
            end_user: names.end_user,
            agent: names.agent,
            project_id: names.project_id,
            user_id: null,
            api_key_id: names.api_key_id,
            ...toMoney(figures),
            ...describeEarnings(figures),
          }),
        });
        return span.isCompared ? { ...page, comparison: await compareBuckets(deps, span, { read, rows }) } : page;
      },
      {
        detail: describeRead(
          "Costs of all projects: amounts paid by wallets",
          pageOf(CostResult, { comparison: Type.Optional(Comparison) }),
          {
            description:
              "Costs by `session`, `tag` or `end_user` are limited to the 100 names with the highest cost, of all projects or of one in `project_ids`. " +
              "They can be combined only with the group `project_id`. Costs by `agent` are of one `session` of one project.",
            query: {
              ...spanParameters(["1d"], costGroups),
              compare: {
                description: "Whether `comparison` has the sums of the page and of the time before it",
                schema: { type: "boolean", default: false },
              },
              session: { description: "The session whose agents `group_by` tells apart", schema: { type: "string" } },
            },
          },
        ),
      },
    ),
  ];
}

/** GET /key/usage: what the calling key has used, in the same buckets as the usage of the whole gateway. */
export function keyUsageController(deps: HttpDeps) {
  return [
    keyRoute(deps, {
      method: "GET",
      path: "/key/usage",
      async answer({ call: { id, httpRequest, caller } }) {
        const span = readSpan(parseUrl(httpRequest).searchParams, deps.now(), ["model"]);
        const own = { ...span, accountIds: [caller.accountId], keyIds: [caller.keyId] };
        const page = await readBuckets(deps, own, readByModel, {
          isOf: () => true,
          toResult: (figures, { model }) => ({
            object: "key.usage.result",
            num_model_requests: figures.requests,
            input_tokens: toInputTokens(figures),
            output_tokens: toOutputTokens(figures),
            input_cached_tokens: sumColumns(figures, cacheReadColumns),
            ...Object.fromEntries(
              unitFigures.map(({ field, divisor, column }) => [field, Math.round(figures[column] / divisor)]),
            ),
            model: nameOf(deps, model),
            ...toMoney(figures),
          }),
        });
        return Response.json(page, { headers: { ...dataHeaders(httpRequest), "x-request-id": id } });
      },
      detail: {
        summary: "Usage of the calling key, by time and model",
        tags: ["Account"],
        parameters: parameters(keyParameters),
        responses: responses({ "application/json": pageOf(KeyUsage) }, [400, 401, 429, 500, 503]),
      },
    }),
  ];
}

/** The name of a model that clients send. */
function nameOf(deps: HttpDeps, model: string | null): string | null {
  return model && displayNameOf(deps, model);
}

interface Span {
  readonly hours: 1 | 24;
  /** The first hour of the first bucket, counted from 1970, and the first one that is not in the span. */
  readonly fromHour: number;
  readonly untilHour: number;
  readonly limit: number;
  readonly groups: ReadonlySet<Group>;
  readonly accountIds: readonly string[] | undefined;
  readonly keyIds: readonly string[] | undefined;
  readonly models: readonly string[] | undefined;
  readonly session: string | undefined;
  /** Whether the sums of the buckets before are wanted too. */
  readonly isCompared: boolean;
}

/** @throws {GatewayError} `invalid_request` naming the parameter. */
function readSpan(query: URLSearchParams, now: number, widths: readonly string[], costsMax?: number): Span {
  const width = readWidth(query, costsMax === undefined ? ["1h", "1d"] : ["1d"]);
  const { hours, max, fallback } = bucketsOf[width];
  const start = readWhole(query, "start_time", [0, secondsMax]);
  if (start === undefined) throw invalid("start_time", "start_time is missing: send the seconds since 1970");
  const end = readWhole(query, "end_time", [0, secondsMax]) ?? Math.floor(now / 1000);
  if (end < start) throw invalid("end_time", "end_time is before start_time");
  const toHour = (seconds: number) => Math.floor(seconds / hourSeconds / hours) * hours;
  for (const name of ["user_ids", "batch"]) {
    if (readAll(query, name).length > 0) throw invalid(name, `Usage is not kept by ${name}; leave it out`);
  }
  const grouped = readAll(query, "group_by").flatMap((text) => text.split(","));
  const unknown = grouped.find((name) => !widths.includes(name));
  if (unknown !== undefined) {
    throw invalid("group_by", `group_by is ${quoteValue(unknown)}, expected some of ${widths.join(", ")}`);
  }
  const readList = (name: string) => {
    const values = readAll(query, name);
    return values.length === 0 ? undefined : values;
  };
  return {
    hours,
    fromHour: readPlace(query, hours) ?? toHour(start),
    untilHour: Math.ceil(end / hourSeconds / hours) * hours,
    limit: readWhole(query, "limit", [1, costsMax ?? max]) ?? fallback,
    groups: new Set(grouped.map((name) => (name === "line_item" ? "model" : (name as Group)))),
    accountIds: readList("project_ids"),
    keyIds: readList("api_key_ids"),
    models: readList("models"),
    session: query.get("session") || undefined,
    isCompared: readFlag(query, "compare"),
  };
}

/** @throws {GatewayError} `invalid_request` */
function readFlag(query: URLSearchParams, name: string): boolean {
  const text = query.get(name) ?? "false";
  if (text === "true" || text === "false") return text === "true";
  throw invalid(name, `${name} is ${quoteValue(text)}, expected true or false`);
}

function readWidth(query: URLSearchParams, widths: readonly Width[]): Width {
  const text = query.get("bucket_width") ?? "1d";
  const width = widths.find((each) => each === text);
  if (width !== undefined) return width;
  const why = text === "1m" ? "usage is kept by the hour, so " : "";
  throw invalid("bucket_width", `bucket_width is ${quoteValue(text)}: ${why}expected ${widths.join(" or ")}`);
}

/** Where a page begins: `hour_<first hour>`. @throws {GatewayError} `invalid_request` */
function readPlace(query: URLSearchParams, hours: number): number | undefined {
  const text = query.get("page");
  if (text === null || text === "") return undefined;
  const hour = Number(/^hour_(\d{1,10})$/.exec(text)?.[1]);
  if (Number.isInteger(hour) && hour % hours === 0) return hour;
  throw invalid("page", `page is ${quoteValue(text)}, expected next_page of the previous page`);
}

type Names = Readonly<Record<Group, string | null>>;

interface Wanted {
  readonly isOf: (row: UsageOfBucket) => boolean;
  readonly toResult: (figures: UsageFigures, names: Names) => object;
}

/** Reads the rows of buckets; `undefined` where they are too many. */
type ReadRows = (deps: HttpDeps, span: Span, starts: readonly number[]) => Promise<Row[] | undefined>;

/** Figures of a bucket, also by a name. */
type Row = UsageOfBucket & { readonly name?: string };

const readByModel: ReadRows = async (deps, span, starts) =>
  await readUsageRows(deps.store, {
    hours: span.hours,
    starts,
    byAccount: span.groups.has("project_id"),
    byKey: span.groups.has("api_key_id"),
    accountIds: span.accountIds,
    keyIds: span.keyIds,
    models: span.models?.map((name) => idOfModel(deps, name)),
  });

/** @throws {GatewayError} `invalid_request` for what sums of names do not know. */
function readByName(group: NamedGroup, { groups, accountIds, keyIds, models }: Span): ReadRows {
  const other = [...groups].find((name) => name !== group && name !== "project_id");
  if (other !== undefined) {
    throw invalid(
      "group_by",
      `Costs by ${group} are not kept by ${other === "model" ? "line_item" : other}; leave it out`,
    );
  }
  const filters = { api_key_ids: keyIds, models };
  for (const [name, values] of Object.entries(filters)) {
    if (values !== undefined) throw invalid(name, `Costs by ${group} are not kept by ${name}; leave it out`);
  }
  const [accountId, another] = accountIds ?? [];
  if (another !== undefined) throw invalid("project_ids", `Costs by ${group} can be of all projects or of one`);
  return async ({ store }, { hours }, starts) => {
    const query = { filter: { accountId }, hours, starts };
    const ranking = { group, rank: "cost", limit: namesMax, charted: namesMax } as const;
    const { groups: ofNames } = await readGroups(store, query, ranking);
    return ofNames.flatMap(({ value, accountId: owner, byHour = new Map<number, readonly number[]>() }) =>
      [...byHour].map(([hour, figures]) => ({
        ...readFigures(figures),
        hour,
        accountId: accountId ?? owner,
        keyId: "",
        model: "",
        name: value,
      })),
    );
  };
}

/** @throws {GatewayError} `invalid_request` */
function readByAgent({ groups, accountIds = [], keyIds, models, session }: Span): ReadRows {
  const other = [...groups].find((name) => name !== "agent" && name !== "project_id");
  if (other !== undefined) {
    throw invalid(
      "group_by",
      `Costs by agent are not kept by ${other === "model" ? "line_item" : other}; leave it out`,
    );
  }
  for (const [name, values] of Object.entries({ api_key_ids: keyIds, models })) {
    if (values !== undefined) throw invalid(name, `Costs by agent are not kept by ${name}; leave it out`);
  }
  const [accountId] = accountIds;
  if (session === undefined) throw invalid("session", "session is missing: costs by agent are of one session; name it");
  if (accountId === undefined || accountIds.length > 1) {
    throw invalid("project_ids", "Costs by agent are of one session of one project; name that project");
  }
  return async ({ store }, { hours }, starts) => {
    const buckets = new Set(starts);
    const rows = await readAgentUsage(store, { accountId, session });
    if (rows === undefined) throw invalid("session", "The session has too many calls to tell its agents apart");
    return rows
      .map(({ hour, model: name, ...row }) => ({
        ...row,
        hour: hour - (hour % hours),
        name,
        accountId,
        keyId: "",
        model: "",
      }))
      .filter(({ hour }) => buckets.has(hour));
  };
}

async function readBuckets(deps: HttpDeps, span: Span, read: ReadRows, wanted: Wanted) {
  return toPage(await readPage(deps, span, read), span, wanted);
}

/** Reads the rows of a page of buckets. @throws {GatewayError} `invalid_request` where they are too many. */
async function readPage(deps: HttpDeps, span: Span, read: ReadRows): Promise<Row[]> {
  await deps.rollup?.freshen();
  return await readAllRows(deps, span, { read, starts: listStarts(span) });
}

/** One page of buckets, without gaps; a bucket without usage has no results. */
function toPage(rows: readonly Row[], span: Span, { isOf, toResult }: Wanted) {
  const { hours, fromHour, untilHour, limit } = span;
  const byHour = Map.groupBy(rows.filter(isOf), ({ hour }) => hour);
  const next = fromHour + limit * hours;
  return {
    object: "page" as const,
    data: listStarts(span).map((hour) => ({
      object: "bucket" as const,
      start_time: hour * hourSeconds,
      end_time: (hour + hours) * hourSeconds,
      results: toResults(byHour.get(hour) ?? [], span.groups).map(([figures, names]) => toResult(figures, names)),
    })),
    has_more: next < untilHour,
    next_page: next < untilHour ? `hour_${next}` : null,
  };
}

/** The first hours of the buckets of a page. */
function listStarts({ hours, fromHour, untilHour, limit }: Span): number[] {
  const starts: number[] = [];
  for (let hour = fromHour; hour < untilHour && starts.length < limit; hour += hours) starts.push(hour);
  return starts;
}

/** @throws {GatewayError} `invalid_request` where they are too many. */
async function readAllRows(
  deps: HttpDeps,
  span: Span,
  { read, starts }: { readonly read: ReadRows; readonly starts: readonly number[] },
): Promise<Row[]> {
  const rows = await read(deps, span, starts);
  if (rows !== undefined) return rows;
  throw invalid("limit", "There are too many results; request fewer buckets or projects");
}

/** Compares the sums of a page's buckets with the same number of buckets before them, by group. */
async function compareBuckets(
  deps: HttpDeps,
  span: Span,
  { read, rows }: { readonly read: ReadRows; readonly rows: readonly Row[] },
) {
  const starts = listStarts(span);
  const length = starts.length * span.hours;
  const before = starts.map((start) => start - length);
  const sumsOf = (of: readonly Row[]) =>
    new Map(toResults(of, span.groups).map(([figures, names]) => [JSON.stringify(names), figures]));
  const present = sumsOf(rows);
  const past = sumsOf(await readAllRows(deps, span, { read, starts: before }));
  const none = { cost_nanodollars: 0, charged_nanodollars: 0, provider_cost_nanodollars: 0 };
  const results = [...new Set([...present.keys(), ...past.keys()])].sort().map((key) => {
    const { model, ...names } = JSON.parse(key) as Names;
    const [now, then] = [present.get(key) ?? none, past.get(key) ?? none];
    const { cost_nanodollars: cost } = then;
    const change = cost === 0 ? null : Math.round(((now.cost_nanodollars - cost) / cost) * 1000) / 10;
    return {
      line_item: nameOf(deps, model),
      ...names,
      ...toMoney(now),
      ...describeEarnings(now),
      previous: { ...toMoney(then), ...describeEarnings(then) },
      change_percent: change,
    };
  });
  const [from = span.fromHour] = before;
  return { start_time: from * hourSeconds, end_time: (from + length) * hourSeconds, results };
}

/** Sums of what is not told apart: models always are in the rows. */
function toResults(rows: readonly Row[], groups: ReadonlySet<Group>): [UsageFigures, Names][] {
  const toName = (row: Row, group: Group) => (groups.has(group) ? (row.name ?? null) : null);
  const toNames = (row: Row): Names => ({
    // Sums of a tag over all projects are nobody's.
    project_id: groups.has("project_id") ? row.accountId || null : null,
    api_key_id: groups.has("api_key_id") ? row.keyId : null,
    model: groups.has("model") ? row.model : null,
    session: toName(row, "session"),
    tag: toName(row, "tag"),
    end_user: toName(row, "end_user"),
    agent: toName(row, "agent"),
  });
  const ofNames = Map.groupBy(rows, (row) => JSON.stringify(toNames(row)));
  return [...ofNames]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([names, all]) => [addUp(all), JSON.parse(names)]);
}

function addUp(rows: readonly Row[]): UsageFigures {
  const total: Record<string, number> = {};
  for (const { hour: _, accountId: __, keyId: ___, model: ____, name: _____, ...figures } of rows) {
    for (const [name, value] of Object.entries(figures)) total[name] = (total[name] ?? 0) + value;
  }
  return total as UsageFigures;
}

function toMoney({
  cost_nanodollars,
  charged_nanodollars,
}: Pick<UsageFigures, "cost_nanodollars" | "charged_nanodollars">) {
  return { cost_usd: formatUsd(cost_nanodollars), charged_usd: formatUsd(charged_nanodollars) };
}

/** A model that is not in the catalogue any more is known by what it was charged for. */
function capabilityOf({ kernel }: HttpDeps, { model, ...figures }: UsageOfBucket): Capability {
  const entry = kernel.registry.byName(model);
  if (entry !== undefined) return entry.model.capability;
  if (figures.images > 0) return "images";
  if (figures.characters > 0) return "speech";
  return figures.audio_ms > 0 ? "transcription" : "chat";
}
