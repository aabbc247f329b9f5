import { type Static, type TNumber, type TOptional, Type } from "@sinclair/typebox";
import {
  type Capability,
  type MeterName,
  modelCapabilities,
  namePattern,
  Price,
  quotaWeights,
  unitMeters,
} from "../contract/index.ts";
import { findModelFacts, type ModelFacts } from "./model-facts.ts";

const day = Type.String({
  pattern: "^\\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])$",
  description: "A day, such as 2027-01-31",
});
const names = (description: string) =>
  Type.Array(Type.String({ minLength: 1, pattern: namePattern }), { minItems: 1, description });

const unitWeights = Object.fromEntries(
  unitMeters.map((name) => [name, Type.Optional(Type.Number({ minimum: 0 }))]),
) as Record<MeterName, TOptional<TNumber>>;
const unitDefaults = unitMeters.map((name) => `${name} ${quotaWeights[name]}`).join(", ");

/**
 * Abilities of a model beyond its capability: of chat besides text, and of images and transcriptions at a further
 * endpoint.
 */
const modelFeatures = ["vision", "tools", "json_schema", "audio", "pdf", "edits", "translation"] as const;

/** Context of a model whose row declares none: as much as the largest that are sold. */
export const contextTokensDefault = 2_097_152;
/** Capability of a row that names none. */
export const capabilityDefault = "chat";

/**
 * A row of a catalogue, wherever it is written: one model as the gateway sells it and as its provider knows it.
 * {@link completeRow} fills in the optional fields.
 */
