import { unsafeCharacters } from "../contract/index.ts";

const unsafe = new RegExp(`(?![\\n\\t])[${unsafeCharacters}]`, "g");
const unsafeOrBreak = new RegExp(`[${unsafeCharacters}]`, "g");

/**
 * Makes a text harmless for a terminal: control characters, which strangers may have put into names, become `\u001b` and the like.
 * Line breaks and tabs stay. JSON stays JSON with the same meaning.
 *
 * @example
 * toTerminalText("Ada\u001b[2J"); // => "Ada\\u001b[2J"
 */
export function toTerminalText(text: string): string {
  // The search is cheap, and most texts have nothing to escape.
  return text.search(unsafe) === -1 ? text : text.replaceAll(unsafe, toEscape);
}

/** Escapes like {@link toTerminalText}, and line breaks too: for a cell, a name, a message of another program. */
export function toTerminalLine(text: string): string {
  return text.search(unsafeOrBreak) === -1 ? text : text.replaceAll(unsafeOrBreak, toEscape);
}

function toEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
