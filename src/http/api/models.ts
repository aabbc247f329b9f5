import { type Static, Type } from "@sinclair/typebox";
import { type Caller, decodePercent, GatewayError, quoteValue, toSalePrice } from "../../contract/index.ts";
import { describeRoutes, type ModelEntry, mayUse, type Registry, type VirtualModel } from "../../kernel/index.ts";
import {
  getDisplayName,
  getNames,
  getRetirement,
  isEnded,
  type Model,
  virtualStrategies,
} from "../../provider/index.ts";
import type { HttpDeps } from "../deps.ts";
import { keyRoute } from "../lifecycle/call-routes.ts";
import { ConstantDocument } from "../lifecycle/constant-document.ts";
import type { HttpCall } from "../lifecycle/http-call.ts";
import { parseUrl } from "../lifecycle/origin.ts";
import { callHeaders, jsonReply } from "../lifecycle/respond.ts";
import { CodexModel, factsInCommon, type NamedFacts, toCodexModels } from "./codex-models.ts";
import { responses } from "./openapi.ts";

const ModelObject = Type.Object(
  {
    id: Type.String(),
    object: Type.Literal("model"),
    type: Type.Literal("model"),
    created: Type.Integer(),
    created_at: Type.String({ format: "date-time" }),
    display_name: Type.String(),
    owned_by: Type.String(),
    capability: Type.String(),
    premium: Type.Boolean(),
    context_tokens: Type.Optional(Type.Integer()),
    retired_on: Type.Optional(Type.String({ description: "The day on which its provider ends it" })),
    retirement: Type.Optional(
      Type.Union([Type.Literal("soon"), Type.Literal("past")], { description: "soon: within 60 days" }),
    ),
    successor: Type.Optional(Type.String()),
    price: Type.Optional(Type.Unknown()),
    members: Type.Optional(
      Type.Array(Type.String(), { description: "For a virtual model: the models, one of which serves a call" }),
    ),
    strategy: Type.Optional(Type.Union(virtualStrategies.map((word) => Type.Literal(word)))),
    routes: Type.Optional(
      Type.Array(
        Type.Object({
          plugin: Type.String(),
          priority: Type.Integer({ description: "Lower is tried first" }),
          weight: Type.Integer({ description: "Load-balancing weight among routes of the same priority" }),
          state: Type.Union([Type.Literal("closed"), Type.Literal("open"), Type.Literal("half_open")]),
        }),
        { description: "The plugins that serve it, in order; only for a single model" },
      ),
    ),
  },
  { additionalProperties: true },
);
type ModelObject = Static<typeof ModelObject>;

const id = Type.Union([Type.String(), Type.Null()]);
const ModelList = Type.Object({
  object: Type.Literal("list"),
  data: Type.Array(ModelObject),
  models: Type.Optional(
    Type.Array(CodexModel, { description: "The chat models as Codex reads them, for requests with client_version" }),
  ),
  has_more: Type.Boolean(),
  first_id: id,
  last_id: id,
});

const parameter = (name: string, description: string, type: "string" | "integer" = "string") => ({
  name,
  in: "query" as const,
  required: false,
  description,
  schema: { type },
});
const parameters = [
  parameter("format", "`array` returns the bare array"),
  parameter("limit", "The most models of one page, 1 to 1000; all when left out", "integer"),
  parameter("after_id", "The page begins behind this model"),
  parameter("before_id", "The page ends before this model"),
  parameter("client_version", "That of Codex, whose own list is added as `models`"),
  parameter("catalogue", "`whole`: Codex' list has the models that come with Codex, too"),
];
const pageParameters = ["limit", "after_id", "before_id"] as const;
const limitMax = 1000;
const dayMs = 86_400_000;
/** The last second of the year 9999: RFC 3339 has no later date. */
const createdMax = 253_402_300_799;

const prefix = "/models/";

/**
 * GET /models, its alias /v1/models, and one model by any of its names (which may hold slashes). The list has an entry for each
 * name, because clients offer what it has and refuse what it lacks; its members have the fields of both OpenAI's and Anthropic's
 * clients. For Codex the body also has its own list, `models`. Answers must not have `x-models-etag`: Codex would fetch the list
 * again after each turn.
 */
