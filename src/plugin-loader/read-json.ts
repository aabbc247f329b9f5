import { PluginError } from "../sdk/index.ts";
import { findJsonError } from "./json-errors.ts";
import { readText } from "./read-text.ts";

/**
 * Reads a JSON file that a person wrote.
 *
 * @throws {PluginError} With the line and column where it stops being JSON.
 */
export function readJson(path: string): unknown {
  const text = readText(path);
  try {
    return JSON.parse(text);
  } catch (cause) {
    const fault = findJsonError(text);
    const place = fault === undefined ? String(cause) : `line ${fault.line}, column ${fault.column}: ${fault.reason}`;
    throw new PluginError(`${place}; mend the JSON there`, { cause });
  }
}
