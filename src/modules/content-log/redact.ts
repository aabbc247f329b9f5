import type { RE2JS } from "re2js";
import { ConfigError } from "../../config/index.ts";
import { type EscapeReading, readEscapes, replaceSpans, type Span, toSourceSpan } from "../../lib/escapes.ts";

/** Replaces secrets and personal data in a text. */
export type Redact = (text: string) => Promise<string>;

/**
 * Names of values that are secrets, with possible suffixes: `password`, `AWS_SECRET_ACCESS_KEY`, `clientSecret`,
 * `api-key-2`.
 */
const secretNames = String.raw`(?:passw(?:or)?d|passphrase|secret|api[_-]?key|access[_-]?key|private[_-]?key|(?:access|auth|refresh|bearer)[_-]?token)(?:[_.-][\w.-]{0,40}|keys?|s|\d{1,3})?`;
/** A value in quotes up to their end, or up to a space. */
const secretValue = String.raw`(?:"[^"\n]{4,500}|'[^'\n]{4,500}|["'\x60]?[^\s"',;]{6,})`;

/** A form of secrets or of personal data. */
interface Form {
  /**
   * A text without a match of this has no match of the pattern; the platform's own engine tests it many times faster.
   */
  readonly hint: RegExp;
  readonly pattern: string;
  /** At the start: a letter or a digit before it makes it part of a word. Absent: it may begin anywhere. */
  readonly begins?: "word";
  /** At the end, in the same way. */
  readonly ends?: "word";
}

/** Forms that are always replaced: keys, tokens, passwords, e-mail addresses and numbers of payment cards. */
const builtIn: readonly Form[] = [
  {
    hint: /(?:sk|pk|rk|gh[oprsu]|github_pat|glpat|hf|xox[abeprs]|whsec|gsk|csk|xai|pplx|nvapi|r8|jina|npm)[-_]/,
    pattern:
      "(?:sk|pk|rk|gh[oprsu]|github_pat|glpat|hf|xox[abeprs]|whsec|gsk|csk|xai|pplx|nvapi|r8|jina|npm)[-_][A-Za-z0-9_-]{16,}",
    begins: "word",
  },
  { hint: /AKIA|ASIA/, pattern: "(?:AKIA|ASIA)[A-Z0-9]{16,}", begins: "word" },
  { hint: /AIza/, pattern: "AIza[A-Za-z0-9_-]{30,}", begins: "word" },
  { hint: /eyJ/, pattern: String.raw`eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,}`, begins: "word" },
  { hint: /bearer[\s+]/i, pattern: String.raw`(?i)bearer[\s+]{1,3}[A-Za-z0-9._~+/-]{16,}`, begins: "word" },
  {
    hint: /authorization/i,
    pattern: String.raw`(?i)authorization["']?\s{0,3}[:=]\s{0,3}["']?[a-z-]{3,20}[\s+]{1,3}[^\s"',;]{6,}`,
  },
  {
    hint: /passw|passphrase|secret|(?:api|access|private)[_-]?key|token/i,
    pattern: String.raw`(?i)${secretNames}["'\x60\]]{0,2}\s{0,3}(?:[:=]{1,2}>?|>)\s{0,3}${secretValue}`,
  },
  {
    hint: /--[\w-]{0,40}(?:passw|passphrase|secret|key|token)/i,
    pattern: String.raw`(?i)--[\w-]{0,40}${secretNames}\s{1,3}(?:"[^"\n]{4,500}|'[^'\n]{4,500}|[^\s"',;-][^\s"',;]{5,})`,
  },
  // Not the working directory of a shell.
  { hint: /pwd/i, pattern: String.raw`(?i)pwd["']?\s{0,3}[:=]\s{0,3}["']?[^\s"',;/.~][^\s"',;]{5,}` },
  { hint: /@/, pattern: String.raw`://[^\s/:@]{0,200}:[^\s/@]{1,200}@` },
  { hint: /@/, pattern: String.raw`[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}` },
  { hint: /\d(?:[ -]?\d){12}/, pattern: String.raw`\d(?:[ -]?\d){12,18}`, begins: "word", ends: "word" },
];
const anyText = /(?:)/;
const patternsMax = 50;
const patternCharactersMax = 500;
/** Characters read in one step. */
const windowCharacters = 12_288;
/** The end of a step is read again by the next step, which finds matches that cross the boundary. */
const overlapCharacters = 4096;
/** The event loop goes on after steps of about this long together. */
const stepsMs = 3;
const replacement = "[redacted]";

/** Finds parts of a text, in order and apart from each other. */
type Find = (text: string, pace: Pace) => Promise<Span[]>;

