/**
 * Reads a text as its reader will: `\n`, `\"` and `\u0073` of JSON, also of JSON within JSON, `%22` of addresses and `&quot;` of HTML
 * stand for characters. What looks for something in a text looks in each reading, and changes the text itself. Every step takes
 * time linear in the text.
 */

/** A text with one more level of escapes put back to characters than the reading before it. */
export interface EscapeReading {
  readonly text: string;
  /**
   * Pairs of places, in this text and in the previous reading, where both continue alike; empty for the text itself.
   */
  readonly anchors: readonly (readonly [place: number, before: number])[];
}

/** A part of a text, by the places of its characters. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Levels of escapes that are read: JSON within JSON within JSON has three. */
const levelsMax = 5;
// biome-ignore lint/suspicious/noControlCharactersInRegex: ESC begins the sequences of terminals.
const hasEscape = /[\\%&\u001b]/;

/**
 * Escapes of JSON, JavaScript and shells, of addresses, and of HTML; and the sequences that change colours in a
 * terminal, which become nothing.
 */
const escapes =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: ESC begins the sequences of terminals.
  /\\(?:u\{([0-9a-f]{1,6})\}|u([0-9a-f]{4})|x([0-9a-f]{2})|([nrtbfv0"'`/\\]))|%([0-9a-f]{2})|&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|(quot|apos|amp|lt|gt));|\u001b\[[0-9;:?]{0,30}[a-z]/gi;

const controls: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t", b: "\b", f: "\f", v: "\v", "0": "\0" };
const entities: Readonly<Record<string, string>> = { quot: '"', apos: "'", amp: "&", lt: "<", gt: ">" };
/** Stands for a character outside the planes that a search looks in, in one place. */
const otherCharacter = "\ufffd";

/** The text, then what it is with one level of escapes read, with two, and so on as long as there are some. */
export function readEscapes(text: string): readonly [EscapeReading, ...EscapeReading[]] {
  const readings: [EscapeReading, ...EscapeReading[]] = [{ text, anchors: [] }];
  let last = text;
  while (readings.length <= levelsMax && hasEscape.test(last)) {
    const next = readLevel(last);
    if (next === undefined) break;
    readings.push(next);
    last = next.text;
  }
  return readings;
}

function readLevel(text: string): EscapeReading | undefined {
  const pieces: string[] = [];
  const anchors: [number, number][] = [[0, 0]];
  let place = 0;
  let end = 0;
  for (const match of text.matchAll(escapes)) {
    const character = toCharacter(match);
    pieces.push(text.slice(end, match.index), character);
    place += match.index - end;
    end = match.index + match[0].length;
    if (character !== "") anchors.push([place, match.index]);
    place += character.length;
    anchors.push([place, end]);
  }
  if (pieces.length === 0) return undefined;
  pieces.push(text.slice(end));
  return { text: pieces.join(""), anchors };
}

function toCharacter([whole, braced, unicode, byte, control, percent, hex, decimal, entity]: RegExpExecArray): string {
  if (control !== undefined) return controls[control.toLowerCase()] ?? control;
  if (entity !== undefined) return entities[entity.toLowerCase()] as string;
  const code = braced ?? unicode ?? byte ?? percent ?? hex;
  if (code === undefined && decimal === undefined) return "";
  const value = code === undefined ? Number(decimal) : Number.parseInt(code, 16);
  // A byte of UTF-8 of an address is no character by itself.
  const isPartOf = whole.startsWith("%") && value > 0x7f;
  return isPartOf || value > 0xffff ? otherCharacter : String.fromCharCode(value);
}

/** A span of one of the readings as a span of the text itself, with all of the escapes that it has a character of. */
export function toSourceSpan(readings: readonly EscapeReading[], depth: number, { start, end }: Span): Span {
  let [first, behind] = [start, end];
  for (let level = depth; level > 0; level--) {
    const { anchors } = readings[level] as EscapeReading;
    [first, behind] = [toPlaceBefore(anchors, first), toPlaceBefore(anchors, behind)];
  }
  return { start: first, end: behind };
}

/**
 * Maps a place to the previous reading. If several anchors share the place, the last one counts; this keeps a
 * terminal's sequence out of the text that follows it.
 */
function toPlaceBefore(anchors: EscapeReading["anchors"], place: number): number {
  let [low, high] = [0, anchors.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((anchors[middle] as readonly [number, number])[0] <= place) low = middle;
    else high = middle - 1;
  }
  const [at, before] = anchors[low] as readonly [number, number];
  return before + place - at;
}

/** Replaces spans, which are sorted and do not overlap. */
export function replaceSpans(text: string, spans: readonly Span[], replacement: string): string {
  let replaced = "";
  let from = 0;
  for (const { start, end } of spans) {
    if (end <= from) continue;
    replaced += text.slice(from, Math.max(from, start)) + replacement;
    from = end;
  }
  return replaced + text.slice(from);
}

/**
 * Replaces every occurrence of these texts, plain or escaped. Longer texts go first, because one may contain another.
 */
export function replaceTexts(text: string, hidden: Iterable<string>, replacement: string): string {
  let readings = readEscapes(text);
  for (const one of [...hidden].sort((a, b) => b.length - a.length)) {
    if (one === "") continue;
    for (let depth = 0; depth < readings.length; depth++) {
      const reading = (readings[depth] as EscapeReading).text;
      const spans: Span[] = [];
      for (let start = reading.indexOf(one); start !== -1; start = reading.indexOf(one, start + one.length)) {
        spans.push(toSourceSpan(readings, depth, { start, end: start + one.length }));
      }
      if (spans.length > 0) readings = readEscapes(replaceSpans(readings[0].text, spans, replacement));
    }
  }
  return readings[0].text;
}
