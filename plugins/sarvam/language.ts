import { badRequest } from "modelgate/plugin";
import { getOwn } from "../../src/contract/index.ts";

/** Sarvam writes Odia as `od`, ISO 639-1 as `or`. */
const ownNames: Readonly<Record<string, string>> = { "or-IN": "od-IN" };

/** The language a script is written in by most; Devanagari and Bengali have others, which the caller must name. */
const languageOfScript: readonly [RegExp, string][] = [
  [/\p{Script=Devanagari}/u, "hi-IN"],
  [/\p{Script=Bengali}/u, "bn-IN"],
  [/\p{Script=Tamil}/u, "ta-IN"],
  [/\p{Script=Telugu}/u, "te-IN"],
  [/\p{Script=Kannada}/u, "kn-IN"],
  [/\p{Script=Malayalam}/u, "ml-IN"],
  [/\p{Script=Gujarati}/u, "gu-IN"],
  [/\p{Script=Gurmukhi}/u, "pa-IN"],
  [/\p{Script=Oriya}/u, "od-IN"],
];

/**
 * A language as Sarvam writes it: `hi` → `hi-IN`.
 *
 * @throws {GatewayError} `invalid_request` when the model has no such language; the message lists those it has.
 */
export function toLanguageCode(param: string, language: string, codes: readonly string[] | undefined): string {
  const code = language.includes("-") ? language : `${language}-IN`;
  if (codes !== undefined && !codes.includes(code)) {
    throw badRequest(`${param} is '${language}', but this model takes: ${codes.join(", ")}`, param);
  }
  return getOwn(ownNames, code) ?? code;
}

/** The language of a text by the script of most of its letters, for callers that cannot say it. */
export function guessLanguageCode(text: string, otherwise: string): string {
  const counts = new Map<string, number>();
  for (const letter of text) {
    if (!/\p{L}/u.test(letter)) continue;
    const code = languageOfScript.find(([script]) => script.test(letter))?.[1] ?? otherwise;
    counts.set(code, (counts.get(code) ?? 0) + 1);
  }
  const [most] = [...counts].sort(([, a], [, b]) => b - a);
  return most === undefined ? otherwise : most[0];
}
