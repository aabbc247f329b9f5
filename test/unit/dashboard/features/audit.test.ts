import { expect, test } from "bun:test";

// The client of the dashboard's API reads the address of its page when it is imported.
globalThis.location ??= new URL("http://dashboard.example") as never;
const { auditGroups, auditSentences } = await import("../../../../src/dashboard/features/audit/audit-text.ts");

test("every action of the audit log can be filtered by", () => {
  const choices = auditGroups.flatMap(([group, , actions]) =>
    Object.keys(actions).map((action) => `${group}.${action}`),
  );
  const missing = Object.keys(auditSentences).filter(
    (action) => !choices.some((choice) => action === choice || action.startsWith(`${choice}.`)),
  );
  expect(missing).toEqual([]);
});
