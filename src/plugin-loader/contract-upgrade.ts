import { type ContractRule, codeRules, exportRenames, jsonRules } from "./contract-renames.ts";
import { type Token, tokenize } from "./tokens.ts";

/** One name of contract 1 in a file. */
export interface ContractChange {
  /** From 1. */
  readonly line: number;
  /** Such as `nMax to maxChoices`. */
  readonly rename: string;
  /** Whether it can only be meant for contract 1. A guess is rewritten by `plugin upgrade`, but no reason to refuse. */
  readonly certain: boolean;
}

/** A file rewritten for the current contract. */
export interface UpgradedText {
  readonly text: string;
  readonly changes: readonly ContractChange[];
}

interface Edit {
  readonly token: Token;
  readonly name: string;
  /** The name as it is written here: with quotes, or with the old name beside it. */
  readonly text: string;
  readonly certain: boolean;
}

/**
 * Rewrites the names of contract 1 to those of contract 2. Only the tokens that change are replaced: comments, layout and
 * all other code stay as they are.
 *
 * @param kind `json` for a manifest or a catalogue, `code` for TypeScript and JavaScript.
 */
export function upgradeText(text: string, kind: "json" | "code"): UpgradedText {
  const tokens = tokenize(text);
  const found =
    kind === "json" ? findNames(tokens, jsonRules) : [...findNames(tokens, codeRules), ...findImports(tokens)];
  const changes: ContractChange[] = [];
  let result = "";
  let end = 0;
  let line = 1;
  for (const { token, name, text: replacement, certain } of found.sort((a, b) => a.token.start - b.token.start)) {
    const between = text.slice(end, token.start);
    line += between.split("\n").length - 1;
    changes.push({ line, rename: `${token.value} to ${name}`, certain });
    result += between + replacement;
    end = token.start + token.text.length;
  }
  return { text: result + text.slice(end), changes };
}

/**
 * Why a file that uses names of contract 1 is refused: what to rename in it, and the command that does.
 *
 * @param path What the command is to be given, as sentences call it.
 * @returns `undefined` when nothing in it is certainly of contract 1.
 */
export function explainUpgrade(changes: readonly ContractChange[], path: string): string | undefined {
  if (!changes.some(({ certain }) => certain)) return undefined;
  const renames = [...new Set(changes.map(({ rename }) => rename))].map((rename) =>
    rename === "1 to 2" ? "contractVersion 1 to 2" : rename,
  );
  return `it is written for contract 1, this gateway speaks 2; rename ${renames.join(", ")}, or run modelgate plugin upgrade ${path}`;
}

/** Applies the first rule that knows a token and the place where it stands. */
function findNames(tokens: readonly Token[], rules: readonly ContractRule[]): Edit[] {
  const names = new Set(rules.flatMap(({ renames }) => Object.keys(renames)));
  const mentioned = new Set(tokens.map(({ value }) => value));
  const usable = rules.filter(({ needs }) => needs === undefined || needs.some((name) => mentioned.has(name)));
  return tokens.flatMap((token, index) => {
    if (!names.has(token.value)) return [];
    const place = describePlace(tokens, index);
    const rule = usable.find(({ renames, where }) => Object.hasOwn(renames, token.value) && where.test(place));
    if (rule === undefined) return [];
    const name = rule.renames[token.value] as string;
    const quote = token.kind === "string" ? token.text.charAt(0) : "";
    const [before, after] = [tokens[index - 1]?.text ?? "", tokens[index + 1]?.text ?? ""];
    const isShorthand = token.kind === "name" && /^[{,][,}]$/.test(before + after);
    const text = isShorthand ? `${name}: ${token.text}` : `${quote}${name}${quote}`;
    return [{ token, name, text, certain: rule.certain }];
  });
}

/** Renames imports and their uses, or only the import where a use could be something else of that name. */
function findImports(tokens: readonly Token[]): Edit[] {
  return tokens.flatMap((token, index) => {
    const name = Object.hasOwn(exportRenames, token.text) ? (exportRenames[token.text] as string) : undefined;
    if (name === undefined || !isImported.test(describePlace(tokens, index))) return [];
    const edit = (each: Token, text: string): Edit => ({ token: each, name, text, certain: true });
    if (tokens[index + 1]?.text === "as") return [edit(token, name)];
    const places = [...tokens.entries()].filter(([at, { text }]) => text === token.text && at !== index);
    const uses = places.map(([at, use]) => ({ use, place: describePlace(tokens, at) }));
    const isClear = tokens.every(({ text }) => text !== name) && !uses.some(({ place }) => isOther.test(place));
    if (!isClear) return [edit(token, `${name} as ${token.text}`)];
    return [token, ...uses.filter(({ place }) => !isMember.test(place)).map(({ use }) => use)].map((each) =>
      edit(each, name),
    );
  });
}

const isImported = /(?:import|type) \{ ¦ .*[{,](?: type)? @ .* ¦ from modelgate\/plugin/;
const isMember = /\. @/;
const isOther = /(?:const|let|var|function|class|type|interface) @|\{ ¦ .*[{,] @ [,}:(=]/;

/**
 * Describes where a token stands: up to four brackets around it with the tokens before each, the tokens before it, the
 * one after it, and those after the innermost bracket. `({ handlers: { chat, embed } })` gives
 * `file ( … ( { … ( { handlers : { ¦ ( { handlers : { chat , @ } ¦ } )` for `embed`.
 */
function describePlace(tokens: readonly Token[], index: number): string {
  const join = (from: number, to: number) => tokens.slice(Math.max(0, from), to).map(toShortText).join(" ");
  const around: string[] = [];
  let bracket = tokens[index]?.parent ?? -1;
  for (; bracket !== -1 && around.length < 4; bracket = tokens[bracket]?.parent ?? -1) {
    around.unshift(join(bracket - 4, bracket + 1));
  }
  const close = tokens[tokens[index]?.parent ?? -1]?.close ?? tokens.length;
  const root = bracket === -1 ? "file " : "";
  return `${root}${around.join(" … ")} ¦ ${join(index - 30, index)} @ ${join(index + 1, index + 2)} ¦ ${join(close + 1, close + 4)}`;
}

/** Texts are not shown, so that none can imitate code; a long name would only cost time. */
function toShortText({ kind, value }: Token): string {
  const isText = kind === "string" || kind === "other";
  return value.length > 40 || (isText && !/^[\w/-]+$/.test(value)) ? "''" : value;
}
