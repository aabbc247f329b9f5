import { expect, test } from "bun:test";
import type { App } from "../../../src/app.ts";
import { type Start, startupBanner } from "../../../src/cli/startup-banner.ts";
import { readConfig } from "../../../src/config/index.ts";
import { chatModel } from "../../unit/kernel/support.ts";

/** The first screen of a gateway that sells these models. */
function screen(...models: Partial<typeof chatModel>[]): string {
  const offers = models.map((model) => ({ model: { ...chatModel, ...model }, compiledPrice: undefined, routes: [] }));
  const app = { kernel: { registry: { offers, size: offers.length } }, sandbox: false } as unknown as App;
  const config = readConfig({});
  return startupBanner({
    config,
    port: 3000,
    key: { key: "sk-mg-abcd-secret", given: false },
    app,
  } as unknown as Start);
}

test("the line to try names a free chat model that is not retired", () => {
  const shown = screen(
    { id: "gone", premium: false, retiredOn: "2020-01-01" },
    { id: "dear", premium: true },
    { id: "draws", premium: false, capability: "images" },
    { id: "here", premium: false, retiredOn: "2999-01-01" },
  );
  expect(shown).toContain('"model":"here"');
});

test("a retired model is better than none, and without a free one no line is shown", () => {
  expect(screen({ id: "gone", premium: false, retiredOn: "2020-01-01" })).toContain('"model":"gone"');
  expect(screen({ id: "dear", premium: true })).not.toContain("curl");
});
