import { getOwn, type Model } from "../../contract/index.ts";
import type { RequestOptions } from "./options.ts";
import { toPriced } from "./priced-fields.ts";

/** What of a call a request is made from. */
interface CheckInput {
  readonly request: object;
  readonly model: Model;
  warn(sentence: string, ignored?: string): void;
}

/** The body to send: the request with the provider's model name, without what it rejects. `null` counts as absent. */
export function toBody(call: CheckInput, options: RequestOptions): Record<string, unknown> {
  const { omit = [], rename = {}, values = {}, pass = [] } = options;
  const body: Record<string, unknown> = { ...options.extra };
  const renamed: [string, unknown][] = [];
  for (const [field, value] of Object.entries(call.request)) {
    if (value === null || value === undefined) continue;
    if (omit.includes(field)) {
      call.warn(`Left out ${field}: the provider does not take it`, field);
      continue;
    }
    const priced = pass.includes(field) ? value : toPriced(field, value, call.model);
    if (priced === undefined) {
      call.warn(`Left out ${field}: the price of this model does not cover it`, field);
      continue;
    }
    const sent = toValue(field, priced, values);
    const renamedTo = getOwn(rename, field);
    if (sent === null) call.warn(`Left out ${field} ${JSON.stringify(value)}: the provider has no such value`, field);
    else if (renamedTo === undefined) body[field] = sent;
    else renamed.push([renamedTo, sent]);
  }
  for (const [field, value] of renamed) if (call.request[field as never] == null) body[field] = value;
  body.model = call.model.upstreamId;
  return body;
}

function toValue(field: string, value: unknown, values: NonNullable<RequestOptions["values"]>): unknown {
  const names = getOwn(values, field);
  if (names === undefined || typeof value !== "string") return value;
  const name = getOwn(names, value);
  return name === undefined ? value : name;
}
