import { type Static, type TSchema, Type } from "@sinclair/typebox";
import { modelCapabilities } from "../contract/index.ts";
import { shapeChecker } from "../lib/check-shape.ts";
import { isRecord } from "../lib/json.ts";
import { listNamedFields } from "../protocols/known-fields.ts";
import type {
  ImageEditsOptions,
  ImagesOptions,
  OpenaiOptions,
  RequestOptions,
  ResponsesOptions,
  TranscriptionOptions,
} from "../protocols/openai/request.ts";
import { capabilityDefault, type ModelRow, type ProviderPlugin } from "../provider/index.ts";
import type { PluginDefinition } from "../sdk/define-plugin.ts";
import { PluginError } from "../sdk/errors.ts";
import { anthropic, type ChatOptions, definePlugin, gemini, openai, openaiModelOptions } from "../sdk/index.ts";

const words = Type.Array(Type.String({ minLength: 1 }));
const request = {
  path: Type.String({ pattern: "^/", description: "a path that begins with /, such as /v2/chat" }),
  omit: words,
  fields: words,
  rename: Type.Record(Type.String(), Type.String()),
  values: Type.Record(Type.String(), Type.Record(Type.String(), Type.Unknown())),
  pass: words,
  extra: Type.Record(Type.String(), Type.Unknown()),
} satisfies Record<keyof RequestOptions, TSchema>;

const chat = {
  ...request,
  messageOmit: words,
  messageFields: words,
  keepsReasoning: Type.Boolean(),
  reasoningBack: Type.Array(
    Type.Union(["reasoning_content", "reasoning", "reasoning_details", "content"].map((place) => Type.Literal(place))),
  ),
  cacheControl: Type.Boolean(),
  cacheKey: Type.Boolean(),
  systemRole: Type.Union([Type.Literal("system"), Type.Literal("developer")]),
  functions: Type.Union([Type.Literal("pass"), Type.Literal("convert")]),
  reasoningEfforts: words,
  toolEfforts: words,
  toolEffortDefault: Type.String({ minLength: 1 }),
  reasoningOmit: words,
  stopsMax: Type.Integer({ minimum: 1 }),
  streamOptions: Type.Boolean(),
  drop: words,
  reasoningFields: words,
  think: Type.Boolean(),
  finishReasons: Type.Record(Type.String(), Type.String()),
  callIds: Type.Union([Type.Literal("openai"), Type.Literal("mistral")]),
  streams: Type.Boolean(),
  streamsSchemas: Type.Boolean(),
  usageIn: Type.String({ minLength: 1 }),
} satisfies Record<keyof ChatOptions, TSchema>;

const images = { ...request, partialImages: Type.Boolean() } satisfies Record<keyof ImagesOptions, TSchema>;

const transcription = { ...request, verbose: Type.Boolean() } satisfies Record<keyof TranscriptionOptions, TSchema>;

const closed = (fields: Record<string, TSchema>) =>
  Type.Optional(Type.Partial(Type.Object(fields), { additionalProperties: false }));

/** The options of the dialect, by capability. */
const DialectOptions = Type.Object(
  {
    chat: closed(chat),
    responses: closed({
      ...request,
      cacheKey: Type.Boolean(),
      inputTokens: Type.Boolean(),
      compact: Type.Boolean(),
      clientMetadata: Type.Boolean(),
      responsesWebSocket: Type.Boolean(),
    } satisfies Record<keyof ResponsesOptions, TSchema>),
    embeddings: closed(request),
    images: closed(images),
    imageEdits: closed({
      ...images,
      imagesAs: Type.Union([Type.Literal("files"), Type.Literal("urls")]),
    } satisfies Record<keyof ImageEditsOptions, TSchema>),
    transcription: closed(transcription),
    translation: closed(transcription),
    speech: closed(request),
    moderation: closed(request),
    rerank: closed(request),
    decisions: closed(request),
  } satisfies Record<keyof OpenaiOptions, TSchema>,
  { additionalProperties: false },
);

