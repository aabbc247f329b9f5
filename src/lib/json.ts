/**
 * The one reader of JSON. `JSON.parse` cannot be interrupted, takes many times the memory of its text for short values, and accepts
 * any nesting, which code that walks or writes the values cannot: so a scan of the text bounds all three before it runs, by where the
 * text comes from. Nothing that a caller or a provider wrote is parsed elsewhere.
 */
import { badRequest } from "../contract/index.ts";
import { nextTurn } from "./next-turn.ts";

/**
 * Whether a value is a JSON object: neither `null` nor an array.
 *
 * @example
 * [isRecord({}), isRecord([]), isRecord(null)]; // => [true, false, false]
 */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isExactNumber(value);
}

/** Numbers with the digits that they were written with, by the platform: `JSON.stringify` writes them as they are. */
const { rawJSON, isRawJSON } = JSON as unknown as {
  rawJSON(text: string): object;
  isRawJSON(value: unknown): boolean;
};

/** Whether a value is a number that keeps its digits, because a number of the language would lose some of them. */
export function isExactNumber(value: object): value is { readonly rawJSON: string } {
  return "rawJSON" in value && isRawJSON(value);
}

/** Maximum size of a text. */
interface JsonBounds {
  /** Nesting of objects and arrays: the code that translates and writes them is recursive. */
  readonly depthMax: number;
  /** Values, weighted by the time that they take: see {@link stringWeight} and {@link fieldWeight}. */
  readonly weightMax: number;
  /**
   * From how many levels on numbers keep their digits and objects the order of their names, as they are handed on: the fields of a
   * request or an answer themselves are read as numbers. Absent: nowhere.
   */
  readonly exactFrom?: number;
}

/**
 * Bounds by the source of a text. Half a million values take up to 50 ms to parse; an answer of more is parsed in parts
 * ({@link readJsonInTurns}).
 */
export const jsonBounds = {
  /** The body of a request: 300 000 tokens for embeddings are among the largest. */
  body: { depthMax: 200, weightMax: 500_000, exactFrom: 2 },
  /** A text within a body or an answer: arguments of tool calls, results of tools. It is put into bodies and answers again. */
  text: { depthMax: 195, weightMax: 200_000, exactFrom: 0 },
  /** A whole answer of a model. */
  answer: { depthMax: 200, weightMax: 500_000, exactFrom: 2 },
  /** A whole answer that is a long list: vectors (3 million numbers and more), log probabilities, words with their times. */
  longAnswer: { depthMax: 200, weightMax: 20_000_000 },
  /** An event or a message of a stream. */
  event: { depthMax: 200, weightMax: 500_000, exactFrom: 2 },
  /** A short document that is not an answer: an error, a token, keys of an issuer. */
  document: { depthMax: 64, weightMax: 100_000 },
  /** Values of callers and providers that the gateway keeps, or seals and gives out, some levels deeper than they came. */
  stored: { depthMax: 256, weightMax: 2_000_000, exactFrom: 2 },
  /** Files and settings of the operator: manifests, catalogues, price lists, fixtures, databases of other gateways. */
  file: { depthMax: 200, weightMax: 4_000_000 },
} as const satisfies Readonly<Record<string, JsonBounds>>;

/** Where a JSON text comes from, which decides its bounds. */
export type JsonSource = keyof typeof jsonBounds;

/** Time to parse a string, and a field with a new name, as the number of numbers that take as long. */
export const [stringWeight, fieldWeight] = [3, 7];
/** Maximum number of escapes in a text: 32 MB have more only if each character is an escape. */
export const escapesMax = 2_500_000;
/** Maximum number of characters outside of strings that are parsed at once: a single number of 32 MB takes 100 ms. */
export const otherCharsMax = 16_000_000;

/**
 * Bytes of a value in memory by its weight, and of an object or a list on top of that: `{}` has two characters and
 * takes 70 bytes.
 */
const [weightBytes, containerBytes] = [16, 64];
/**
 * Bytes in memory for a long text: each member, each string, and each distinct name, because most objects share their
 * names.
 */
const [slotBytes, stringBytes, nameBytes] = [8, 32, 104];

const [quote, backslash] = [34, 92];

/** A JSON text that is not parsed, because it is beyond the bounds of its source. */
export class JsonBoundsError extends Error {
  /** A predicate of the text, for the message: `is nested deeper than 200 levels`. */
  readonly reason: string;

