import { parseJson } from "../../lib/json.ts";
import { toTerminalLine } from "../../lib/terminal-text.ts";
import { UsageError } from "../command.ts";
import type { ForeignRow } from "./foreign-database.bun.ts";

/**
 * An import holds a list of what it takes over and of what is harmless. Everything else that is not at its default becomes a note
 * with a count, also a column that did not exist when this was written. What restricts somebody, as its name tells or as is known, and
 * cannot be taken over holds the keys back that it restricts, until the operator accepts to lose it.
 */
export interface TableRules {
  /** Columns that the import reads. */
  readonly used: readonly string[];
  /** Columns that restrict nobody and that nobody needs: times, counters, names. */
  readonly harmless: readonly string[];
  /** Columns that restrict somebody although their names do not suggest it. */
  readonly restricting?: readonly string[];
  /** Columns that restrict nobody although their names look like it: they are noted. */
  readonly noted?: readonly string[];
}

/** Names of what restricts. */
const restrictingName =
  /block|budget|limit|allowed|routes|restrict|deny|forbid|quota|max_parallel|enforced|_only$|permission|polic/i;

/** Kinds of loss, and how many there are of each. */
interface Loss {
  count: number;
  readonly owners: string[];
  readonly isRestricting: boolean;
  readonly effect: string;
}

const keysAreRevoked = "the keys that it concerns are revoked here";

const ownersShown = 3;
const ownersMax = 10_000;
/** Accepts all losses. */
const acceptsAll = "all";

interface Examined {
  readonly row: ForeignRow;
  /** Name of the owner that loses the setting, for people. */
  readonly owner: string;
  readonly rules: TableRules;
  readonly defaults?: ForeignRow | undefined;
  /** The effect on what it restricts; default: its keys are revoked. */
  readonly effect?: string;
}

/** Collects the losses of an import. */
export class Losses {
  readonly #accepted: ReadonlySet<string>;
  readonly #seen = new Set<string>();
  readonly #losses = new Map<string, Loss>();
  readonly #notes: string[] = [];

  /** @param accepted Names of restrictions that may be lost, as notes have them, or `all`. */
  constructor(accepted: readonly string[] = []) {
    this.#accepted = new Set(accepted);
  }

  /** Adds a note in words. */
  readonly note = (message: string): void => {
    this.#notes.push(message);
  };

  /**
   * Looks at what a row has that is not taken over.
   *
   * @param table The name of the table in notes and for `--accept`.
   * @returns The names of the restrictions that the operator has not accepted to lose: its keys are held back for them.
   */
  examine(table: string, { row, owner, rules, defaults = {}, effect = keysAreRevoked }: Examined): string[] {
    const holds: string[] = [];
    for (const [column, value] of Object.entries(row)) {
      if (rules.used.includes(column) || rules.harmless.includes(column)) continue;
      const isRestricting =
        rules.restricting?.includes(column) === true ||
        (rules.noted?.includes(column) !== true && restrictingName.test(column));
      if (isDefault(value, defaults[column], isRestricting)) continue;
      if (this.lose(`${table}.${column}`, owner, { isRestricting, effect })) holds.push(`${table}.${column}`);
    }
    return holds;
  }

  /** Notes one loss. Returns whether it holds back what it restricts. */
  lose(
    name: string,
    owner: string,
    { isRestricting = true, effect = keysAreRevoked }: { isRestricting?: boolean; effect?: string } = {},
  ): boolean {
    const loss = this.#losses.get(name) ?? { count: 0, owners: [], isRestricting, effect };
    loss.count += 1;
    if (loss.owners.length < ownersMax && !loss.owners.includes(owner)) loss.owners.push(owner);
    this.#losses.set(name, loss);
    if (!isRestricting) return false;
    this.#seen.add(name);
    return !this.#accepted.has(name) && !this.#accepted.has(acceptsAll);
  }

  /** The notes of all losses. @throws {UsageError} For an accepted name that restricts nothing here. */
  toNotes(): string[] {
    for (const name of this.#accepted) {
      if (name === acceptsAll || this.#seen.has(name)) continue;
      const names = [...this.#seen].sort().join(", ") || "none";
      throw new UsageError(`Cannot accept ${name}: it restricts nothing in this import, expected some of: ${names}`);
    }
    const notes = [...this.#losses].map(([name, { count, owners, isRestricting, effect }]) => {
      const rest = owners.length > ownersShown ? ", …" : "";
      const where = `${name} of ${count} (${owners.slice(0, ownersShown).join(", ")}${rest})`;
      if (!isRestricting) return `${where} is not carried over`;
      if (this.#accepted.has(name) || this.#accepted.has(acceptsAll))
        return `${where} restricts there and not here, as accepted`;
      return `${where} restricts there and cannot be carried over: ${effect}; --accept ${name} imports them without it`;
    });
    // They have names of others.
    return [...this.#notes, ...notes].map(toTerminalLine);
  }
}

/** Whether a value says nothing. A restriction of 0 says a lot. */
function isDefault(value: unknown, standard: unknown, isRestricting: boolean): boolean {
  if (standard === "generated") return true;
  const [plain, usual] = [toPlain(value), toPlain(standard)];
  // A flag that is on for everybody was turned off here.
  if (usual === true && (plain === false || plain === 0)) return false;
  if (isEmpty(plain)) return true;
  if (usual !== undefined && usual !== null && !isEmpty(usual) && JSON.stringify(plain) === JSON.stringify(usual))
    return true;
  return plain === 0 && (!isRestricting || usual === 0);
}

function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined || value === "" || value === false) return true;
  return typeof value === "object" && Object.keys(value).length === 0;
}

/** Databases write objects, lists, flags and numbers in several ways. */
function toPlain(value: unknown): unknown {
  if (typeof value === "bigint") return Number(value);
  if (value instanceof Uint8Array) return toPlain(new TextDecoder().decode(value));
  if (typeof value !== "string") return value;
  const text = value.trim();
  if (/^[[{]/.test(text)) return parseJson(text, "file") ?? text;
  return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
}
