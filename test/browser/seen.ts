import { expect } from "bun:test";
import type { Locator } from "playwright-core";
import { until } from "../support/until.ts";

/** How long a page may take to render what it has fetched: only a hang ends there, also on a slow machine. */
const renderMsMax = 60_000;

/** Reads again until the value is the expected one, for a part of a page renders after its data came. @throws As `expect` does. */
async function seeValue<Value>(read: () => Promise<Value>, expected: Value): Promise<void> {
  let value: Value | undefined;
  const isSeen = async () => {
    value = await read();
    return Bun.deepEquals(value, expected);
  };
  await until(isSeen, renderMsMax).catch(() => expect(value as never).toEqual(expected as never));
}

/** Waits until so many elements are there. */
export function seeCount(elements: Locator, count: number): Promise<void> {
  return seeValue(() => elements.count(), count);
}

/** Waits until the elements have exactly these texts, in this order. */
export function seeTexts(elements: Locator, texts: readonly string[]): Promise<void> {
  return seeValue(
    async () => (await elements.allInnerTexts()).map((text) => text.replaceAll(/\s+/g, " ").trim()),
    [...texts],
  );
}