  constructor(reason: string) {
    super(`The text ${reason}`);
    this.reason = reason;
  }
}

/** A JSON text within its bounds, and what it takes to parse. Of a text that is not JSON the figures say nothing. */
export interface CheckedJson {
  readonly fields: number;
  /** Most bytes of its values in memory, without the text of long strings. */
  readonly valueBytes: number;
  /** How long it takes to parse, in numbers that take as long. */
  readonly weight: number;
  /** Time to parse without loss, in the unit of `weight`; 0 if the platform's parser loses nothing. */
  readonly exactWeight: number;
  /** The large values of the outermost object. */
  readonly spans: readonly ValueSpan[];
  /** @throws {SyntaxError} When it is not JSON. */
  parse(): unknown;
}

/**
 * Bounds what a JSON text takes to parse, before it is parsed: 32 MB of brackets take 8 seconds and 2.5 GB, although as
 * a string they take 50 ms. The text need not be JSON.
 *
 * @throws {JsonBoundsError}
 */
export function checkJsonBounds(text: string, source: JsonSource): CheckedJson {
  checkEscapes(text);
  const scan = new JsonScan(text, jsonBounds[source]);
  scan.run(text.length);
  return scan;
}

/**
 * Reads JSON within the bounds of its source.
 *
 * @throws {JsonBoundsError} When it is beyond them.
 * @throws {SyntaxError} When it is not JSON.
 */
export function readJson(text: string, source: JsonSource): unknown {
  // A text nests no deeper than half of its characters.
  if (text.length > 2 * jsonBounds[source].depthMax) return checkJsonBounds(text, source).parse();
  return parseShort(text, source);
}

/** Something that the values of the language may not keep: a long number, a large exponent, a name that is a number. */
const inexact = /\d{16}|\d[eE][+-]?\d{3}|"\d+"\s*:/;
/**
 * Matches long numbers only, for short events: they come by the thousands, and the full search takes half as long as
 * reading.
 */
const inexactEvent = /\d{16}/;

function parseShort(text: string, source: JsonSource): unknown {
  const { exactFrom }: JsonBounds = jsonBounds[source];
  const value: unknown = JSON.parse(text);
  const pattern = source === "event" ? inexactEvent : inexact;
  return exactFrom !== undefined && pattern.test(text) ? new ExactReader(text, exactFrom).read() : value;
}

/**
 * Reads a text that may not be JSON, such as a tool result or an error body. Returns `undefined` for other text, and
 * for text beyond the bounds of its source: too deep, too wide or too long to be parsed at once.
 *
 * @param source Where the text comes from; absent: from within a body or an answer.
 *
 * @example
 * parseJson('{"a":1}'); // => { a: 1 }
 * parseJson("<html>"); // => undefined
 * parseJson("[".repeat(1000) + "]".repeat(1000)); // => undefined
 */
export function parseJson(text: string, source: JsonSource = "text"): unknown {
  try {
    return readJson(text, source);
  } catch {
    return undefined;
  }
}

/** Reads the JSON texts within one body or answer. Together they have the bounds of one text. */
export class JsonTexts {
  #weightLeft: number = jsonBounds.text.weightMax;
  #exactLeft: number = exactWeightMax;

