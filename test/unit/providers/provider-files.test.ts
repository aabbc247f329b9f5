import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLog } from "../../../src/observability/log.ts";
import { fileHash, isUnchanged, syncProviderFiles } from "../../../src/providers/provider-files.ts";
import type { ProviderRow } from "../../../src/providers/provider-settings.ts";

const manifestOf = (version: number) => JSON.stringify({ version });
const fileOf = (version: number) => `${JSON.stringify({ environment: false, version }, null, 2)}\n`;
const folder = mkdtempSync(join(tmpdir(), "modelgate-provider-files-"));
const file = join(folder, "acme.json");
const row: ProviderRow = {
  name: "acme",
  isEnabled: true,
  priority: undefined,
  weight: undefined,
  usesStoredKeys: false,
  isRemoved: false,
  manifest: manifestOf(3),
  earlierManifests: [fileHash(manifestOf(1)), fileHash(manifestOf(2))],
};
const sync = (changed: Partial<ProviderRow> = {}) =>
  syncProviderFiles(
    folder,
    [{ ...row, ...changed }],
    createLog("silent", () => undefined),
  );
const read = () => (existsSync(file) ? readFileSync(file, "utf8") : undefined);

beforeEach(() => {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("the file of a provider that was added here", () => {
  test.each([fileOf(1), fileOf(2), fileOf(3), undefined])("becomes its latest manifest where it is %j", (text) => {
    if (text !== undefined) writeFileSync(file, text);
    expect(isUnchanged(folder, row)).toBe(true);
    sync();
    expect(read()).toBe(fileOf(3));
  });

  test.each([fileOf(1), fileOf(3), undefined])("is gone once it is removed, where it is %j", (text) => {
    if (text !== undefined) writeFileSync(file, text);
    sync({ isRemoved: true });
    expect(read()).toBeUndefined();
  });

  test.each([true, false])("is left alone where somebody has changed it (removed: %p)", (isRemoved) => {
    writeFileSync(file, "by hand\n");
    expect(isUnchanged(folder, row)).toBe(false);
    sync({ isRemoved });
    expect(read()).toBe("by hand\n");
  });
});
