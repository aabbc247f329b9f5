import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { errorTable } from "../../../../src/contract/index.ts";
import { exactStatuses, protocols } from "../../../../src/dashboard/features/requests/filter-choices.ts";

const folder = join(import.meta.dir, "../../../../src/protocols");

/** The names of all protocols that clients speak: of each folder's `Inbound`. */
async function namesOfInbounds(): Promise<string[]> {
  const names = new Set<string>();
  for (const file of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    if (!/\/(index|inbound)\.ts$/.test(file)) continue;
    const exported: Record<string, unknown> = await import(join(folder, file));
    for (const value of Object.values(exported)) {
      const { protocol, endpoints } = (value ?? {}) as { protocol?: string; endpoints?: unknown };
      if (protocol !== undefined && endpoints !== undefined) names.add(protocol);
    }
  }
  return [...names];
}

test("the filter of the request log has every protocol that clients speak", async () => {
  const names = await namesOfInbounds();
  expect(names).toContain("chat");
  expect(protocols.map(([name]) => name).sort()).toEqual(["", ...names].sort() as never);
});

test("the filter of the request log has every status that requests with a key end with", () => {
  // No such endpoint, method or socket: nothing is logged then.
  const unlogged = [405, 426];
  const statuses = new Set(Object.values(errorTable).map(({ status }) => status as number));
  const logged = [...statuses, 499].filter((status) => !unlogged.includes(status));
  expect(exactStatuses.map(Number)).toEqual(logged.sort());
});
