import type { Selectable } from "kysely";
import { meterColumns } from "../../contract/index.ts";
import {
  type Database,
  figureColumns,
  latencyBuckets,
  type UsageKind,
  type UsageRow,
  type UsageSum,
  usageSums,
} from "../../db/index.ts";
import type { RefusedRequest } from "../requests/refusal-log.ts";
import { findLatencyBucket } from "./latency.ts";
import type { Names } from "./names.ts";

const hourMs = 3_600_000;
const bucketHours = [1, 24] as const;

const placeOf = Object.fromEntries(usageSums.map((name, place) => [name, place])) as Record<UsageSum, number>;
const firstBytes = usageSums.length;
const durations = firstBytes + latencyBuckets;

/** Summed under the same name as in `calls`. */
const summed = [...meterColumns, "cost_nanodollars", "charged_nanodollars", "quota_tokens"] as const;

/** What is counted of a call that has ended. */
export const countedColumns = [
  ...(["state", "account_id", "key_id", "model", "plugin", "status", "session", "tag", "opened_at"] as const),
  ...(["first_byte_ms", "duration_ms"] as const),
  ...summed,
] as const;
export type CountedCall = Pick<Selectable<Database["calls"]>, (typeof countedColumns)[number]>;

interface Cell {
  readonly kind: UsageKind;
  readonly hour: number;
  readonly accountId: string;
  readonly keyId: string;
  readonly model: string;
  readonly plugin: string;
  readonly status: number;
  readonly name: string;
  readonly figures: Float64Array;
}

/** A part of the cells that is written at once. */
export interface Slice {
  /** The last of its accounts. */
  readonly upto: string;
  toRows(): UsageRow[];
}

type CellKey = Omit<Cell, "figures">;
const unnamed = { keyId: "", model: "", plugin: "", status: 0 };

/** Sums of requests in memory, by all that statistics tell apart. */
export class Cells {
  readonly #cells = new Map<string, Cell>();
  readonly #names: Names;

  constructor(names: Names) {
    this.#names = names;
  }

  get size(): number {
    return this.#cells.size;
  }

  addCall(call: CountedCall): void {
    const { account_id: accountId, key_id: keyId, model, plugin, status, session, tag } = call;
    const hour = Math.floor(call.opened_at / hourMs);
    const key = {
      kind: "call",
      hour,
      accountId,
      keyId,
      model,
      plugin: plugin ?? "",
      status: status ?? 0,
      name: "",
    } as const;
    addCallTo(this.#get(key).figures, call);
    for (const [kind, given] of [
      ["session", session],
      ["tag", tag],
    ] as const) {
      if (given === null) continue;
      const name = this.#names.take({ kind, hour, accountId, name: given });
      addCallTo(this.#get({ ...unnamed, kind, hour, accountId, name }).figures, call);
    }
  }

  /** Not by its model: that is what a client wrote, and may be anything. */
  addRefusal({ opened_at: openedAt, account_id: accountId, key_id: keyId, status }: RefusedRequest): void {
    const hour = Math.floor(openedAt / hourMs);
    add(this.#get({ ...unnamed, kind: "call", hour, accountId, keyId, status, name: "" }).figures, placeOf.refused, 1);
  }

  /** The rows to add to, of each hour and of its day. */
  toRows(): UsageRow[] {
    return toRows(this.#cells.values());
  }

  /** The same in slices of about `most` cells, each of whole accounts, in the order of these. */
  toSlices(most: number): Slice[] {
    const cells = [...this.#cells.values()].sort((one, other) =>
      one.accountId === other.accountId ? 0 : one.accountId < other.accountId ? -1 : 1,
    );
    const slices: Cell[][] = [];
    for (const cell of cells) {
      const slice = slices.at(-1);
      const isFull = slice !== undefined && slice.length >= most && slice.at(-1)?.accountId !== cell.accountId;
      if (slice === undefined || isFull) slices.push([cell]);
      else slice.push(cell);
    }
    return slices.map((slice) => ({ upto: slice.at(-1)?.accountId ?? "", toRows: () => toRows(slice) }));
  }

  #get(key: CellKey): Cell {
    const { kind, hour, accountId, keyId, model, plugin, status, name } = key;
    const text = `${kind}\n${hour}\n${accountId}\n${keyId}\n${status}\n${model}\n${plugin}\n${name}`;
    let cell = this.#cells.get(text);
    if (cell === undefined) {
      cell = { ...key, figures: new Float64Array(figureColumns.length) };
      this.#cells.set(text, cell);
    }
    return cell;
  }
}

function toRows(cells: Iterable<Cell>): UsageRow[] {
  const rows = new Map<string, UsageRow & { figures: Float64Array }>();
  for (const cell of cells) {
    const { hour, figures } = cell;
    for (const hours of bucketHours) {
      for (const [kind, ...names] of toKeys(cell)) {
        const key = [hours, kind, hour - (hour % hours), ...names];
        const text = key.join("\n");
        const row = rows.get(text);
        if (row === undefined) rows.set(text, { key, figures: figures.slice() });
        else for (let place = 0; place < figures.length; place++) add(row.figures, place, figures[place] as number);
      }
    }
  }
  return [...rows.values()];
}

/** The rows that a cell is part of: kind, account, key, model, plugin, status and name. */
function toKeys({ kind, accountId, keyId, model, plugin, status, name }: Cell) {
  const own = [kind, accountId, keyId, model, plugin, status, name] as const;
  if (kind === "session") return [own];
  if (kind === "tag") return [own, [kind, "", "", "", "", 0, name] as const];
  const ofAll = [kind, "", "", model, plugin, status, ""] as const;
  const ofKey = ["key", accountId, keyId, "", "", 0, ""] as const;
  return [own, ofAll, ofKey];
}

function addCallTo(figures: Float64Array, call: CountedCall): void {
  add(figures, call.state === "settled" ? placeOf.requests : placeOf.failures, 1);
  if (call.status !== null && call.status >= 400) add(figures, placeOf.failed, 1);
  for (const name of summed) {
    const amount = call[name];
    if (amount !== null) add(figures, placeOf[name], amount);
  }
  if (call.first_byte_ms !== null) add(figures, firstBytes + findLatencyBucket(call.first_byte_ms), 1);
  if (call.duration_ms !== null) add(figures, durations + findLatencyBucket(call.duration_ms), 1);
}

function add(figures: Float64Array, place: number, amount: number): void {
  figures[place] = (figures[place] as number) + amount;
}