  /** Bounds a text, and counts it. @throws {JsonBoundsError} When it is beyond the bounds, alone or with those before it. */
  check(text: string): CheckedJson {
    const checked = checkJsonBounds(text, "text");
    this.#weightLeft -= checked.weight;
    if (this.#weightLeft < 0) throw tooWide(jsonBounds.text.weightMax, " together with the texts before it");
    return checked;
  }

  /**
   * Checks a field of a request as {@link check} does.
   *
   * @param name What the text is, for the error.
   * @throws {GatewayError} `invalid_request`, which names the field.
   */
  checkField(text: string, name: string, param: string): CheckedJson {
    try {
      return this.check(text);
    } catch (cause) {
      throw cause instanceof JsonBoundsError ? badRequest(`${name} ${cause.reason}`, param) : cause;
    }
  }

  /** Parses a text; `undefined` if it is not JSON, or is beyond the bounds. */
  parse(text: string): unknown {
    try {
      const checked = this.check(text);
      this.#exactLeft -= checked.exactWeight;
      return this.#exactLeft < 0 ? JSON.parse(text) : checked.parse();
    } catch {
      return undefined;
    }
  }
}

/** Longer texts are scanned and parsed in several turns of the event loop. */
const turnCharsMax = 512 * 1024;
/** Maximum number of different names in a long text: each takes as long as ten numbers, and a hundred bytes. */
const namesMax = 100_000;
const nameBits = 2 ** 20;
/** A longer name counts as a new name each time. */
const hashedCharsMax = 64;
/** Characters that are scanned in one turn, and the maximum weight and characters of one part. */
const [scanCharsMax, partWeightMax, partCharsMax] = [1024 * 1024, 100_000, 2 * 1024 * 1024];

/**
 * Reads a JSON text as {@link readJson} does, but a long one in several turns of the event loop: the text is cut into
 * parts at commas. Each part is parsed in a turn of its own and added to the parts before it.
 *
 * @param count Called with the most bytes that the values can take, before they exist; may throw.
 * @returns The value, or a promise of it.
 * @throws {JsonBoundsError | SyntaxError}
 */
export function readJsonInTurns(text: string, source: JsonSource, count: (valueBytes: number) => void): unknown {
  if (text.length > turnCharsMax) return readParts(text, source, count);
  if (text.length <= 2 * jsonBounds[source].depthMax) return parseShort(text, source);
  const checked = checkJsonBounds(text, source);
  count(checked.valueBytes);
  return checked.parse();
}

async function readParts(text: string, source: JsonSource, count: (valueBytes: number) => void): Promise<unknown> {
  await nextTurn();
  checkEscapes(text);
  const cuts: Cut[] = [];
  const scan = new JsonScan(text, jsonBounds[source], cuts);
  for (let end = scanCharsMax; scan.at < text.length; end += scanCharsMax) {
    await nextTurn();
    scan.run(Math.min(end, text.length));
  }
  count(scan.valueBytes);
  // No name that a provider chose.
  const mark = crypto.randomUUID();
  let whole: unknown;
  for (let index = 0; index <= cuts.length; index++) {
    await nextTurn();
    const [cut, next] = [cuts[index - 1], cuts[index]];
    const part = parsePart(text, { cut, next, mark });
    if (cut === undefined) whole = part;
    else addPart(whole, part, { cut, text, mark });
  }
  return whole;
}

/** A container that is open at a place of a text. */
interface OpenContainer {
  readonly isObject: boolean;
  /** Where the name of an object's current member is; unused for an array. */
  name: ValueSpan["name"];
}

/** A comma that the text is cut at. */
interface Cut {
  readonly at: number;
  /** The containers that are open there, the outermost first. */
  readonly path: readonly OpenContainer[];
}

/**
 * Parses one part. Containers that are open at its beginning are opened again, and containers open at its end are
 * closed.
 */
function parsePart(
  text: string,
  { cut, next, mark }: { cut?: Cut | undefined; next?: Cut | undefined; mark: string },
): unknown {
  const own = text.slice(cut === undefined ? 0 : cut.at + 1, next?.at);
  if (cut === undefined) return JSON.parse(own + close(next));
  // A comma needs a member on both sides: reopening the containers would hide that the second member is missing.
  if (cut.path.length === 0 || /^\s*(?:[\]}]|$)/.test(own))
    throw new SyntaxError("JSON Parse error: Unexpected token ','");
  const innermost = cut.path.length - 1;
  const open = cut.path.map(({ isObject }, level) => (isObject ? (level < innermost ? `{"${mark}":` : "{") : "["));
  return JSON.parse(open.join("") + own + close(next));
}

function close(cut: Cut | undefined): string {
  return (cut?.path ?? [])
    .map(({ isObject }) => (isObject ? "}" : "]"))
    .reverse()
    .join("");
}

/** Adds a part to the parts before it: each container that was open continues with the container in its place. */
function addPart(whole: unknown, part: unknown, { cut, text, mark }: { cut: Cut; text: string; mark: string }): void {
  let [to, from] = [whole, part];
  for (const [level, { isObject, name }] of cut.path.entries()) {
    const isInnermost = level === cut.path.length - 1;
    let inner: [unknown, unknown] | undefined;
    if (isObject) {
      const { [mark]: continued, ...members } = from as Record<string, unknown>;
      if (!isInnermost) inner = [(to as Record<string, unknown>)[JSON.parse(text.slice(...name))], continued];
      for (const [key, value] of Object.entries(members)) setMember(to as Record<string, unknown>, key, value);
    } else {
      const [list, more] = [to as unknown[], from as unknown[]];
      if (!isInnermost) inner = [list.at(-1), more[0]];
      for (let index = isInnermost ? 0 : 1; index < more.length; index++) list.push(more[index]);
    }
    if (inner === undefined) return;
    [to, from] = inner;
  }
}

