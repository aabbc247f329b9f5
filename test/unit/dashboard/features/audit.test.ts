import { expect, test } from "bun:test";
import type { PageModule } from "../../../../src/dashboard/kit/modules.tsx";

// The client of the dashboard's API reads the address of its page when it is imported.
globalThis.location ??= new URL("http://dashboard.example") as never;
const { mergeTexts } = await import("../../../../src/dashboard/features/audit/audit-text.ts");
const modules: readonly PageModule[] = Object.values(await import("../../../../src/modules/pages.ts"));
const parts = await Promise.all(modules.map(async ({ load }) => (await load()).parts));
const { groups, sentences } = mergeTexts(parts);

test("every action of the audit log can be filtered by", () => {
  const choices = groups.flatMap(({ name, actions }) => Object.keys(actions).map((action) => `${name}.${action}`));
  const missing = Object.keys(sentences).filter(
    (action) => !choices.some((choice) => action === choice || action.startsWith(`${choice}.`)),
  );
  expect(missing).toEqual([]);
});
