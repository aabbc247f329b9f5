import { GatewayError, membersMax } from "../../contract/index.ts";
import { Call, findCandidates } from "../../kernel/index.ts";
import { isRecord } from "../../lib/json.ts";
import type { HttpDeps } from "../deps.ts";
import type { HttpCall } from "./http-call.ts";
import { recordEnd } from "./record.ts";

/** Whether a value can be the name of a model; a longer text is none, and is not repeated in an error. */
function isName(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= 200;
}

/**
 * Takes the field `models` out of a body: the models that the client wants to be tried in order. A `model` beside it is the
 * first one, and the first one is the `model` of a body without.
 *
 * @throws {GatewayError} `invalid_request` when it is not a list of names.
 */
export function takeModels(body: unknown, call: Pick<HttpCall, "models">): void {
  if (!isRecord(body) || body.models === undefined || body.models === null) return;
  const { models, model } = body;
  if (!Array.isArray(models) || models.length === 0 || models.length > membersMax || !models.every(isName)) {
    const sentence = `models must be a list of 1 to ${membersMax} names of models; GET /models lists them`;
    throw new GatewayError("invalid_request", sentence, { param: "models" });
  }
  const names = new Set(isName(model) ? [model, ...models] : models);
  call.models = [...names];
  body.model ??= call.models[0];
  delete body.models;
}

/**
 * Step 4: finds the models that may serve a call, once and before its body is validated and translated: a model that does not exist or that the
 * key may not use is refused without that work. A body without the name of a model is left to its schema.
 *
 * @throws {GatewayError} `model_not_found` or `model_not_allowed`.
 */
export function resolveModels(deps: HttpDeps, call: HttpCall, body: unknown, modelDefault?: string): void {
  const { kernel } = deps;
  const { capability, caller, openedAt, models, session } = call;
  if (capability === undefined || !isRecord(body)) return;
  const model = body.model ?? modelDefault;
  if (!isName(model)) return;
  const isStream = capability === "speech" || (capability === "chat" && body.stream === true);
  try {
    call.candidates = findCandidates(kernel, { model, models, capability, caller, openedAt, session, isStream });
  } catch (error) {
    const refused = new Call(call.toRequest({ capability, request: body as never }));
    refused.refusal = error instanceof GatewayError ? error : undefined;
    recordEnd(deps, refused, call.httpRequest);
    throw error;
  }
}
