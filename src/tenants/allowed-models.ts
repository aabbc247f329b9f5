import { GatewayError } from "../contract/index.ts";

/** @throws {GatewayError} `invalid_request` for a list that allows nothing. */
export function checkAllowedModels(models: readonly string[]): void {
  if (models.length > 0 && !models.includes("")) return;
  const message = "allowed_models is empty or holds an empty id: name at least one model, or omit it to allow all";
  throw new GatewayError("invalid_request", message, { param: "allowed_models" });
}

/** The list of models of a key or an account as it is stored; `undefined` allows all. */
export function readAllowedModels(text: string | null): string[] | undefined {
  return text === null ? undefined : (JSON.parse(text) as string[]);
}
