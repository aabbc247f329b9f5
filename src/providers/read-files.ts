import { readFileSync, statSync } from "node:fs";
import { PluginError } from "../sdk/errors.ts";
import { findJsonError } from "./json-errors.ts";

/** The largest file that is read as part of a plugin or a catalogue, in bytes. */
const fileBytesMax = 8 * 1024 * 1024;

/** @throws {PluginError} When it cannot be read, is empty or is larger than 8 MB. */
export function readText(path: string): string {
  try {
    const { size } = statSync(path);
    if (size > fileBytesMax) {
      throw new PluginError(`it has ${size} bytes, expected at most ${fileBytesMax}; is it the right file?`);
    }
    const text = readFileSync(path, "utf8").replace(/^\uFEFF/, "");
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
export function readJson(path: string): unknown {
  return parseJson(readText(path));
}

/** {@link readJson} of a text. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const error = findJsonError(text);
    const place = error === undefined ? String(cause) : `line ${error.line}, column ${error.column}: ${error.reason}`;
    throw new PluginError(`${place}; fix the JSON there`, { cause });
  }
}
