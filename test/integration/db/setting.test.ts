import { expect, test } from "bun:test";
import { temporaryFile, temporaryStore } from "./temporary-store.ts";

test("setting makes a value once and keeps it", async () => {
  const store = await temporaryStore();
  let made = 0;
  const make = () => `secret ${++made}`;
  expect(await store.setting("signing", make)).toBe("secret 1");
  expect(await store.setting("signing", make)).toBe("secret 1");
  expect(await store.setting("another", make)).toBe("secret 2");
});

test("two processes that make a setting at once get the same value", async () => {
  const file = temporaryFile();
  const [one, other] = [await temporaryStore(file), await temporaryStore(file)];
  const values = await Promise.all([one.setting("signing", () => "one"), other.setting("signing", () => "other")]);
  expect(values[0]).toBe(values[1]);
});
