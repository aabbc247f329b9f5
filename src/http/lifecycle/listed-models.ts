import { GatewayError, membersMax } from "../../contract/index.ts";
import type { CallContext } from "../../kernel/index.ts";
import { isRecord } from "../../lib/json.ts";

/**
 * Takes the field `models` out of a body: the models that the client wants to be tried in order. A `model` beside it is the
 * first one, and the first one is the `model` of a body without.
 *
 * @throws {GatewayError} `invalid_request` when it is not a list of names.
 */
export function takeModels(body: unknown, call: Pick<CallContext, "asked">): void {
  if (!isRecord(body) || body.models === undefined || body.models === null) return;
  const { models, model } = body;
  const isName = (name: unknown): name is string => typeof name === "string" && name !== "" && name.length <= 200;
  if (!Array.isArray(models) || models.length === 0 || models.length > membersMax || !models.every(isName)) {
    const sentence = `models must be a list of 1 to ${membersMax} names of models; GET /models lists them`;
    throw new GatewayError("invalid_request", sentence, { param: "models" });
  }
  const names = new Set(isName(model) ? [model, ...models] : models);
  call.asked = [...names];
  body.model ??= call.asked[0];
  delete body.models;
}
