import { readFileSync, statSync } from "node:fs";
import { decodeText } from "../contract/index.ts";
import { JsonBoundsError, type JsonSource, readJson as readBoundedJson } from "../lib/json.ts";
import { PluginError } from "../sdk/errors.ts";

/** The largest file that is read as part of a plugin or a catalogue, in bytes. */
const fileBytesMax = 8 * 1024 * 1024;

/** @throws {PluginError} When it cannot be read, is empty or is larger than 8 MB. */
export function readTextFile(path: string): string {
  try {
    const { size } = statSync(path);
    if (size > fileBytesMax) {
      throw new PluginError(`it has ${size} bytes, expected at most ${fileBytesMax}; is it the right file?`);
    }
    const text = decodeText(readFileSync(path));
    if (text.trim() === "") throw new PluginError("it is empty, expected a plugin; write one or remove the file");
    return text;
  } catch (cause) {
    if (cause instanceof PluginError) throw cause;
    const reason = getReason(cause);
    if (reason === "ENOENT") throw new PluginError("there is no such file; check the path", { cause });
    throw new PluginError(`it cannot be read (${reason}); let the gateway's user read it`, { cause });
  }
}

/** The code of a file system error, such as `EACCES`, or the message of any other. */
export function getReason(error: unknown): string {
  if (error instanceof Error && "code" in error) return String(error.code);
  return error instanceof Error ? error.message : String(error);
}

/**
 * Reads a JSON file that a person wrote.
 *
 * @throws {PluginError} With the line and column where it stops being JSON.
 */
export function readJsonFile(path: string): unknown {
  return parseFile(readTextFile(path));
}

/** Parses a text as {@link readJsonFile} does a file. */
export function parseFile(text: string, source: JsonSource = "file"): unknown {
  try {
    return readBoundedJson(text, source);
  } catch (cause) {
    if (cause instanceof JsonBoundsError) throw new PluginError(`it ${cause.reason}`, { cause });
    const error = findJsonError(text);
    const place = error === undefined ? String(cause) : `line ${error.line}, column ${error.column}: ${error.reason}`;
    throw new PluginError(`${place}; fix the JSON there`, { cause });
  }
}

/** Where a text stops being JSON, in lines and columns from 1, and the unexpected text there. */
export interface JsonError {
  line: number;
  column: number;
  reason: string;
}

/**
 * Finds the first place where a text that the platform refused is wrong: the platform's own message has no place.
 *
 * @returns `undefined` when the text is JSON.
 */
export function findJsonError(text: string): JsonError | undefined {
  const at = findInvalid(text);
  if (at === undefined) return undefined;
  const before = text.slice(0, at).split("\n");
  const textThere = at >= text.length ? "the end of the file" : JSON.stringify(text.charAt(at));
  return { line: before.length, column: (before.at(-1) as string).length + 1, reason: `${textThere} was not expected` };
}

const space = /[ \t\r\n]*/y;
const word = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
const plain = /[^"\\\n\r\t]*/y;
const escaped = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y;

/** Reads without recursion: otherwise deeply nested brackets could end the process. */
function findInvalid(text: string): number | undefined {
  /** The closing brackets that are due. */
  const closing: string[] = [];
  let next: "value" | "key" | "colon" | "end" = "value";
  let mayClose = false;
  let at = 0;
  while (true) {
    at = skip(space, text, at) as number;
    const [char, inner] = [text.charAt(at), closing.at(-1)];
    if (char === "") return next === "end" && inner === undefined ? undefined : at;
    if (mayClose && char === inner) {
      closing.pop();
      next = "end";
    } else if (next === "end" && char === "," && inner !== undefined) {
      next = inner === "}" ? "key" : "value";
      mayClose = false;
    } else if (next === "colon" && char === ":") next = "value";
    else if (next === "value" && (char === "{" || char === "[")) {
      closing.push(char === "{" ? "}" : "]");
      next = char === "{" ? "key" : "value";
      mayClose = true;
    } else {
      const isKey = next === "key" && char === '"';
      const end = isKey || next === "value" ? (char === '"' ? skipString(text, at) : skip(word, text, at)) : undefined;
      if (end === undefined) return at;
      mayClose = next === "value";
      next = next === "key" ? "colon" : "end";
      at = end - 1;
    }
    at++;
  }
}

/** Skips a string piece by piece: one pattern for the whole string fails on a long text. */
function skipString(text: string, start: number): number | undefined {
  let at: number | undefined = start + 1;
  while (at !== undefined) {
    const end = skip(plain, text, at) as number;
    if (text.charAt(end) === '"') return end + 1;
    at = skip(escaped, text, end);
  }
  return undefined;
}

/** @returns Where the match ends; `undefined` without a match here. */
function skip(pattern: RegExp, text: string, at: number): number | undefined {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : undefined;
}
