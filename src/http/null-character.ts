import { GatewayError } from "../contract/index.ts";

/** As JSON writes it, unless the backslash is one of the text's own. */
const inJson = /(?<!\\)(?:\\\\)*\\u0000/;

/** Refuses a text that PostgreSQL would not keep, in an address or a body of JSON. @throws {GatewayError} `invalid_request` */
export function expectNoNull(text: string, where: "address" | "body"): void {
  if (!(where === "address" ? text.includes("%00") : inJson.test(text))) return;
  throw new GatewayError("invalid_request", `The ${where} has a null character (U+0000) in it; take it out`);
}
