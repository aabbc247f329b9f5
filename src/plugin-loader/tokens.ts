/** A piece of TypeScript, JavaScript or JSON that is neither white space nor a comment. */
export interface Token {
  readonly kind: "name" | "string" | "number" | "punctuation" | "other";
  /** As written; a string with its quotes. */
  readonly text: string;
  /** A string without its quotes, any other token as written. */
  readonly value: string;
  readonly start: number;
  /** The index of the bracket that encloses it, -1 at the top. */
  parent: number;
  /** Of a bracket, the index of the one that closes it. */
  close?: number;
}

const skipped = /\s+|\/\/[^\n]*|\/\*[\s\S]*?\*\//y;
const name = /[\p{ID_Start}_$][\p{ID_Continue}$]*/uy;
const number = /\d[\w.]*/y;
const quoted = /"(?:[^"\\\n]|\\[\s\S])*"|'(?:[^'\\\n]|\\[\s\S])*'/y;
const templatePart = /(?:[^`\\$]|\\[\s\S]|\$(?!\{))*(?:`|\$\{)/y;
const regExp = /\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/y;
const operator = /\.\.\.|=>|[=!]==?|\?\.(?!\d)|[\s\S]/y;
/** Names after which a slash begins a regular expression, because no value ends with them. */
const beforeValue = new Set(["return", "typeof", "case", "in", "of", "do", "else", "void", "delete", "throw", "await"]);

/**
 * Splits source text into tokens, each with the bracket that encloses it. It never fails: what cannot be read becomes a
 * token of its own, because the compiler is the one to complain.
 */
export function tokenize(text: string): Token[] {
  const tokens: Token[] = [];
  const open: number[] = [];
  let at = 0;
  const read = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    return pattern.exec(text)?.[0];
  };
  const add = (kind: Token["kind"], part: string, value = part) => {
    tokens.push({ kind, text: part, value, start: at, parent: open.at(-1) ?? -1 });
    at += part.length;
  };
  const addTemplatePart = (prefix: string) => {
    at += prefix.length;
    const part = read(templatePart) ?? text.slice(at);
    at -= prefix.length;
    add("other", prefix + part);
    if (part.endsWith("${")) open.push(tokens.length - 1);
  };
  while (at < text.length) {
    const space = read(skipped);
    if (space !== undefined) {
      at += space.length;
      continue;
    }
    const string = read(quoted);
    const word = string === undefined ? (read(name) ?? read(number)) : undefined;
    const pattern = text[at] === "/" && startsValue(tokens.at(-1)) ? read(regExp) : undefined;
    if (string !== undefined) add("string", string, string.slice(1, -1));
    else if (word !== undefined) add(/^\d/.test(word) ? "number" : "name", word);
    else if (pattern !== undefined) add("other", pattern);
    else if (text[at] === "`") addTemplatePart("`");
    else if (text[at] === "}" && tokens[open.at(-1) ?? -1]?.text.endsWith("${")) {
      open.pop();
      addTemplatePart("}");
    } else addPunctuation(read(operator) as string);
  }
  return tokens;

  function addPunctuation(part: string): void {
    if (/[)\]}]/.test(part)) {
      const opening = tokens[open.pop() ?? -1];
      if (opening !== undefined) opening.close = tokens.length;
    }
    add("punctuation", part);
    if (/[([{]/.test(part)) open.push(tokens.length - 1);
  }
}

function startsValue(before: Token | undefined): boolean {
  if (before === undefined) return true;
  if (before.kind === "name") return beforeValue.has(before.text);
  return before.kind === "punctuation" && !/[)\]}]/.test(before.text);
}
