import { type Caller, GatewayError } from "../../contract/index.ts";

type Lists = Pick<Caller, "allowedModels" | "accountModels">;

/**
 * Whether the lists of both the key and its account have a model.
 *
 * @param virtual The virtual model by whose name it was asked for: a list that has that name has all of its members.
 */
export function mayUse({ allowedModels, accountModels }: Lists, id: string, virtual?: string): boolean {
  return has(allowedModels, id, virtual) && has(accountModels, id, virtual);
}

/** @throws {GatewayError} `model_not_allowed`, naming what the list has that lacks it. */
export function expectAllowed(caller: Lists, id: string, virtual?: string): void {
  if (mayUse(caller, id, virtual)) return;
  const { allowedModels, accountModels } = caller;
  const [who, list] = has(allowedModels, id, virtual) ? ["account", accountModels] : ["API key", allowedModels];
  const sentence = `This ${who} may not use the model '${id}'; it may use: ${[...(list ?? [])].join(", ")}`;
  throw new GatewayError("model_not_allowed", sentence, { param: "model" });
}

function has(list: ReadonlySet<string> | undefined, id: string, virtual: string | undefined): boolean {
  return list === undefined || list.has(id) || (virtual !== undefined && list.has(virtual));
}