export const ModelRow = Type.Object(
  {
    id: Type.String({
      minLength: 1,
      maxLength: 200,
      pattern: namePattern,
      description: "Name that clients send in `model`, without control characters",
    }),
    aliases: Type.Optional(names("Other names that clients can use; a response has the requested name")),
    upstreamId: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 200,
        description:
          "Id of the model at the provider; default: the id, without the prefix of the plugin's unlisted models",
      }),
    ),
    capability: Type.Optional(
      Type.Union(
        modelCapabilities.map((name) => Type.Literal(name)),
        { description: `Default ${capabilityDefault}` },
      ),
    ),
    endpoint: Type.Optional(
      Type.Literal("responses", {
        description: "Where its provider serves a chat model, if it is not at /chat/completions",
      }),
    ),
    premium: Type.Boolean({ description: "Paid from the wallet if true, drawn from the daily free quota if false" }),
    contextTokens: Type.Optional(
      Type.Integer({
        minimum: 1,
        description: `Prompt and answer together; absent: not known, and held as ${contextTokensDefault} where the prompt has no bound`,
      }),
    ),
    upstreamContextTokens: Type.Optional(
      Type.Integer({
        minimum: 1,
        description: "Maximum of prompt and answer at its provider, if that is more than contextTokens",
      }),
    ),
    inputTokensMax: Type.Optional(
      Type.Integer({ minimum: 1, description: "Maximum number of tokens of one embedding input" }),
    ),
    inputCharactersMax: Type.Optional(
      Type.Integer({ minimum: 1, description: "Maximum number of characters of one speech input" }),
    ),
    audioMsMax: Type.Optional(Type.Integer({ minimum: 1, description: "Of one transcription" })),
    pagesMax: Type.Optional(
      Type.Integer({ minimum: 1, description: "The most pages that one request is charged for" }),
    ),
    secondsMax: Type.Optional(
      Type.Integer({ minimum: 1, description: "The most seconds that one request is charged for" }),
    ),
    outputTokensMax: Type.Optional(Type.Integer({ minimum: 1 })),
    reasoning: Type.Optional(
      Type.Boolean({
        description:
          "It may reason before it answers, and what it reasons is billed but may not all be shown; absent: as the gateway knows the model by its name, otherwise not known, and held as true",
      }),
    ),
    features: Type.Optional(
      Type.Array(Type.Union(modelFeatures.map((name) => Type.Literal(name))), {
        description:
          "What a chat model supports in addition to text, and the formats of its answer; `edits` of an image model, `translation` of a transcription model; absent: not known",
      }),
    ),
    timeoutSeconds: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 3600, description: "The longest silence of its provider; default 300" }),
    ),
    imageTokensMax: Type.Optional(
      Type.Integer({ minimum: 1, description: "The most that one image of a prompt costs" }),
    ),
    searchTokensMax: Type.Optional(
      Type.Integer({
        minimum: 1,
        description:
          "The most tokens that searches of the web put into one prompt, as its provider says; absent: its whole context",
      }),
    ),
    cacheTokensMin: Type.Optional(
      Type.Integer({
        minimum: 1,
        description:
          "The shortest prompt that its provider caches; the gateway marks no shorter one; absent: any is marked",
      }),
    ),
    cacheMarks: Type.Optional(
      Type.Union(
        ["auto", "off"].map((word) => Type.Literal(word as "auto" | "off")),
        { description: "off: the gateway marks no prompts for the cache of its provider; default auto" },
      ),
    ),
    imageOutputTokensMax: Type.Optional(
      Type.Record(Type.String(), Type.Integer({ minimum: 1 }), {
        description:
          "The most tokens of one image that it makes, by quality (`high`) or quality and size (`high 1024x1024`)",
      }),
    ),
    dimensions: Type.Optional(
      Type.Object(
        {
          default: Type.Integer({ minimum: 1 }),
          min: Type.Integer({ minimum: 1 }),
          max: Type.Integer({ minimum: 1, description: "Equal to min when the size is fixed" }),
        },
        { additionalProperties: false },
      ),
    ),
    voices: Type.Optional(names("Voice ids the model takes")),
    voiceDefault: Type.Optional(Type.String({ minLength: 1 })),
    languages: Type.Optional(names("Language codes the model takes")),
    sampleRates: Type.Optional(Type.Array(Type.Integer({ minimum: 1 }), { minItems: 1, description: "Hz" })),
    audioFormats: Type.Optional(
      Type.Array(Type.Union(["mp3", "opus", "aac", "flac"].map((name) => Type.Literal(name))), {
        minItems: 1,
        description: "Formats of speech in addition to wav and pcm",
      }),
    ),
    omit: Type.Optional(names("Request fields that the model rejects; they are left out of the provider's request")),
    rename: Type.Optional(
      Type.Record(Type.String(), Type.String(), { description: "Request fields it knows by another name" }),
    ),
    options: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), { description: "Settings of the plugin's own dialect" }),
    ),
    ownedBy: Type.Optional(
      Type.String({ minLength: 1, description: "Owner of the model in GET /models; default: the plugin's name" }),
    ),
    created: Type.Optional(
      Type.Integer({ minimum: 0, description: "Seconds since 1970, as in the model object; default 0" }),
    ),
    price: Type.Optional(Price),
    quotaWeights: Type.Optional(
      Type.Object(unitWeights, {
        additionalProperties: false,
        description: `Tokens of the daily free quota that one unit draws; default: ${unitDefaults}`,
      }),
    ),
    priority: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 1000, description: "Lower is tried first; default 100" }),
    ),
    weight: Type.Optional(Type.Integer({ minimum: 0, maximum: 1000, description: "Load-balancing weight; default 1" })),
    disabled: Type.Optional(Type.Boolean({ description: "true: the operator does not sell it" })),
    retiredOn: Type.Optional(day),
    successor: Type.Optional(
      Type.String({ minLength: 1, description: "The model that its provider names in its place" }),
    ),
    whenRetired: Type.Optional(
      Type.Union(
        ["refuse", "serve", "successor"].map((word) => Type.Literal(word as "refuse" | "serve" | "successor")),
        { description: "From that day on: refused (default), asked for as before, or answered by the successor" },
      ),
    ),
    source: Type.Optional(Type.String({ minLength: 1, description: "Where the facts were read" })),
    checkedOn: Type.Optional(day),
  },
  { additionalProperties: false },
);
export type ModelRow = Static<typeof ModelRow>;

/** A row with all that it may leave out. */
export type Model = ModelRow & { upstreamId: string; capability: Capability; ownedBy: string; created: number };

/** Rows that have been completed, which stay what they are in the plugins made of them. */
const completed = new WeakSet<ModelRow>();

/** Completes a row. Manifests, plugins with code, and the operator's own files all use these defaults. */
export function completeRow(row: ModelRow, plugin: { name: string; prefix?: string | undefined }): Model {
  if (isCompleted(row)) return row;
  const { id, capability = capabilityDefault, ownedBy = plugin.name, created = 0 } = row;
  const { upstreamId = toUpstreamId(id, plugin.prefix) } = row;
  const facts = capability === "chat" ? findFacts(id, upstreamId, row.contextTokens) : undefined;
  const complete = { ...facts, ...row, upstreamId, capability, ownedBy, created };
  completed.add(complete);
  return complete;
}

function isCompleted(row: ModelRow): row is Model {
  return completed.has(row);
}

