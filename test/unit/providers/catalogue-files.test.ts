import { describe, expect, test } from "bun:test";
import { getTerms, setRow, setTerms } from "../../../src/providers/index.ts";

describe("the files with another row", () => {
  const at = { plugin: "acme", id: "m" };
  const row = { id: "m", priority: 1 };

  test("have it where it was, in a file of any name and form", () => {
    const files = { mine: { plugin: "acme", models: [{ id: "a" }, { id: "m" }, { id: "b" }] }, other: [{ id: "m" }] };
    expect(setRow(files, at, row)).toEqual({
      mine: { plugin: "acme", models: [{ id: "a" }, row, { id: "b" }] },
      other: [{ id: "m" }],
    });
    expect(setRow({ acme: [{ id: "m" }, { id: "m" }] }, at, row)).toEqual({ acme: [row] });
  });

  test("have it in the plugin's file, which is made when there is none", () => {
    expect(setRow({}, at, row)).toEqual({ acme: { models: [row] } });
    expect(setRow({ acme: [{ id: "a" }] }, at, row)).toEqual({ acme: [{ id: "a" }, row] });
    const unlisted = { premium: false };
    expect(setRow({ acme: { unlisted } }, at, row)).toEqual({ acme: { unlisted, models: [row] } });
    const foreign = { acme: { plugin: "other", models: [] } };
    expect(setRow(foreign, at, row)).toEqual({ ...foreign, "acme-rows": { plugin: "acme", models: [row] } });
  });

  test("lose a row, and the file with it when nothing else is in it", () => {
    expect(setRow({ acme: [row], other: [{ id: "o" }] }, at, undefined)).toEqual({ other: [{ id: "o" }] });
    const unlisted = { premium: false };
    expect(setRow({ acme: { unlisted, models: [row] } }, at, undefined)).toEqual({ acme: { unlisted, models: [] } });
    expect(setRow({}, at, undefined)).toEqual({});
  });
});

describe("files that a person wrote", () => {
  test("of any form are left alone, whatever is set beside them", () => {
    const odd = { a: null, b: 5, c: { models: 7 }, d: [null, "text"], virtual: { models: [{ id: "m" }] } };
    const row = { id: "m" };
    expect(setRow(odd, { plugin: "acme", id: "m" }, row)).toEqual({ ...odd, acme: { models: [row] } });
    expect(setTerms(odd, "acme", null)).toEqual({ ...odd, acme: { unlisted: null } });
    expect(getTerms(odd, "a")).toBeUndefined();
  });
});

test("a new file takes the place of none that is there, whosever it is", () => {
  const files = {
    acme: { plugin: "other", models: [{ id: "o" }] },
    "acme-rows": { plugin: "another", models: [{ id: "p" }] },
  };
  const made = { "acme-rows-2": { plugin: "acme", models: [{ id: "m" }] } };
  expect(setRow(files, { plugin: "acme", id: "m" }, { id: "m" })).toEqual({ ...files, ...made });
  expect(setTerms({ acme: null }, "acme", { premium: false })).toEqual({
    acme: { models: [], unlisted: { premium: false } },
  });
});

describe("the terms of unlisted models", () => {
  const rate = { usd: "0", per: 1_000_000 };
  const terms = { premium: false, price: { inputToken: rate, outputToken: rate } };

  test("stand in the plugin's file, which is made when there is none", () => {
    const files = setTerms({ other: [{ id: "o" }] }, "acme", terms);
    expect(files).toEqual({ other: [{ id: "o" }], acme: { unlisted: terms } });
    expect(getTerms(files, "acme")).toEqual(terms);
    expect(getTerms(files, "other")).toBeUndefined();
    expect(setTerms({ acme: [{ id: "a" }] }, "acme", terms)).toEqual({
      acme: { models: [{ id: "a" }], unlisted: terms },
    });
    const foreign = { acme: { plugin: "other", models: [{ id: "o" }] } };
    expect(setTerms(foreign, "acme", terms)).toEqual({ ...foreign, "acme-rows": { plugin: "acme", unlisted: terms } });
  });

  test("are taken out, and the file with them when nothing else is in it", () => {
    const virtual = { models: [{ id: "fast", models: ["a"] }] };
    expect(setTerms({ virtual, acme: { unlisted: terms } }, "acme", undefined)).toEqual({ virtual });
    const mixed = { acme: { models: [{ id: "a" }], unlisted: terms } };
    expect(setTerms(mixed, "acme", undefined)).toEqual({ acme: { models: [{ id: "a" }] } });
    expect(setTerms({}, "acme", null)).toEqual({ acme: { unlisted: null } });
    const array = { acme: [{ id: "a" }] };
    expect(setTerms(array, "acme", undefined)).toEqual(array);
  });
});