function setMember(holder: Record<string, unknown>, name: string, value: unknown): void {
  // As the platform's parser has it: a member of its own, and not the prototype.
  if (name !== "__proto__") holder[name] = value;
  else Object.defineProperty(holder, name, { value, enumerable: true, configurable: true, writable: true });
}

/** The platform reads texts of a greater weight, in a tenth of the time and memory. Their numbers are ordinary ones. */
const exactWeightMax = 50_000;

/** Longer than any number that the platform writes, such as `-1.7976931348623157e+308`. */
export const numberCharsMax = 25;

/**
 * Whether an ordinary number would lose what counts: any digit of a whole number, or the size of a number that becomes
 * infinity or zero. A number that is longer than the platform writes always counts as one.
 */
function losesDigits(token: string): boolean {
  if (token.length > numberCharsMax) return true;
  const value = Number(token);
  if (/^-?\d+$/.test(token)) return !Number.isSafeInteger(value) && String(value) !== token;
  return !Number.isFinite(value) || (value === 0 && /^[^eE]*[1-9]/.test(token));
}

/**
 * Reads a text that is known to be JSON, for values that are handed on. Whole numbers beyond 2^53, and others that
 * would lose digits, keep them ({@link isExactNumber}), and names that are numbers keep their order. The platform's own
 * reader is many times faster, so it reads all other texts.
 */
class ExactReader {
  readonly #text: string;
  readonly #exactFrom: number;
  #at = 0;

  constructor(text: string, exactFrom: number) {
    this.#text = text;
    this.#exactFrom = exactFrom;
  }

  read(depth = 0): unknown {
    this.#skipSpace();
    switch (this.#text.charCodeAt(this.#at)) {
      case quote:
        return this.#readString();
      case 91: // [
        return this.#readList(depth + 1);
      case 123: // {
        return this.#readObject(depth + 1);
      default:
        return this.#readWord(depth);
    }
  }

  #skipSpace(): void {
    while (this.#text.charCodeAt(this.#at) <= 32) this.#at++;
  }