/**
 * Searches a text and each of its unescaped readings: in the arguments of a tool call, for example, a secret is as
 * likely to follow an escape as a space.
 *
 * @param patterns Regular expressions separated by spaces, in addition to the built-in patterns. The engine takes time
 * linear in the text for each pattern.
 * @throws {ConfigError} For a pattern that is invalid, too long or matches an empty text.
 */
export async function createRedact(patterns: string | undefined): Promise<Redact> {
  const { RE2JS } = await import("re2js");
  const own = patterns?.split(/\s+/).filter((pattern) => pattern !== "") ?? [];
  if (own.length > patternsMax) throw invalid(`it has ${own.length} patterns, expected at most ${patternsMax}`);
  const finders: Find[] = [
    async (text) => findPrivateKeys(text),
    ...builtIn.map((form) => createFind(form, RE2JS.compile(toExpression(form)), 1)),
    ...own.map((pattern) => createFind({ hint: anyText }, compile(RE2JS, pattern), 0)),
  ];
  const pace = createPace();
  return async (text) => {
    let readings = readEscapes(text);
    for (const find of finders) {
      for (let depth = 0; depth < readings.length; depth++) {
        const secrets = await find((readings[depth] as EscapeReading).text, pace);
        if (secrets.length === 0) continue;
        const spans = secrets.map((span) => toSourceSpan(readings, depth, span));
        readings = readEscapes(replaceSpans(readings[0].text, spans, replacement));
      }
    }
    return readings[0].text;
  };
}

/** The expression of a form, whose first group is what is replaced: `_` is no letter here, as in `KEY_sk-…`. */
function toExpression({ pattern, begins, ends }: Form): string {
  const [flags = ""] = /^\(\?i\)/.exec(pattern) ?? [];
  const word = String.raw`(?:\b|_)`;
  return `${flags}${begins === "word" ? word : ""}(${pattern.slice(flags.length)})${ends === "word" ? word : ""}`;
}

const privateKeyStart = /-----BEGIN[ +][A-Z0-9 +]{0,40}PRIVATE[ +]KEY(?:[ +]BLOCK)?-----/g;
const privateKeyEnd = /-----END[ +][A-Z0-9 +]{0,40}PRIVATE[ +]KEY(?:[ +]BLOCK)?-----/g;

/** Finds private keys of any length, each up to its end or the end of the text. */
function findPrivateKeys(text: string): Span[] {
  const spans: Span[] = [];
  let from = 0;
  while (from < text.length) {
    privateKeyStart.lastIndex = from;
    const start = privateKeyStart.exec(text);
    if (start === null) break;
    privateKeyEnd.lastIndex = start.index;
    from = privateKeyEnd.exec(text) === null ? text.length : privateKeyEnd.lastIndex;
    spans.push({ start: start.index, end: from });
  }
  return spans;
}

function compile(engine: typeof RE2JS, pattern: string): RE2JS {
  if (pattern.length > patternCharactersMax) {
    throw invalid(`a pattern has ${pattern.length} characters, expected at most ${patternCharactersMax}`);
  }
  let compiled: RE2JS;
  try {
    compiled = engine.compile(pattern);
  } catch (error) {
    throw invalid(`${JSON.stringify(pattern)} is not an RE2 expression (${(error as Error).message})`);
  }
  if (compiled.matcher("").find())
    throw invalid(`${JSON.stringify(pattern)} matches an empty text, so it matches everywhere`);
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

/** @param group The group of the expression that is the form itself. */
function createFind({ hint }: Pick<Form, "hint">, expression: RE2JS, group: 0 | 1): Find {
  return async (text, pace) => {
    const spans: Span[] = [];
    for (let from = 0; from < text.length; ) {
      const isLast = from + windowCharacters >= text.length;
      const next = isLast ? text.length : from + windowCharacters - overlapCharacters;
      // The character before tells whether a word begins here.
      const base = Math.max(0, from - 1);
      const window = text.slice(base, from + windowCharacters);
      const end = hint.test(window) ? findIn({ window, base, from, next }, { expression, group, spans }) : from;
      from = Math.max(end, next);
      await pace();
    }
    return spans;
  };
}

/** Adds what is found in a window and begins before `next`; returns the place behind the last one. */
function findIn(
  { window, base, from, next }: { window: string; base: number; from: number; next: number },
  { expression, group, spans }: { expression: RE2JS; group: 0 | 1; spans: Span[] },
): number {
  const matcher = expression.matcher(window);
  let behind = from;
  for (let at = from - base; at <= window.length && matcher.find(at); ) {
    const span = { start: base + matcher.start(group), end: base + matcher.end(group) };
    if (span.start >= next) break;
    if (span.end > span.start) {
      spans.push(span);
      behind = span.end;
    }
    // The character that ended this one may begin the next.
    at = Math.max(at + 1, span.end - base);
  }
  return behind;
}

function invalid(problem: string): ConfigError {
  return new ConfigError("CONTENT_LOG_REDACT", problem);
}
