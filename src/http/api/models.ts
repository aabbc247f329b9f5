import { type Static, Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { decodePercent, GatewayError, getRetirement, isEnded, type Model } from "../../contract/index.ts";
import { describeRoutes } from "../../kernel/index.ts";
import { parseUrl } from "../dashboard-api/origin.ts";
import type { HttpDeps } from "../deps.ts";
import { apiKeyRoutes, type HttpCall, jsonReply } from "../middleware/handle-call.ts";
import { responses } from "./openapi.ts";

const ModelObject = Type.Object(
  {
    id: Type.String(),
    object: Type.Literal("model"),
    created: Type.Integer(),
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
    routes: Type.Optional(
      Type.Array(
        Type.Object({
          plugin: Type.String(),
          priority: Type.Integer({ description: "Lower is tried first" }),
          weight: Type.Integer({ description: "Share among routes of the same priority" }),
          state: Type.Union([Type.Literal("closed"), Type.Literal("open"), Type.Literal("half_open")]),
        }),
        { description: "The plugins that serve it, in order; only for a single model" },
      ),
    ),
  },
  { additionalProperties: true },
);
const ModelList = Type.Object({ object: Type.Literal("list"), data: Type.Array(ModelObject) });

const format = {
  name: "format",
  in: "query" as const,
  required: false,
  description: "`array` returns the bare array",
  schema: { type: "string" as const },
};

const prefix = "/models/";

/** GET /models, its alias /v1/models, and one model by its id (which may hold slashes). */
export function modelsController(deps: HttpDeps) {
  const list = async ({ call }: { call: HttpCall }) => {
    const { allowedModels } = call.caller;
    const data = [...deps.kernel.registry.modelEntries]
      .filter(({ model }) => allowedModels === undefined || allowedModels.has(model.id))
      .filter(({ model }) => !isEnded(model, deps.now()) || model.whenRetired === "successor")
      .map(({ model }) => toModelJson(model, deps.now()));
    const asArray = parseUrl(call.httpRequest).searchParams.get("format") === "array";
    return jsonReply(deps, call, asArray ? data : { object: "list", data });
  };
  const one = async ({ call }: { call: HttpCall }) => {
    const { pathname } = parseUrl(call.httpRequest);
    const name = pathname.slice(pathname.indexOf(prefix) + prefix.length);
    return jsonReply(deps, call, findModel(deps, decodePercent(name)));
  };
  const detail = {
    summary: "List the models that can be served now to this key",
    tags: ["Models"],
    parameters: [format],
    responses: responses({ "application/json": Type.Union([ModelList, Type.Array(ModelObject)]) }, [401, 500, 503]),
  };
  return new Elysia()
    .use(apiKeyRoutes(deps))
    .get("/models", list, { apiKey: true, detail })
    .get("/v1/models", list, { apiKey: true, detail })
    .get("/models/:model", one, {
      apiKey: true,
      detail: {
        summary: "One model",
        tags: ["Models"],
        responses: responses({ "application/json": ModelObject }, [400, 401, 404, 500, 503]),
      },
    })
    .get("/models/*", one, { apiKey: true, detail: { hide: true } });
}

function findModel(deps: HttpDeps, name: string): Static<typeof ModelObject> {
  const modelEntry = deps.kernel.registry.byName(name);
  if (modelEntry !== undefined)
    return { ...toModelJson(modelEntry.model, deps.now()), routes: describeRoutes(modelEntry, deps.kernel.now()) };
  throw new GatewayError("not_found", `The model '${name}' does not exist here; GET /models lists what does`, {
    param: "model",
    publicCode: "model_not_found",
  });
}

function toModelJson(model: Model, now: number): Static<typeof ModelObject> {
  const retirement = getRetirement(model, now);
  return {
    id: model.id,
    object: "model",
    created: model.created,
    owned_by: model.ownedBy,
    capability: model.capability,
    premium: model.premium,
    ...(model.contextTokens !== undefined && { context_tokens: model.contextTokens }),
    ...(model.outputTokensMax !== undefined && { output_tokens_max: model.outputTokensMax }),
    ...(model.inputTokensMax !== undefined && { input_tokens_max: model.inputTokensMax }),
    ...(model.inputCharactersMax !== undefined && { input_characters_max: model.inputCharactersMax }),
    ...(model.dimensions !== undefined && { dimensions: model.dimensions }),
    ...(model.voices !== undefined && { voices: model.voices, voice_default: model.voiceDefault }),
    ...(model.languages !== undefined && { languages: model.languages }),
    ...(model.aliases !== undefined && { aliases: model.aliases }),
    ...(model.price !== undefined && { price: model.price }),
    ...(model.retiredOn !== undefined && { retired_on: model.retiredOn }),
    ...(model.successor !== undefined && { successor: model.successor }),
    ...(retirement !== undefined && { retirement }),
    ...(model.features !== undefined && { features: model.features, reasoning: model.reasoning === true }),
  };
}
