import { getOwn } from "../contract/index.ts";
import { capabilityRenames, exportRenames, faultKindRenames } from "./contract-renames.ts";
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
  readonly text: string;
  readonly certain: boolean;
}

const tables = new Set(["handlers", "checks", "quirks", "nMax", "maxChoices"]);
const typedTables = new Set(["Handlers", "Checks", "OpenaiOptions"]);
const comparisons = new Set(["===", "!==", "==", "!="]);

/**
 * Rewrites the names of contract 1 to those of contract 2. Only the tokens that change are replaced: comments, layout and
 * all other code stay as they are.
 *
 * @param kind `json` for a manifest or a catalogue, `code` for TypeScript and JavaScript.
 */
export function upgradeText(text: string, kind: "json" | "code"): UpgradedText {
  const edits = new Upgrade(tokenize(text), kind).edits();
  const changes: ContractChange[] = [];
  let result = "";
  let end = 0;
  let line = 1;
  for (const { token, text: replacement, certain } of edits) {
    const between = text.slice(end, token.start);
    line += between.split("\n").length - 1;
    const renamed = replacement.replace(/^(\w+): \w+$|^(\w+) as \w+$/, "$1$2").replace(/^["'](.*)["']$/, "$1");
    changes.push({ line, rename: `${token.value} to ${renamed}`, certain });
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

/** Finds the names in one file. */
class Upgrade {
  readonly #tokens: readonly Token[];
  readonly #isJson: boolean;
  readonly #edits = new Map<Token, Edit>();
  /** Names of variables that hold a `Call`. */
  readonly #calls = new Set(["call"]);
  #usesFaults = false;

  constructor(tokens: readonly Token[], kind: "json" | "code") {
    this.#tokens = tokens;
    this.#isJson = kind === "json";
  }

  /** By place. */
  edits(): Edit[] {
    if (!this.#isJson) this.#readCalls();
    if (!this.#isJson) this.#renameImports();
    for (const [index, token] of this.#tokens.entries()) {
      if (token.kind === "number") this.#renameVersion(index, token);
      if (token.kind !== "name" && token.kind !== "string") continue;
      this.#renameKey(index, token);
      if (token.kind === "string") this.#renameLiteral(index, token);
      if (!this.#isJson) this.#renameNote(index, token);
    }
    return [...this.#edits.values()].sort((a, b) => a.token.start - b.token.start);
  }

  #at(index: number): string {
    return this.#tokens[index]?.value ?? "";
  }

  #depth(token: Token): number {
    let depth = 0;
    for (let at = token.parent; at !== -1; at = (this.#tokens[at] as Token).parent) depth++;
    return depth;
  }

  #edit(token: Token, text: string, certain: boolean): void {
    const whole = token.kind === "string" ? `${token.text[0]}${text}${token.text[0]}` : text;
    if (!this.#edits.has(token)) this.#edits.set(token, { token, text: whole, certain });
  }

  #renameVersion(index: number, token: Token): void {
    if (token.text !== "1" || this.#at(index - 1) !== ":" || this.#at(index - 2) !== "contractVersion") return;
    if (!this.#isJson || this.#depth(token) === 1) this.#edit(token, "2", true);
  }

  /** `nMax`, and the capabilities in the tables that have them as keys. */
  #renameKey(index: number, token: Token): void {
    const [before, after] = [this.#at(index - 1), this.#at(index + 1)];
    const isMember = before === "." || before === "?.";
    const isKey = ["{", ",", "async", "*"].includes(before) && this.#at(token.parent) === "{";
    const isShorthand = token.kind === "name" && [",", "}"].includes(after);
    const isNamed = isKey && ([":", "(", "<"].includes(after) || isShorthand);
    const put = (renamed: string, certain: boolean) =>
      this.#edit(token, isShorthand && !isMember ? `${renamed}: ${token.text}` : renamed, certain);
    if (token.value === "nMax" && (isMember || isNamed) && (!this.#isJson || this.#depth(token) === 1)) {
      put("maxChoices", true);
    }
    const renamed = getOwn(capabilityRenames, token.value);
    if (renamed === undefined) return;
    if (isMember && token.kind === "name" && tables.has(this.#at(index - 2))) put(renamed, false);
    const isIndex = token.kind === "string" && before === "[";
    if (isIndex && (tables.has(this.#at(index - 2)) || typedTables.has(this.#at(index - 2)))) put(renamed, false);
    const certainty = isNamed ? this.#tableAt(token.parent) : undefined;
    if (certainty !== undefined) put(renamed, certainty);
  }

  /** Whether a brace opens a table by capability: certainly, by its variable's name alone, or `undefined` if not. */
  #tableAt(brace: number): boolean | undefined {
    const [before, owner] = [this.#at(brace - 1), this.#at(brace - 2)];
    if (this.#isJson)
      return before === ":" && tables.has(owner) && this.#depth(this.#tokens[brace] as Token) === 1 ? true : undefined;
    if (before === "(" && owner === "openai") return true;
    if (before === ":" && tables.has(owner)) return true;
    return before === "=" && (tables.has(owner) || typedTables.has(owner)) ? typedTables.has(owner) : undefined;
  }

  /** Strings that name a capability or a kind of fault. */
  #renameLiteral(index: number, token: Token): void {
    const capability = getOwn(capabilityRenames, token.value);
    const [before, owner] = [this.#at(index - 1), this.#at(index - 2)];
    if (capability !== undefined) {
      const isField = before === ":" && owner === "capability";
      if (isField && (!this.#isJson || this.#isRow(token.parent))) this.#edit(token, capability, true);
      else if (!this.#isJson && this.#isCompared(index, "capability")) this.#edit(token, capability, false);
      else if (!this.#isJson && this.#isTyped(index, "Capability")) this.#edit(token, capability, false);
    }
    const kind = getOwn(faultKindRenames, token.value);
    if (kind === undefined || this.#isJson || owner === "credential") return;
    if (this.#isFirstArgument(index, "UpstreamFault")) this.#edit(token, kind, true);
    else if (this.#usesFaults && this.#isCompared(index, "kind")) this.#edit(token, kind, false);
    else if (this.#isTyped(index, "FaultKind")) this.#edit(token, kind, false);
  }

  /** Whether a JSON brace opens a row of a catalogue or a fixture, and not data of some other shape. */
  #isRow(brace: number): boolean {
    const { parent } = this.#tokens[brace] as Token;
    if (parent === -1) return true;
    return this.#at(parent) === "[" && (this.#tokens[parent]?.parent === -1 || this.#at(parent - 2) === "models");
  }

  #isFirstArgument(index: number, constructor: string): boolean {
    const paren = (this.#tokens[index] as Token).parent;
    if (this.#at(paren) !== "(" || this.#at(paren - 1) !== constructor) return false;
    const between = this.#tokens.slice(paren + 1, index);
    return !between.some((token) => token.text === "," && token.parent === paren);
  }

  /** `fault.kind === "x"`, `"x" === fault.kind`, `case "x":`, `["x"].includes(fault.kind)`. */
  #isCompared(index: number, property: string): boolean {
    if (comparisons.has(this.#at(index - 1))) return this.#at(index - 2) === property;
    const list = (this.#tokens[index] as Token).parent;
    if (comparisons.has(this.#at(index + 1))) return this.#chainEnd(index + 2) === property;
    if (this.#at(index - 1) === "case") {
      const close = list - 1;
      const paren = this.#tokens.findLastIndex((token, at) => at < close && token.text === "(");
      return this.#at(paren - 1) === "switch" && this.#at(close - 1) === property;
    }
    if (this.#at(list) !== "[") return false;
    const end = this.#tokens.findIndex((token, at) => at > index && token.text === "]");
    return this.#at(end + 2) === "includes" && this.#chainEnd(end + 4) === property;
  }

  #chainEnd(index: number): string {
    let end = index;
    while ([".", "?."].includes(this.#at(end + 1))) end += 2;
    return this.#at(end);
  }

  /** Whether it stands where a value stands, in a statement or function whose head names the type. */
  #isTyped(index: number, type: string): boolean {
    if (!["=", "?", ":", "|", "return", "=>", "[", ",", "("].includes(this.#at(index - 1))) return false;
    for (let at = index; at > 0; at = (this.#tokens[at] as Token).parent) {
      const { parent } = this.#tokens[at] as Token;
      for (let before = at - 1; before > parent; before--) {
        const token = this.#tokens[before] as Token;
        if (token.parent !== parent) {
          if (token.text === type) return true;
          continue;
        }
        if (token.text === ";" || token.text === "}") break;
        if (token.text === type) return true;
      }
      if (parent === -1) return false;
    }
    return false;
  }

  #readCalls(): void {
    for (const [index, token] of this.#tokens.entries()) {
      if (token.kind === "name" && this.#at(index + 1) === ":" && this.#isCallType(index + 2))
        this.#calls.add(token.text);
      if (/^(UpstreamFault|FaultKind|classifyFault|faultOfBody)$/.test(token.text)) this.#usesFaults = true;
    }
  }

  #isCallType(index: number): boolean {
    if (this.#at(index) === "Call" && this.#at(index + 1) === "<") return true;
    return this.#at(index) === "Pick" && this.#at(index + 1) === "<" && this.#at(index + 2) === "Call";
  }

  /** `call.note`, and the `note` that is taken out of a call. */
  #renameNote(index: number, token: Token): void {
    if (token.value !== "note") return;
    const [before, after] = [this.#at(index - 1), this.#at(index + 1)];
    if (token.kind === "string") {
      const pick = this.#tokens.findLastIndex((other, at) => at < index && /^(Pick|Omit)$/.test(other.text));
      const isPicked =
        pick !== -1 &&
        this.#at(pick + 2) === "Call" &&
        !this.#tokens.slice(pick, index).some(({ text }) => text === ";");
      if (isPicked && ["|", ","].includes(before)) this.#edit(token, "warn", true);
    } else if (before === "." || before === "?.") {
      if (this.#calls.has(this.#at(index - 2))) this.#edit(token, "warn", this.#at(index - 2) === "call");
    } else if ((before === "{" || before === ",") && [",", "}", ":"].includes(after) && this.#isOfCall(token.parent)) {
      this.#edit(token, after === ":" ? "warn" : "warn: note", true);
    }
  }

  /** Whether a brace takes a call apart, or makes one by spreading another. */
  #isOfCall(brace: number): boolean {
    if (this.#at(brace) !== "{") return false;
    if (this.#at(brace + 1) === "..." && this.#calls.has(this.#at(brace + 2))) return true;
    const { parent } = this.#tokens[brace] as Token;
    const close = this.#tokens.findIndex((token, at) => at > brace && token.text === "}" && token.parent === parent);
    if (this.#at(close + 1) === ":" && this.#isCallType(close + 2)) return true;
    if (this.#at(close + 1) === "=" && this.#calls.has(this.#at(close + 2))) return true;
    const outer = this.#tokens[parent]?.parent ?? -1;
    return this.#at(parent) === "(" && outer !== -1 && this.#tableAt(outer) !== undefined;
  }

  #renameImports(): void {
    for (const [index, token] of this.#tokens.entries()) {
      if (token.kind !== "string" || token.value !== "modelgate/plugin" || this.#at(index - 1) !== "from") continue;
      if (this.#at(index - 3) === "as" && this.#at(index - 4) === "*") this.#renameMembers(this.#at(index - 2));
      if (this.#at(index - 2) !== "}") continue;
      const brace = this.#tokens.findLastIndex((other, at) => at < index && other.text === "{");
      for (let at = brace + 1; at < index - 2; at++) {
        if (![",", "{", "type"].includes(this.#at(at - 1))) continue;
        const renamed = getOwn(exportRenames, this.#at(at));
        if (renamed !== undefined) this.#renameImport(at, renamed);
      }
    }
  }

  #renameMembers(namespace: string): void {
    for (const [index, token] of this.#tokens.entries()) {
      const renamed = getOwn(exportRenames, token.text);
      if (renamed !== undefined && this.#at(index - 1) === "." && this.#at(index - 2) === namespace) {
        this.#edit(token, renamed, true);
      }
    }
  }

  /** Renames every use of an import, or only the import where a use could be something else of that name. */
  #renameImport(index: number, renamed: string): void {
    const imported = this.#tokens[index] as Token;
    const uses = [...this.#tokens.entries()].filter(
      ([at, token]) =>
        at !== index &&
        token.kind === "name" &&
        token.text === imported.text &&
        ![".", "?."].includes(this.#at(at - 1)),
    );
    const isUnclear = ([at, token]: [number, Token]) =>
      ["const", "let", "var", "function", "class", "type", "interface"].includes(this.#at(at - 1)) ||
      (["{", ","].includes(this.#at(at - 1)) && this.#at(token.parent) === "{" && /^[,}:(=]$/.test(this.#at(at + 1)));
    const isTaken = this.#tokens.some(({ kind, text }) => kind === "name" && text === renamed);
    if (this.#at(index + 1) === "as") this.#edit(imported, renamed, true);
    else if (isTaken || uses.some(isUnclear)) this.#edit(imported, `${renamed} as ${imported.text}`, true);
    else for (const token of [imported, ...uses.map(([, use]) => use)]) this.#edit(token, renamed, true);
  }
}
