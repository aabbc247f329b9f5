import { describe, expect, test } from "bun:test";
import { isLong } from "../../support/long.ts";
import { queryPostgres, whyNoPostgres } from "../../support/postgres.ts";
import { redisProgram } from "../../support/redis-server.ts";
import { type Fault, faults, pairsOf } from "./faults.ts";
import { simulateFaults, toLine } from "./simulate-faults.ts";

/** Books that somebody changes by hand: a call becomes another's, and one costs more than it did. */
const tampering: Fault = {
  name: "tampering",
  made: "",
  mended: "",
  mayLose: "",
  async strike({ url, payers }) {
    const [rich, , , other] = payers.map(({ accountId, keyId }) => ({ accountId, keyId }));
    const of = (id: string | undefined) => `(select no from payers where id = '${id}')`;
    const own = `select id from call_rows where key_id = ${of(rich?.keyId)} order by settled_at`;
    await queryPostgres(
      url,
      `update call_rows set account_id = ${of(other?.accountId)}, key_id = ${of(other?.keyId)} where id in (${own} limit 1)`,
    );
    await queryPostgres(
      url,
      `update call_rows set charged_nanodollars = charged_nanodollars + 1 where id in (${own} limit 1)`,
    );
  },
};

const faultOf = (name: string) => faults.find((each) => each.name === name) as Fault;

describe.skipIf(whyNoPostgres !== undefined || redisProgram === null)("a fleet of real processes", () => {
  test("the simulator sees a charge that another pays and one by other figures, and nothing else, while connections break", async () => {
    const struck = [faultOf("postgres-connections-reset"), faultOf("redis-flushed"), tampering];
    const { broken } = await simulateFaults(struck, 1, { before: 10, after: 4 });
    const seen = broken.map((each) => each.replace(/: .*/s, ""));
    expect(new Set(seen)).toEqual(
      new Set(["2 delivered calls are not charged as served", "2 charges are wrong", "ledger verify"]),
    );
  });

  test("the table names each fault once", () => {
    const names = faults.map(({ name }) => name);
    expect(names.toSorted()).toEqual([...new Set(names)].toSorted());
  });

  /** A pair under a seed of its own; more than an hour for each row on a slow machine. */
  test.each(isLong ? faults.slice(0, -1).map(({ name }, at) => [name, at] as const) : [])(
    "%s, together with each fault below it in the table, leaves the ledger right",
    async (_name, at) => {
      const failures: string[] = [];
      const below = pairsOf(faults.slice(at)).slice(0, faults.length - at - 1);
      for (const [place, pair] of below.entries()) {
        const seed = at * faults.length + place;
        const outcome = await simulateFaults(pair, seed);
        const line = toLine(seed, pair, outcome);
        console.log(line);
        if (outcome.broken.length > 0) failures.push(line);
      }
      expect(failures).toEqual([]);
    },
  );
});
