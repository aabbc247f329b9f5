import { GatewayError } from "../../contract/index.ts";

/** The maximum nesting of objects and arrays in a body: the code that translates them is recursive. */
export const nestingMax = 200;
/** The most values in a body: 300 000 tokens of a request for embeddings are among the largest. */
export const valuesMax = 500_000;
/** The most fields in a body: a name that was not seen before takes a microsecond to parse. */
export const fieldsMax = 100_000;
/** The most escapes in a body: as many as 32 MB of `\u0000` have. */
const escapesMax = 6_000_000;

const [quote, backslash] = [34, 92];

/**
 * Bounds what a JSON text takes to parse, before it is parsed: 32 MB of brackets take 8 seconds and 2.5 GB, although as
 * a string they take 50 ms. The text need not be JSON.
 *
 * @throws {GatewayError} `invalid_request`
 */
export function checkJsonBounds(text: string): void {
  let [depth, values, fields] = [0, 0, 0];
  const strings = { escapes: 0 };
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case quote:
        at = endOfString(text, at, strings);
        if (strings.escapes > escapesMax) throw tooMuch(`has more than ${escapesMax} escapes`);
        break;
      case 91: // [
      case 123: // {
        if (++depth > nestingMax) throw tooMuch(`is nested deeper than ${nestingMax} levels`);
        if (++values > valuesMax) throw tooMuch(`has more than ${valuesMax} values`);
        break;
      case 93: // ]
      case 125: // }
        depth--;
        break;
      case 44: // ,
        if (++values > valuesMax) throw tooMuch(`has more than ${valuesMax} values`);
        break;
      case 58: // :
        if (++fields > fieldsMax) throw tooMuch(`has more than ${fieldsMax} fields`);
    }
  }
}

/** The index of the quote that ends a string. The platform's search is many times faster than a loop over its characters. */
function endOfString(text: string, start: number, strings: { escapes: number }): number {
  let at = text.indexOf('"', start + 1);
  if (at === -1) return text.length;
  if (text.charCodeAt(at - 1) !== backslash) return at;
  while (text.charCodeAt(at - 1) === backslash) at--;
  for (; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) return at;
    if (code !== backslash) continue;
    at++;
    strings.escapes++;
  }
  return at;
}

function tooMuch(what: string): GatewayError {
  return new GatewayError("invalid_request", `The body ${what}`);
}
