import { GatewayError } from "../../contract/index.ts";
import { keptCharsMin, type ValueSpan } from "../../kernel/index.ts";

/** The maximum nesting of objects and arrays in a body: the code that translates them is recursive. */
export const nestingMax = 200;
/** The most values in a body: 300 000 tokens of a request for embeddings are among the largest. */
export const valuesMax = 500_000;
/** A string takes as long to parse as so many numbers, and so does a field with a name that was not seen before. */
export const [stringWeight, fieldWeight] = [3, 7];
/** The most escapes in a body: 32 MB have more only where each character is one. */
export const escapesMax = 2_500_000;
/** The most characters outside of strings: a single number of 32 MB takes 100 ms. */
export const otherCharsMax = 16_000_000;

const [quote, backslash] = [34, 92];

/** What a value takes in memory by its weight, and an object or a list beside that: `{}` has two characters and takes 70 bytes. */
const [weightBytes, containerBytes] = [16, 64];

/** What a look at a JSON text shows. */
interface JsonShape {
  readonly fields: number;
  /** What its values take in memory at most, without the text of long strings. */
  readonly valueBytes: number;
  /** How long it takes to parse, in numbers that take as long. */
  readonly weight: number;
  /** The large values of the outermost object. */
  readonly spans: readonly ValueSpan[];
}

/**
 * Bounds what a JSON text takes to parse, before it is parsed: 32 MB of brackets take 8 seconds and 2.5 GB, although as
 * a string they take 50 ms. The text need not be JSON; if it is not, the shape says nothing.
 *
 * @throws {GatewayError} `invalid_request`
 */
export function checkJsonBounds(text: string): JsonShape {
  if (text.length > 2 * escapesMax) checkEscapes(text);
  let [depth, weight, fields, containers] = [0, 0, 0, 0];
  const spans: ValueSpan[] = [];
  let name: ValueSpan["name"] = [0, 0];
  let start = 0;
  let last = otherCharsMax;
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case quote: {
        const end = endOfString(text, at);
        if (depth === 1) name = [at, end + 1];
        last += end - at;
        at = end;
        weight += stringWeight - 1;
        break;
      }
      case 91: // [
      case 123: // {
        if (++depth > nestingMax) throw tooMuch(`is nested deeper than ${nestingMax} levels`);
        weight++;
        containers++;
        if (depth === 2) start = at;
        break;
      case 93: // ]
      case 125: // }
        if (--depth === 1 && at - start > keptCharsMin) spans.push({ name, value: [start, at + 1] });
        break;
      case 44: // ,
        checkWeight(++weight);
        break;
      case 58: // :
        fields++;
        weight += fieldWeight - stringWeight;
        break;
      default:
        if (at > last) throw tooMuch(`has more than ${otherCharsMax} characters outside of its strings`);
    }
  }
  checkWeight(weight);
  return { fields, weight, valueBytes: weightBytes * weight + containerBytes * containers, spans };
}

/** The index of the quote that ends a string: the first one behind an even number of backslashes. The platform's search is many times faster than a loop over all characters. */
function endOfString(text: string, start: number): number {
  let end = start;
  let backslashes: number;
  do {
    end = text.indexOf('"', end + 1);
    if (end === -1) return text.length;
    for (backslashes = 0; text.charCodeAt(end - 1 - backslashes) === backslash; backslashes++);
  } while (backslashes % 2 === 1);
  return end;
}

function checkEscapes(text: string): void {
  let count = 0;
  for (let at = text.indexOf("\\"); at !== -1; at = text.indexOf("\\", at + 2)) {
    if (++count > escapesMax) throw tooMuch(`has more than ${escapesMax} escapes`);
  }
}

function checkWeight(weight: number): void {
  if (weight <= valuesMax) return;
  const counts = `of which a string counts as ${stringWeight} and a field as ${fieldWeight}`;
  throw tooMuch(`has more than ${valuesMax} values, ${counts}`);
}

function tooMuch(what: string): GatewayError {
  return new GatewayError("invalid_request", `The body ${what}`);
}