export function modelsController(deps: HttpDeps) {
  let lists: ModelLists | undefined;
  const readLists = (): ModelLists => {
    const { registry } = deps.kernel;
    const day = Math.floor(deps.now() / dayMs);
    if (lists?.registry !== registry || lists.day !== day) lists = new ModelLists(registry, day);
    return lists;
  };
  const list = async ({ call }: { call: HttpCall }) => {
    const { searchParams } = parseUrl(call.httpRequest);
    const isArray = searchParams.get("format") === "array";
    const isCodex = !isArray && searchParams.has("client_version");
    const isWholeCatalogue = searchParams.get("catalogue") === "whole";
    const current = readLists();
    const { allowedModels, accountModels, markupBasisPoints } = call.caller;
    const isWhole = isArray || !pageParameters.some((name) => searchParams.get(name));
    const isOfAll = allowedModels === undefined && accountModels === undefined && markupBasisPoints === undefined;
    if (isWhole && isOfAll) {
      const codex = isWholeCatalogue ? current.codexWhole : current.codex;
      const document = isArray ? current.array : isCodex ? codex : current.page;
      const headers = callHeaders(call, deps.snapshot().sandbox, "application/json");
      if (deps.loadShedder.isDraining) headers.connection = "close";
      return await document.respond(call.httpRequest, headers);
    }
    const data = current.for(call.caller);
    if (isArray) return jsonReply(deps, call, data);
    const models = isCodex ? { models: current.codexFor(call.caller, isWholeCatalogue) } : {};
    return jsonReply(deps, call, { ...toPage(data, searchParams), ...models });
  };
  const one = async ({ call }: { call: HttpCall }) => {
    const { pathname } = parseUrl(call.httpRequest);
    const name = pathname.slice(pathname.indexOf(prefix) + prefix.length);
    return jsonReply(deps, call, findModel(deps, decodePercent(name), call.caller));
  };
  const detail = {
    summary: "List the models that can be served now to this key, with an entry for each name of a model",
    tags: ["Models"],
    parameters,
    responses: responses(
      { "application/json": Type.Union([ModelList, Type.Array(ModelObject)]) },
      [400, 401, 429, 500, 503],
    ),
  };
  return [
    keyRoute(deps, { method: "GET", path: "/models", detail: detail, answer: list }),
    keyRoute(deps, { method: "GET", path: "/v1/models", detail: detail, answer: list }),
    keyRoute(deps, {
      method: "GET",
      path: "/models/:model",
      detail: {
        summary: "One model",
        tags: ["Models"],
        responses: responses({ "application/json": ModelObject }, [400, 401, 404, 429, 500, 503]),
      },
      answer: one,
    }),
    keyRoute(deps, { method: "GET", path: "/models/*", answer: one }),
  ];
}

/** A model under one of its names. */
interface NamedModel extends NamedFacts {
  readonly id: string;
  readonly json: ModelObject;
  /** Whether it is an id in place of which clients write another name. */
  readonly isCode: boolean;
}

type ListCaller = Pick<Caller, "allowedModels" | "accountModels" | "markupBasisPoints">;

/** A virtual model, and what its members have in common. */
interface NamedVirtual extends NamedFacts {
  readonly virtual: VirtualModel;
  readonly json: ModelObject;
}

/** The lists of models; they change with the registry and, because models end, with the day alone. */
class ModelLists {
  readonly registry: Registry;
  readonly day: number;
  /** The whole list, for callers that may use every model. */
  readonly page: ConstantDocument;
  /** The same as a bare array. */
  readonly array: ConstantDocument;
  /** The whole list with Codex' own. */
  readonly codex: ConstantDocument;
  readonly codexWhole: ConstantDocument;
  readonly #names: readonly NamedModel[];
  /** Ids in place of which clients write other names, and models that have ended. */
  readonly #others: readonly NamedModel[];
  readonly #virtual: readonly NamedVirtual[];