/** The form of a plugin without code. */
const Manifest = Type.Object(
  {
    $schema: Type.Optional(Type.String()),
    name: Type.Optional(Type.String({ description: "The file's name without .json when left out" })),
    contractVersion: Type.Optional(Type.Unknown()),
    baseUrl: Type.String({ minLength: 1, description: "Where the provider is, such as https://api.example.com/v1" }),
    dialect: Type.Union([Type.Literal("openai"), Type.Literal("anthropic"), Type.Literal("gemini")], {
      description: "what the provider speaks; for another protocol, write a plugin with code",
    }),
    credential: Type.Optional(Type.Union([Type.Literal("key"), Type.Literal("none")])),
    environment: Type.Optional(Type.Unknown()),
    authorize: Type.Optional(
      Type.Record(Type.String(), Type.String(), {
        description: 'Headers that carry the key, such as { "x-api-key": "{key}" }; default Authorization: Bearer',
      }),
    ),
    hosts: Type.Optional(Type.Array(Type.String())),
    options: Type.Optional(DialectOptions),
    maxChoices: Type.Optional(Type.Unknown()),
    takes: Type.Optional(Type.Unknown()),
    requestFields: Type.Optional(Type.Unknown()),
    models: Type.Optional(Type.Array(Type.Record(Type.String(), Type.Unknown()))),
    unlisted: Type.Optional(Type.Unknown({ description: "Terms for all other models of the provider" })),
  },
  { additionalProperties: false },
);
type Manifest = Static<typeof Manifest>;

const findManifestError = shapeChecker(Manifest);

/**
 * Creates a plugin from a manifest.
 *
 * @param name The file's name without `.json`.
 * @throws {PluginError} Naming the invalid field.
 */
export function readManifest(value: unknown, name: string): ProviderPlugin {
  if (!isRecord(value)) throw new PluginError("expected a JSON object with name, baseUrl, dialect and models");
  const error = findManifestError(value);
  if (error !== undefined) throw new PluginError(`${error.path.replace(/^\./, "") || "the file"}: ${error.reason}`);
  const { $schema: _, dialect, authorize, options: written = {}, models = [], ...rest } = value as unknown as Manifest;
  if (models.length === 0 && rest.unlisted === undefined) {
    throw new PluginError("it has no models; list some, or give unlisted terms for all that the provider has");
  }
  const rows = models as unknown as ModelRow[];
  const requestFields = listRequestFields(rest.requestFields, written);
  return definePlugin({
    name,
    ...(rest as object),
    ...(requestFields !== undefined && { requestFields }),
    models: rows,
    ...(dialect === "openai" ? fromOpenai(written, rows, rest.unlisted) : fromDialect(dialect, rest, written)),
    ...(authorize && { authorize: authorizeBy(authorize) }),
  } as unknown as PluginDefinition);
}

/** The provider's own request fields, from the manifest's list and its options. */
function listRequestFields(listed: unknown, options: object): unknown {
  if (listed !== undefined && !Array.isArray(listed)) return listed;
  const named = (Object.values(options) as Record<string, unknown>[]).flatMap(listNamedFields);
  return listed === undefined && named.length === 0 ? undefined : [...new Set([...(listed ?? []), ...named])];
}

/** The handlers of the capabilities that the manifest offers. */
function fromOpenai(written: object, rows: readonly ModelRow[], unlisted: unknown): Partial<PluginDefinition> {
  const options: OpenaiOptions = { ...written };
  for (const capability of modelCapabilities) {
    const isUnlisted = isRecord(unlisted) && (unlisted.capability ?? capabilityDefault) === capability;
    if (isUnlisted || rows.some((row) => (row.capability ?? capabilityDefault) === capability))
      options[capability] ??= {};
  }
  return { handlers: openai(options), modelOptions: openaiModelOptions };
}

const dialects = {
  anthropic: { make: () => anthropic({ headers: { "anthropic-version": "2023-06-01" } }), header: "x-api-key" },
  gemini: { make: gemini, header: "x-goog-api-key" },
};

/** Bounds in the manifest override the bounds of the dialect. */
function fromDialect(
  dialect: keyof typeof dialects,
  { maxChoices, takes }: Pick<Manifest, "maxChoices" | "takes">,
  written: object,
): Partial<PluginDefinition> {
  if (Object.keys(written).length > 0 || takes !== undefined) {
    const field = takes === undefined ? "options" : "takes";
    throw new PluginError(
      `${field} is for the dialect openai; leave it out, and write what a model needs into its row`,
    );
  }
  const { make, header } = dialects[dialect];
  const parts = make();
  return {
    ...parts,
    authorize: (_, { key }) => ({ [header]: key }),
    ...(maxChoices !== undefined && { maxChoices: maxChoices as NonNullable<PluginDefinition["maxChoices"]> }),
  };
}

function authorizeBy(headers: Record<string, string>): ProviderPlugin["authorize"] {
  const templates = Object.entries(headers);
  if (!templates.some(([, template]) => template.includes("{key}"))) {
    throw new PluginError('authorize has no {key}; write where the key goes, such as { "x-api-key": "{key}" }');
  }
  return (_, { key }) =>
    Object.fromEntries(templates.map(([name, template]) => [name, template.split("{key}").join(key)]));
}