/** The facts of a chat model. The provider's name may be just the name of a deployment: the id fills in the facts that it lacks. */
function findFacts(id: string, upstreamId: string, contextTokens = Number.POSITIVE_INFINITY): ModelFacts {
  const facts = { ...(upstreamId !== id && findModelFacts(id)), ...findModelFacts(upstreamId) };
  const { reasoning, imageTokensMax, outputTokensMax, cacheTokensMin } = facts;
  return {
    ...(reasoning !== undefined && { reasoning }),
    ...(imageTokensMax !== undefined && { imageTokensMax }),
    ...(cacheTokensMin !== undefined && { cacheTokensMin }),
    ...(outputTokensMax !== undefined && { outputTokensMax: Math.min(outputTokensMax, contextTokens) }),
  };
}

function toUpstreamId(id: string, prefix = ""): string {
  return id.length > prefix.length && id.startsWith(prefix) ? id.slice(prefix.length) : id;
}

/**
 * Name of a model for people: the provider's own name where clients may use it here too, else the id. The id stays what
 * the ledger, keys and filters know it by.
 */
export function getDisplayName({ id, aliases = [], upstreamId }: Pick<Model, "id" | "aliases" | "upstreamId">): string {
  return aliases.includes(upstreamId) ? upstreamId : id;
}

/** Every name of a model that clients may write, each once: its {@link getDisplayName} first, and an id that is not that last. */
export function getNames(model: Pick<Model, "id" | "aliases" | "upstreamId">): readonly string[] {
  const { id, aliases = [] } = model;
  const shown = getDisplayName(model);
  const others = aliases.filter((alias) => alias !== shown && alias !== id);
  return shown === id ? [id, ...others] : [shown, ...others, id];
}

/** How many days before a model's end it is announced. */
export const noticeDays = 60;
const noticeMs = noticeDays * 86_400_000;

/**
 * Whether the provider has ended a model, or ends it within 60 days. A model ends with the first moment of `retiredOn`,
 * UTC.
 *
 * @returns `undefined` if the model has no end, or only a later one.
 */
export function getRetirement({ retiredOn }: Pick<Model, "retiredOn">, now: number): "past" | "soon" | undefined {
  if (retiredOn === undefined) return undefined;
  const endsAt = Date.parse(retiredOn);
  return endsAt <= now ? "past" : endsAt <= now + noticeMs ? "soon" : undefined;
}

/** Whether calls of the model itself are refused: it has ended, and its row does not say `whenRetired: "serve"`. */
export function isEnded(model: Model, now: number): boolean {
  return getRetirement(model, now) === "past" && model.whenRetired !== "serve";
}

export const virtualStrategies = ["priority", "weight", "cheapest", "fastest"] as const;
export type VirtualStrategy = (typeof virtualStrategies)[number];

/** Maximum number of models behind one name, or listed by one request. */
export const membersMax = 16;

const name = Type.String({ minLength: 1, maxLength: 200, description: "The id or an alias of a model" });

/**
 * A row of `catalogue/virtual.json`: a name for several models. A call is served by the first of them that can serve
 * it.
 */
export const VirtualModelRow = Type.Object(
  {
    id: ModelRow.properties.id,
    models: Type.Array(
      Type.Union([
        name,
        Type.Object(
          { model: name, weight: Type.Optional(Type.Integer({ minimum: 0, maximum: 1000 })) },
          { additionalProperties: false },
        ),
      ]),
      { minItems: 1, maxItems: membersMax, description: "Names of models, or { model, weight }" },
    ),
    strategy: Type.Optional(
      Type.Union(
        virtualStrategies.map((word) => Type.Literal(word)),
        { description: "In which order they are tried; default priority: as they are listed" },
      ),
    ),
  },
  { additionalProperties: false },
);
export type VirtualModelRow = Static<typeof VirtualModelRow>;

/** Prices and limits of a provider's models that have no row of their own. */
export const Unlisted = Type.Object(
  {
    premium: Type.Boolean(),
    prefix: Type.Optional(
      Type.String({
        pattern: "^[a-z0-9][a-z0-9-]*/$",
        description: "Prefix of the provider's names, such as my-server/",
      }),
    ),
    price: Type.Optional(Price),
    capability: Type.Optional(
      Type.Union(
        modelCapabilities.map((name) => Type.Literal(name)),
        { description: "Default chat" },
      ),
    ),
    contextTokens: Type.Optional(Type.Integer({ minimum: 1 })),
    outputTokensMax: Type.Optional(Type.Integer({ minimum: 1 })),
  },
  { additionalProperties: false },
);
export type Unlisted = Static<typeof Unlisted>;
