import type { Edit } from "../mutation.ts";

/** What keeps the ledger right through failures, and what is so without it. */
export interface Repair {
  /** What is so when it is taken out. */
  readonly name: string;
  /** How it is taken out. */
  readonly edits: readonly Edit[];
  /** Faults of real processes that show that it is missing: names of the table of `test/e2e/fleet/faults.ts`. */
  readonly faults?: string;
}

const primary = "src/db/postgres/primary.ts";
const queue = "src/ledger/commit-queue.ts";
const functions = "src/db/migrations/0001-ledger-functions.postgres.sql";
const noRows = "    where call_rows.state = 3\n";

/** Each must be found by the simulator in virtual time, and those with faults by that of real processes too. */
export const repairs: readonly Repair[] = [
  {
    name: "a hold is taken for a payer that the database lacks",
    edits: [
      {
        file: functions,
        from: "    if given.is_payer is not true then perform refuse_payer(given.key_id); end if;\n",
        to: "",
      },
    ],
  },
  {
    name: "a payer that the database lacks is asked for by no statement that moves money",
    edits: [
      {
        file: functions,
        from: "  raise exception using errcode = 'MG001', message = 'payer ' || missing || ' of a call is not in this database';\n",
        to: "  return missing::text;\n",
      },
    ],
    faults: "postgres-restored-in-place,redis-flushed",
  },
  {
    name: "no connection asks whether it has come to a standby",
    edits: [
      { file: primary, from: '    if (state.in_recovery) throw new NotWritableError("standby");\n', to: "" },
      { file: primary, from: '    if (state.read_only) throw new NotWritableError("readOnly");\n', to: "" },
      { file: primary, from: '      if (rows[0]?.in_recovery) throw new NotWritableError("standby");\n', to: "" },
    ],
    faults: "postgres-landed-on-standby,postgres-slow",
  },
  {
    name: "a connection to a standby is kept",
    edits: [
      { file: primary, from: "/^(25006|57P|53|08)/", to: "/^(57P|08)/" },
      { file: primary, from: '    if (state.in_recovery) throw new NotWritableError("standby");\n', to: "" },
      { file: primary, from: '    if (state.read_only) throw new NotWritableError("readOnly");\n', to: "" },
      { file: primary, from: '      if (rows[0]?.in_recovery) throw new NotWritableError("standby");\n', to: "" },
      { file: primary, from: "error.code !== readOnlyState", to: "error.code === readOnlyState" },
    ],
  },
  {
    name: "a gateway is ready while its writes are refused",
    edits: [
      {
        file: "src/ledger/ledger.ts",
        from: "    if (failure === undefined && !this.#queue.isFailing) return undefined;",
        to: "    if (failure !== this) return undefined;",
      },
    ],
    faults: "postgres-disk-full,redis-flushed",
  },
  {
    name: "a charge that waits is on no disk",
    edits: [
      {
        file: queue,
        from: "    if (this.#spool === undefined) return;\n    this.#isUnkept",
        to: "    if (this.#spool !== null) return;\n    this.#isUnkept",
      },
    ],
    faults: "postgres-killed,gateway-ended",
  },
  {
    name: "a dead gateway keeps its lease",
    edits: [
      {
        file: "src/db/postgres/dead-nodes.ts",
        from: "nowMs - silence.sinceMs >= deadAfterMs",
        to: "nowMs - silence.sinceMs < 0",
      },
    ],
    faults: "gateway-vanished,redis-flushed",
  },
  {
    name: "an abandoned call is never charged",
    edits: [{ file: functions, from: noRows, to: "    where false\n" }],
  },
  { name: "an end that is written again counts again", edits: [{ file: functions, from: noRows, to: "" }] },
];