  /** Takes what separates two members; false at the end of the container. */
  #hasMore(): boolean {
    this.#skipSpace();
    const isComma = this.#text.charCodeAt(this.#at) === 44;
    this.#at++;
    return isComma;
  }

  #isEmpty(): boolean {
    this.#at++;
    this.#skipSpace();
    const code = this.#text.charCodeAt(this.#at);
    if (code !== 93 && code !== 125) return false;
    this.#at++;
    return true;
  }

  #readString(): string {
    const start = this.#at;
    this.#at = endOfString(this.#text, start) + 1;
    return JSON.parse(this.#text.slice(start, this.#at));
  }

  #readList(depth: number): unknown[] {
    const list: unknown[] = [];
    if (this.#isEmpty()) return list;
    do list.push(this.read(depth));
    while (this.#hasMore());
    return list;
  }

  #readObject(depth: number): object {
    const holder: Record<string, unknown> = {};
    if (this.#isEmpty()) return holder;
    const names = new Set<string>();
    do {
      this.#skipSpace();
      const name = this.#readString();
      this.#skipSpace();
      this.#at++;
      names.add(name);
      setMember(holder, name, this.read(depth));
    } while (this.#hasMore());
    return depth >= this.#exactFrom ? withOrder(holder, [...names]) : holder;
  }

  #readWord(depth: number): unknown {
    const { at, text } = { at: this.#at, text: this.#text };
    const isWord = (code: number) => code > 32 && code !== 44 && code !== 93 && code !== 125;
    while (isWord(text.charCodeAt(this.#at))) this.#at++;
    const token = text.slice(at, this.#at);
    const isExact = depth >= this.#exactFrom && /^-?\d/.test(token) && losesDigits(token);
    return isExact ? rawJSON(token) : JSON.parse(token);
  }
}

/** Lists the members of an object in this order. JavaScript would list names that are numbers first. */
function withOrder(holder: object, names: readonly string[]): object {
  if (Object.keys(holder).every((name, index) => name === names[index])) return holder;
  return new Proxy(holder, {
    ownKeys(target) {
      const own = new Set(Reflect.ownKeys(target));
      return [...names.filter((name) => own.delete(name)), ...own];
    },
  });
}

/** Walks over a JSON text without parsing it, in one go or in several. */
class JsonScan implements CheckedJson {
  /** How far it has come. */
  at = 0;
  readonly #text: string;
  readonly #bounds: JsonBounds;
  /** Where the text may be cut; absent: it is parsed at once. */
  readonly #cuts: Cut[] | undefined;
  /** The containers that are open; kept only for the cuts. */
  readonly #path: OpenContainer[] = [];
  readonly #spans: ValueSpan[] = [];
  #depth = 0;
  #weight = 0;
  #fields = 0;
  /** The values of the language may not keep all of it. */
  #isInexact = false;
  /** The long numbers that would lose digits. */
  #exactNumbers = 0;
  #containers = 0;
  #strings = 0;
  /** The different names; counted only where the text is cut. */
  readonly #names: NameCount | undefined;
  /** Name of the member at work of the outermost object, and where its value begins. */
  #name: ValueSpan["name"] = [0, 0];
  #start = 0;
  /** Last position that a character outside of strings may have. */
  #last = otherCharsMax;
  /** The last string. */
  #string: ValueSpan["name"] = [0, 0];
  /** Start of the part at work, and the weight of the text before it. */
  #partAt = 0;
  #partWeight = 0;

  constructor(text: string, bounds: JsonBounds, cuts?: Cut[]) {
    this.#text = text;
    this.#bounds = bounds;
    this.#cuts = cuts;
    this.#names = cuts && new NameCount();
  }

  get weight(): number {
    return this.#weight;
  }

  get exactWeight(): number {
    return this.#isInexact ? this.#weight + exactNumberWeight * this.#exactNumbers : 0;
  }

  get fields(): number {
    return this.#fields;
  }

  get spans(): readonly ValueSpan[] {
    // A text is sent as it is where its values are counted as it has them.
    return this.#isInexact ? [] : this.#spans;
  }

  parse(): unknown {
    const { exactFrom } = this.#bounds;
    const value: unknown = JSON.parse(this.#text);
    if (!this.#isInexact || exactFrom === undefined || this.exactWeight > exactWeightMax) return value;
    return new ExactReader(this.#text, exactFrom).read();
  }

  get valueBytes(): number {
    const [weight, fields, containers, strings] = [this.#weight, this.#fields, this.#containers, this.#strings];
    if (this.#names === undefined) return weightBytes * weight + containerBytes * containers;
    // Each value takes a slot, and some more; names are counted apart.
    const slots = weight - (stringWeight - 1) * strings - (fieldWeight - stringWeight) * fields;
    const named = nameBytes * this.#names.count;
    return slotBytes * (slots + fields) + containerBytes * containers + stringBytes * (strings - fields) + named;
  }

  /** Goes on up to a place, or to the end of the string there. @throws {JsonBoundsError} */
  run(end: number): void {
    const text = this.#text;
    const { depthMax, weightMax } = this.#bounds;
    const isCut = this.#cuts !== undefined;
    let [depth, weight, fields, containers, last] = [
      this.#depth,
      this.#weight,
      this.#fields,
      this.#containers,
      this.#last,
    ];
    let strings = this.#strings;
    let at = this.at;
    const isExact = this.#bounds.exactFrom !== undefined;
    // Where the last string began, and the last place before a value or a name.
    let [stringAt, before] = [at, at];
    for (; at < end; at++) {
      switch (text.charCodeAt(at)) {
        case quote: {
          const close = endOfString(text, at);
          stringAt = at;
          before = close;
          if (depth === 1) this.#name = [at, close + 1];
          if (isCut) this.#string = [at, close + 1];
          last += close - at;
          at = close;
          weight += stringWeight - 1;
          strings++;
          break;
        }
        case 91: // [
        case 123: // {
          if (++depth > depthMax) throw new JsonBoundsError(`is nested deeper than ${depthMax} levels`);
          weight++;
          containers++;
          before = at;
          if (depth === 2) this.#start = at;
          if (isCut) this.#path.push({ isObject: text.charCodeAt(at) === 123, name: [0, 0] });
          break;
        case 93: // ]
        case 125: // }
          if (isExact && at - before > longNumberChars) this.#checkNumber(before + 1, at);
          before = at;
          if (--depth === 1 && at - this.#start > keptCharsMin)
            this.#spans.push({ name: this.#name, value: [this.#start, at + 1] });
          if (isCut) this.#path.pop();
          break;
        case 44: // ,
          if (++weight > weightMax) throw tooWide(weightMax);
          if (isExact && at - before > longNumberChars) this.#checkNumber(before + 1, at);
          before = at;
          if (isCut && (weight - this.#partWeight > partWeightMax || at - this.#partAt > partCharsMax)) {
            this.#cut(at, weight);
            last = at + otherCharsMax;
          }
          break;
        case 58: {
          // :
          fields++;
          weight += fieldWeight - stringWeight;
          before = at;
          if (isDigit(text.charCodeAt(stringAt + 1))) this.#isInexact = true;
          if (!isCut) break;
          this.#names?.add(text, this.#string);
          const container = this.#path.at(-1);
          if (container !== undefined) container.name = this.#string;
          break;
        }
        case 69: // E
        case 101: // e
          if (isExact && isDigit(text.charCodeAt(at - 1)) && /^[+-]?\d{3}/.test(text.slice(at + 1, at + 5)))
            this.#isInexact = true;
          if (at > last) throw new JsonBoundsError(`has more than ${otherCharsMax} characters outside of its strings`);
          break;
        default:
          if (at > last) throw new JsonBoundsError(`has more than ${otherCharsMax} characters outside of its strings`);
      }
    }
    if (weight > weightMax) throw tooWide(weightMax);
    this.at = at;
    this.#strings = strings;
    [this.#depth, this.#weight, this.#fields, this.#containers, this.#last] = [depth, weight, fields, containers, last];
  }

  #checkNumber(start: number, end: number): void {
    const token = this.#text.slice(start, end).trim();
    if (!/^-?\d/.test(token) || !losesDigits(token)) return;
    this.#isInexact = true;
    this.#exactNumbers++;
  }

  #cut(at: number, weight: number): void {
    this.#cuts?.push({ at, path: this.#path.map((container) => ({ ...container })) });
    this.#partAt = at;
    this.#partWeight = weight;
  }
}

/** A number of no more digits is exact. */
const longNumberChars = 15;
/** A number that keeps its digits takes as long to read as so many others. */
const exactNumberWeight = 20;

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

/** Counts the different names of a text, by their hashes. */
class NameCount {
  count = 0;
  readonly #bits = new Uint32Array(nameBits / 32);
  /** A provider cannot know which names have the same hash. */
  readonly #seed = crypto.getRandomValues(new Uint32Array(1))[0] as number;

  /** @throws {JsonBoundsError} */
  add(text: string, [start, end]: ValueSpan["name"]): void {
    let hash = this.#seed;
    const last = Math.min(end, start + hashedCharsMax);
    for (let at = start; at < last; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
    const place = (hash ^ (hash >>> 12)) & (nameBits - 1);
    const [word, bit] = [place >>> 5, 1 << (place & 31)];
    const isNew = end - start > hashedCharsMax || ((this.#bits[word] as number) & bit) === 0;
    if (!isNew) return;
    (this.#bits[word] as number) |= bit;
    if (++this.count > namesMax) throw new JsonBoundsError(`has more than ${namesMax} different names`);
  }
}

function tooWide(weightMax: number, more = ""): JsonBoundsError {
  const counts = `of which a string counts as ${stringWeight} and a field as ${fieldWeight}`;
  return new JsonBoundsError(`has more than ${weightMax} values${more}, ${counts}`);
}

/**
 * Index of the quote that ends a string: the first quote behind an even number of backslashes. The platform's search is
 * many times faster than a loop over all characters.
 */
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
  if (text.length <= 2 * escapesMax) return;
  let count = 0;
  for (let at = text.indexOf("\\"); at !== -1; at = text.indexOf("\\", at + 2)) {
    if (++count > escapesMax) throw new JsonBoundsError(`has more than ${escapesMax} escapes`);
  }
}

/** About so much is written in one turn, in characters; so many numbers at once, and values below so many levels whole. */
const [writtenCharsMax, numbersMax, writtenDepthMax] = [1024 * 1024, 10_000, 5];

/** Writes a value as `JSON.stringify` does, in several turns of the event loop. */
export async function writeJsonInTurns(value: unknown): Promise<string> {
  await nextTurn();
  let [text, written] = ["", 0];
  for (const piece of writePieces(value, 0)) {
    text += piece;
    if (text.length - written < writtenCharsMax) continue;
    written = text.length;
    await nextTurn();
  }
  return text;
}

function* writePieces(value: unknown, depth: number): Generator<string, undefined> {
  const isSingle = depth >= writtenDepthMax || typeof value !== "object" || value === null;
  if (isSingle || "toJSON" in value || isExactNumber(value)) {
    yield JSON.stringify(value) ?? "null";
  } else if (Array.isArray(value)) {
    const isNumbers = typeof value[0] === "number";
    for (let at = 0; at < value.length; at += isNumbers ? numbersMax : 1) {
      yield at === 0 ? "[" : ",";
      if (isNumbers) yield JSON.stringify(value.slice(at, at + numbersMax)).slice(1, -1);
      else yield* writePieces(value[at], depth + 1);
    }
    yield value.length === 0 ? "[]" : "]";
  } else {
    let isFirst = true;
    for (const [name, member] of Object.entries(value)) {
      if (member === undefined) continue;
      yield `${isFirst ? "{" : ","}${JSON.stringify(name)}:`;
      yield* writePieces(member, depth + 1);
      isFirst = false;
    }
    yield isFirst ? "{}" : "}";
  }
}

/**
 * Maps a list. Returns the same list if no member changed: a large part of a request is then sent as it came, without
 * being serialized again.
 *
 * @example
 * mapChanged([1, 2], (value) => value * 2); // => [2, 4]
 */
export function mapChanged<Member>(members: readonly Member[], change: (member: Member) => Member): readonly Member[] {
  const changed = members.map(change);
  return changed.some((member, index) => member !== members[index]) ? changed : members;
}

/** The text that a large value of a request was parsed from. */
const texts = new WeakMap<object, string>();

/** Shorter values are written again as quickly. */
const keptCharsMin = 4096;
/** A larger text would take memory in addition to its values for the whole call. */
const keptCharsMax = 1024 * 1024;
/** Freezing takes half a microsecond for a member of a list: lists with more together, or a longer object, are not a conversation. */
const membersMax = 10_000;

/** A large value in a JSON text: where its field's name starts and ends, and where it does itself. */
export interface ValueSpan {
  readonly name: readonly [start: number, end: number];
  readonly value: readonly [start: number, end: number];
}

/**
 * Remembers the text of large values of a request, for {@link toJsonText} to send to a provider as the client sent it.
 * The values are frozen, because a change in place would not be sent. The request itself is not frozen.
 *
 * @param fields Number of fields in the text. If a field is given twice, which a provider may read differently, no text
 *   is kept.
 */
export function keepJsonText(body: unknown, text: string, spans: readonly ValueSpan[], fields: number): void {
  if (spans.length === 0 || !isRecord(body) || text.length > keptCharsMax) return;
  const members = Object.values(body);
  const lists = { membersLeft: membersMax };
  if (members.reduce((sum: number, member) => sum + freeze(member, lists), members.length) !== fields) return;
  for (const { name, value } of spans) {
    const member = body[JSON.parse(text.slice(...name))];
    if (typeof member === "object" && member !== null) texts.set(member, text.slice(...value));
  }
}

/** The number of fields; NaN where the lists together or an object are too long. */
function freeze(value: unknown, lists: { membersLeft: number }): number {
  if (typeof value !== "object" || value === null) return 0;
  if (Array.isArray(value)) lists.membersLeft -= value.length;
  if (lists.membersLeft < 0) return Number.NaN;
  // `Object.values` of a list is slow.
  const members: unknown[] = Array.isArray(value) ? value : Object.values(value);
  if (members.length > membersMax) return Number.NaN;
  const own = Array.isArray(value) ? 0 : members.length;
  const fields = members.reduce((sum: number, member) => sum + freeze(member, lists), own);
  Object.freeze(value);
  return fields;
}

/** A body as JSON, with the texts that were kept of its fields' values. */
export function toJsonText(body: unknown): string {
  if (typeof body !== "object" || body === null || !Object.values(body).some(getText)) return JSON.stringify(body);
  // Added up, not joined: a large text is copied once less.
  let text = "{";
  for (const [name, value] of Object.entries(body)) {
    const member = getText(value) ?? JSON.stringify(value);
    if (member !== undefined) text += `${text.length === 1 ? "" : ","}${JSON.stringify(name)}:${member}`;
  }
  return `${text}}`;
}

function getText(value: unknown): string | undefined {
  return typeof value === "object" && value !== null ? texts.get(value) : undefined;
}