  constructor(registry: Registry, day: number) {
    this.registry = registry;
    this.day = day;
    const named = [...registry.modelEntries].flatMap((entry) => toNamed(entry, registry, day * dayMs));
    const parts = Object.groupBy(named, ({ isCode, json }) =>
      json.retirement === "past" ? "past" : isCode ? "codes" : "names",
    );
    const [names = [], codes = [], past = []] = [parts.names, parts.codes, parts.past];
    this.#names = names;
    this.#others = [...codes, ...past];
    this.#virtual = toVirtualList(registry);
    const toDocument = (toBody: () => unknown) =>
      new ConstantDocument("application/json", () => new Blob([JSON.stringify(toBody())]));
    this.page = toDocument(() => toPage(this.for({}), new URLSearchParams()));
    this.array = toDocument(() => this.for({}));
    const toCodex = (isWhole: boolean) =>
      toDocument(() => ({ ...toPage(this.for({}), new URLSearchParams()), models: this.codexFor({}, isWhole) }));
    this.codex = toCodex(false);
    this.codexWhole = toCodex(true);
  }

  /** The list for a caller, at the prices of their account. */
  for(caller: ListCaller): ModelObject[] {
    const { markupBasisPoints } = caller;
    return this.#allowed(caller).map(({ json, facts }) => {
      if (markupBasisPoints === undefined || json.price === undefined || facts.price === undefined) return json;
      return { ...json, price: toSalePrice(facts.price, markupBasisPoints) };
    });
  }

  /** The list for a caller that is Codex. */
  codexFor(caller: ListCaller, isWhole: boolean): CodexModel[] {
    return toCodexModels(this.#allowed(caller), isWhole);
  }

  /** Returns the allowed entries: names, then virtual models, then ids that are codes and retired models. */
  #allowed(caller: ListCaller): (NamedModel | NamedVirtual)[] {
    const isAllowed = ({ id, members }: VirtualModel) =>
      members.some(({ name }) => mayUse(caller, this.registry.byName(name)?.model.id ?? name, id));
    const toAllowed = (named: readonly NamedModel[]) => named.filter(({ id }) => mayUse(caller, id));
    return [
      ...toAllowed(this.#names),
      ...this.#virtual.filter(({ virtual }) => isAllowed(virtual)),
      ...toAllowed(this.#others),
    ];
  }
}

/** A model under each of its names; under none where nothing answers for it any more. */
function toNamed(entry: ModelEntry, registry: Registry, now: number): NamedModel[] {
  const { model } = entry;
  if (isEnded(model, now) && model.whenRetired !== "successor") return [];
  const shown = getDisplayName(model);
  return getNames(model)
    .filter((name) => registry.byName(name) === entry)
    .map((name) => ({
      id: model.id,
      name,
      facts: model,
      isShown: name === shown,
      json: toModelJson(entry, { now, name }),
      isCode: name === model.id && name !== shown,
    }));
}

/**
 * The page that is asked for, as Anthropic pages lists. Without parameters it is the whole list.
 *
 * @throws {GatewayError} `invalid_request` for a limit or an id that there is not: an empty page would look like the end.
 */
function toPage(all: ModelObject[], query: URLSearchParams): Static<typeof ModelList> {
  const after = query.get("after_id");
  const before = query.get("before_id");
  const limit = readLimit(query.get("limit"));
  if (after && before) throw invalid("after_id", "after_id and before_id exclude each other; send one of them");
  const rest = all.slice(
    after ? findId(all, "after_id", after) + 1 : 0,
    before ? findId(all, "before_id", before) : all.length,
  );
  const data = before ? rest.slice(Math.max(0, rest.length - limit)) : rest.slice(0, limit);
  const [first, last] = [data[0], data.at(-1)];
  return {
    object: "list",
    data,
    has_more: data.length < rest.length,
    first_id: first === undefined ? null : first.id,
    last_id: last === undefined ? null : last.id,
  };
}

function readLimit(text: string | null): number {
  if (text === null || text === "") return Number.POSITIVE_INFINITY;
  const limit = Number(text);
  if (/^\d+$/.test(text) && limit >= 1 && limit <= limitMax) return limit;
  throw invalid("limit", `limit is ${quoteValue(text)}, but a whole number of 1 to ${limitMax} was expected`);
}

function findId(all: ModelObject[], param: string, id: string): number {
  const index = all.findIndex((model) => model.id === id);
  if (index !== -1) return index;
  throw invalid(param, `${param} is ${quoteValue(id)}, but the list has no such model`);
}

function invalid(param: string, message: string): GatewayError {
  return new GatewayError("invalid_request", message, { param });
}

function findModel(deps: HttpDeps, name: string, caller: Caller): ModelObject {
  const virtual = deps.kernel.registry.virtualModels.get(name);
  const json = virtual && toVirtualJson(virtual, deps.kernel.registry);
  if (json !== undefined) return json;
  const modelEntry = deps.kernel.registry.byName(name);
  if (modelEntry !== undefined) {
    const routes = describeRoutes(modelEntry, deps.kernel.now());
    return { ...toModelJson(modelEntry, { now: deps.now(), name, caller }), routes };
  }
  const error = deps.kernel.registry.describeUnknown(name, caller);
  if (error.code !== "model_not_found") throw error;
  throw new GatewayError("not_found", error.message, { param: "model", publicCode: error.code });
}

function toVirtualList(registry: Registry): NamedVirtual[] {
  return [...registry.virtualModels.values()].flatMap((virtual) => {
    const json = toVirtualJson(virtual, registry);
    const common = toVirtualModel(virtual, registry);
    if (json === undefined || common === undefined) return [];
    const models = virtual.members.flatMap(({ name }) => registry.byName(name)?.model ?? []);
    return { virtual, json, name: virtual.id, facts: factsInCommon(common, models), isShown: true };
  });
}

function toVirtualJson(virtual: VirtualModel, registry: Registry): ModelObject | undefined {
  const common = toVirtualModel(virtual, registry);
  if (common === undefined) return undefined;
  const members = virtual.members.flatMap(({ name }) => {
    const entry = registry.byName(name);
    return entry === undefined ? [] : getDisplayName(entry.model);
  });
  return { ...toModelJson({ model: common }, { now: 0 }), members, strategy: virtual.strategy };
}

/** Returns what all members of a virtual model have in common; `undefined` when none is served. */
export function toVirtualModel({ id, members }: VirtualModel, registry: Registry): Model | undefined {
  const models = members.flatMap(({ name }) => registry.byName(name)?.model ?? []);
  const [first] = models;
  if (first === undefined) return undefined;
  const contexts = models.flatMap(({ contextTokens }) => contextTokens ?? []);
  return {
    id,
    upstreamId: id,
    capability: first.capability,
    premium: models.some(({ premium }) => premium),
    ownedBy: "modelgate",
    created: Math.max(...models.map(({ created }) => created)),
    ...(contexts.length === models.length && { contextTokens: Math.min(...contexts) }),
  };
}

/**
 * @param shown `name`: the name to show; absent: its id. `caller`: whose price to show; absent: the price without an account's
 *   markup.
 */
function toModelJson(
  { model, markupBasisPoints = 0 }: Pick<ModelEntry, "model" | "markupBasisPoints">,
  { now, name = model.id, caller = {} }: { now: number; name?: string; caller?: ListCaller },
): ModelObject {
  const retirement = getRetirement(model, now);
  const aliases = name === model.id ? model.aliases : getNames(model).filter((other) => other !== name);
  return {
    id: name,
    object: "model",
    type: "model",
    created: model.created,
    created_at: new Date(Math.min(model.created, createdMax) * 1000).toISOString(),
    display_name: name === model.id ? getDisplayName(model) : name,
    owned_by: model.ownedBy,
    capability: model.capability,
    premium: model.premium,
    ...(model.contextTokens !== undefined && { context_tokens: model.contextTokens }),
    ...(model.outputTokensMax !== undefined && { output_tokens_max: model.outputTokensMax }),
    ...(model.inputTokensMax !== undefined && { input_tokens_max: model.inputTokensMax }),
    ...(model.inputCharactersMax !== undefined && { input_characters_max: model.inputCharactersMax }),
    ...(model.dimensions !== undefined && { dimensions: model.dimensions }),
    ...(model.voices !== undefined && { voices: model.voices, voice_default: model.voiceDefault }),
    ...(model.audioFormats !== undefined && { audio_formats: ["wav", "pcm", ...model.audioFormats] }),
    ...(model.languages !== undefined && { languages: model.languages }),
    ...(aliases !== undefined && { aliases }),
    ...(model.price !== undefined && {
      price: toSalePrice(model.price, caller.markupBasisPoints ?? markupBasisPoints),
    }),
    ...(model.retiredOn !== undefined && { retired_on: model.retiredOn }),
    ...(model.successor !== undefined && { successor: model.successor }),
    ...(retirement !== undefined && { retirement }),
    ...(model.features !== undefined && { features: model.features }),
    ...(model.reasoning !== undefined && { reasoning: model.reasoning }),
  };
}
