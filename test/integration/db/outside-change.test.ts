import { expect, test } from "bun:test";
import { temporaryFile, temporaryStore } from "./temporary-store.ts";

test("outsideChange tells of another connection's commit once, and counts up the revision", async () => {
  const file = temporaryFile();
  const [mine, other] = [await temporaryStore(file), await temporaryStore(file)];
  mine.pollExternalChange();
  const before = mine.revision;
  await other.setting("a", () => "b");
  expect(mine.pollExternalChange()).toBe(true);
  expect(mine.pollExternalChange()).toBe(false);
  expect(mine.revision).toBe(before + 1);
});

test("outsideChange is silent about writes of its own; touch speaks for those that others keep copies of", async () => {
  const store = await temporaryStore();
  store.pollExternalChange();
  const before = store.revision;
  await store.setting("a", () => "b");
  expect(store.pollExternalChange()).toBe(false);
  expect(store.revision).toBe(before);
  store.bumpRevision();
  expect(store.revision).toBe(before + 1);
});
