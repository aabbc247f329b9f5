import { join } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";

/** A call as the ledger has it; amounts that are unknown are `null`. */
export interface CallRow {
  id: string;
  model: string;
  capability: string;
  premium: number;
  state: "open" | "settled" | "released" | "abandoned";
  input_tokens: number | null;
  audio_input_tokens: number | null;
  cache_read_tokens: number | null;
  cache_write_tokens: number | null;
  cache_write_1h_tokens: number | null;
  output_tokens: number | null;
  audio_output_tokens: number | null;
  image_output_tokens: number | null;
  images: number | null;
  audio_ms: number | null;
  characters: number | null;
  hold_nanodollars: number;
  hold_tokens: number;
  usage_source: "reported" | "estimated" | "none" | null;
  cost_nanodollars: number | null;
  charged_nanodollars: number | null;
  quota_tokens: number | null;
  price_version: string | null;
  plugin: string | null;
  status: number | null;
  first_byte_ms: number | null;
  duration_ms: number | null;
  error_code: string | null;
  cache_miss: string | null;
}

/** A second look into the database of a running gateway. */
export interface LedgerView {
  /** The row of the call that an answer's `x-request-id` names. @throws When there is none. */
  callOf(response: Response): CallRow;
  call(id: string): CallRow | undefined;
  /** How many calls there are, and how many of them are still open. */
  counts(): { calls: number; open: number };
  /** The newest call. */
  latest(): CallRow | undefined;
  /** Waits until no call is open any more. @throws When some still are after `msMax`. */
  untilSettled(msMax?: number): Promise<void>;
  close(): void;
}

export function openCliStore(home: string): LedgerView {
  const database = new DatabaseSync(join(home, "modelgate.db"), { readOnly: true });
  database.exec("pragma busy_timeout = 5000");
  // Many tests look at nothing, or once; the first statement of a connection reads the whole schema.
  const prepared = new Map<string, StatementSync>();
  const prepare = (text: string) => {
    const statement = prepared.get(text) ?? database.prepare(text);
    prepared.set(text, statement);
    return statement;
  };
  const openById = () => prepare("select *, 'open' as state from open_calls where id = ?");
  const byId = () => prepare("select * from calls where id = ?");
  // Ids are random within a millisecond: of calls that began in the same one, the one that runs or ended last is the newest.
  const newest = () =>
    prepare(
      `select id from (select id, opened_at, seq from calls union all select id, opened_at, 9e15 from open_calls)
      order by opened_at desc, seq desc limit 1`,
    );
  const counted = () =>
    prepare("select (select count(*) from calls) + open as calls, open from (select count(*) as open from open_calls)");
  const call = (id: string) => (openById().get(id) ?? byId().get(id) ?? undefined) as CallRow | undefined;
  const counts = () => counted().get() as { calls: number; open: number };
  return {
    call,
    counts,
    latest() {
      const id = newest().get()?.id;
      return id === undefined ? undefined : call(String(id));
    },
    callOf(response) {
      const id = response.headers.get("x-request-id");
      if (id === null) throw new Error(`No x-request-id on the answer of ${response.url}`);
      const row = call(id);
      if (row === undefined) throw new Error(`No call ${id} in the ledger (status ${response.status})`);
      return row;
    },
    async untilSettled(msMax = 60_000) {
      const deadline = Date.now() + msMax;
      while (counts().open > 0) {
        if (Date.now() > deadline) throw new Error(`${counts().open} calls are still open after ${msMax} ms`);
        await Bun.sleep(10);
      }
    },
    close: () => database.close(),
  };
}
