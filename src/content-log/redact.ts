import type { RE2JS } from "re2js";
import { ConfigError } from "../config/index.ts";

/** Replaces secrets and personal data in a text. */
export type Redact = (text: string) => Promise<string>;

/**
 * Patterns that are always replaced: keys, tokens, passwords, e-mail addresses and numbers of payment cards. A text
 * without the hint has none of it, which the platform's own engine sees many times faster.
 */
const builtIn: readonly (readonly [hint: RegExp, pattern: string])[] = [
  [/-----BEGIN/, String.raw`-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\s\S]*?(-----END [A-Z ]{0,40}PRIVATE KEY-----|\z)`],
  [
    /(?:sk|pk|rk|gh[opsu]|github_pat|glpat|hf|xox[abeprs]|whsec)[-_]/,
    String.raw`\b(sk|pk|rk|gh[opsu]|github_pat|glpat|hf|xox[abeprs]|whsec)[-_][A-Za-z0-9_-]{16,}`,
  ],
  [/AKIA|ASIA|AIza/, String.raw`\b(AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[A-Za-z0-9_-]{30,}`],
  [/eyJ/, String.raw`\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,}`],
  [/bearer\s/i, String.raw`(?i)\bbearer\s+[A-Za-z0-9._~+/-]{16,}`],
  [
    /passw|secret|api[_-]?key|access[_-]?token/i,
    String.raw`(?i)\b(password|passwd|secret|api[_-]?key|access[_-]?token)["']?\s{0,3}[:=]\s{0,3}["']?[^\s"',;]{6,}`,
  ],
  [/@/, String.raw`://[^\s/:@]{1,200}:[^\s/@]{1,200}@`],
  [/@/, String.raw`[\w.+-]{1,64}@[\w-]{1,63}(\.[\w-]{1,63}){1,8}`],
  [/\d(?:[ -]?\d){12}/, String.raw`\b\d(?:[ -]?\d){12,18}\b`],
];
const anyText = /(?:)/;
const patternsMax = 50;
const patternCharactersMax = 500;
/** Characters read in one step. */
const windowCharacters = 12_288;
/** The end of a step is read again by the next, so that what stands across both is found. */
const overlapCharacters = 4096;
/** The event loop goes on after steps of about this long together. */
const stepsMs = 3;
const replacement = "[redacted]";

/**
 * @param patterns Regular expressions separated by spaces, beside the built-in ones. The engine takes time linear in the
 * text for each of them.
 * @throws {ConfigError} For one that is invalid, too long or fits an empty text.
 */
export async function createRedact(patterns: string | undefined): Promise<Redact> {
  const { RE2JS } = await import("re2js");
  const own = patterns?.split(/\s+/).filter((pattern) => pattern !== "") ?? [];
  if (own.length > patternsMax) throw invalid(`it has ${own.length} patterns, expected at most ${patternsMax}`);
  const ownPatterns = own.map((pattern) => [anyText, pattern] as const);
  const compiled = [...builtIn, ...ownPatterns].map(([hint, pattern]) => ({ hint, pattern: compile(RE2JS, pattern) }));
  const pace = createPace();
  return async (text) => {
    let redacted = text;
    for (const { hint, pattern } of compiled) {
      if (hint.test(redacted)) redacted = await replaceAll(pattern, redacted, pace);
    }
    return redacted;
  };
}

function compile(engine: typeof RE2JS, pattern: string): RE2JS {
  if (pattern.length > patternCharactersMax) {
    throw invalid(`a pattern has ${pattern.length} characters, expected at most ${patternCharactersMax}`);
  }
  let compiled: RE2JS;
  try {
    compiled = engine.compile(pattern);
  } catch (error) {
    throw invalid(`${JSON.stringify(pattern)} is no RE2 expression (${(error as Error).message})`);
  }
  if (compiled.matcher("").find())
    throw invalid(`${JSON.stringify(pattern)} fits an empty text, so it fits everywhere`);
  return compiled;
}

type Pace = () => Promise<void> | undefined;

/** Ends a series of steps when it has taken long enough. */
function createPace(): Pace {
  let sinceMs = 0;
  return () => {
    const nowMs = performance.now();
    if (nowMs - sinceMs < stepsMs) return undefined;
    return new Promise((resolve) => {
      setImmediate(() => {
        sinceMs = performance.now();
        resolve();
      });
    });
  };
}

async function replaceAll(pattern: RE2JS, text: string, pace: Pace): Promise<string> {
  let replaced = "";
  for (let from = 0; from < text.length; ) {
    const isLast = from + windowCharacters >= text.length;
    const window = text.slice(from, from + windowCharacters);
    const startMax = isLast ? window.length : windowCharacters - overlapCharacters;
    const matcher = pattern.matcher(window);
    let end = 0;
    while (matcher.find() && matcher.start() < startMax) {
      if (matcher.end() === matcher.start()) continue;
      replaced += window.slice(end, matcher.start()) + replacement;
      end = matcher.end();
    }
    const next = Math.max(end, startMax);
    replaced += window.slice(end, next);
    from += next;
    await pace();
  }
  return replaced;
}

function invalid(problem: string): ConfigError {
  return new ConfigError("CONTENT_LOG_REDACT", problem);
}
