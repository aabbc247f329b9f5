import { expect, test } from "bun:test";
import { callIdPrefix } from "../../../../src/contract/index.ts";
import { readUsageRows } from "../../../../src/reports/index.ts";
import { recordCalls } from "../../../support/payers.ts";
import { rollUp } from "../../../support/usage.ts";
import { endOf, openOf } from "../../db/facts.ts";
import { temporaryStore } from "../../db/temporary-store.ts";

const hourMs = 3_600_000;
const firstHour = 20_000 * 24;

test("usage of the whole gateway is told apart by account, key and model, and each sum is that of its parts", async () => {
  const store = await temporaryStore();
  const now = () => (firstHour + 30) * hourMs;
  for (const [index, [hour, accountId, keyId, model]] of (
    [
      [0, "ada", "key-1", "chat-1"],
      [0, "ada", "key-2", "chat-2"],
      [1, "ben", "key-3", "chat-1"],
      [25, "ben", "key-3", "chat-1"],
    ] as const
  ).entries()) {
    const openedAt = (firstHour + hour) * hourMs;
    const id = `${callIdPrefix(openedAt)}${String(index).padStart(16, "0")}`;
    const open = openOf(id, { openedAt, accountId, keyId, model });
    const end = endOf(open, { settledAt: openedAt + 1, costNanodollars: 7, chargedNanodollars: 2 ** index });
    await recordCalls(store, [open, end]);
  }
  await rollUp(store, now);
  const read = async (query: Partial<Parameters<typeof readUsageRows>[1]>) => {
    const starts = query.hours === 1 ? [firstHour, firstHour + 1] : [firstHour, firstHour + 24];
    const rows = await readUsageRows(store, { hours: 24, starts, byAccount: false, byKey: false, ...query });
    const shown = rows?.map((row) => [
      row.hour - firstHour,
      row.accountId,
      row.keyId,
      row.model,
      row.charged_nanodollars,
    ]);
    return shown?.map((row) => row.join(" ")).sort();
  };
  expect(await read({})).toEqual(["0   chat-1 5", "0   chat-2 2", "24   chat-1 8"]);
  expect(await read({ byAccount: true })).toEqual([
    "0 ada  chat-1 1",
    "0 ada  chat-2 2",
    "0 ben  chat-1 4",
    "24 ben  chat-1 8",
  ]);
  expect(await read({ byKey: true, accountIds: ["ada"] })).toEqual(["0  key-1 chat-1 1", "0  key-2 chat-2 2"]);
  expect(await read({ keyIds: ["key-3"], models: ["chat-1", "chat-2"] })).toEqual(["0   chat-1 4", "24   chat-1 8"]);
  expect(await read({ hours: 1 })).toEqual(["0   chat-1 1", "0   chat-2 2", "1   chat-1 4"]);
  expect(await read({ accountIds: [] })).toEqual([]);
});
