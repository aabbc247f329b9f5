import { describe, expect, test } from "bun:test";
import type { Capability } from "../../../src/contract/index.ts";
import type { Model } from "../../../src/provider/index.ts";
import { modelOf, modelsOf } from "./models.ts";
import { imagePriceLine, modelsOfProse, modelTables, readCount, specMissing, type TableRow } from "./spec-tables.ts";

if (specMissing !== undefined) test.skip(`the catalogue against the specification (${specMissing})`, () => {});

/** The rows of the one table that has a column. */
function rowsWith(column: string): TableRow[] {
  return modelTables().find(({ headings }) => headings.includes(column))?.rows ?? [];
}

function byName(rows: TableRow[]): [string, TableRow][] {
  return rows.map((row) => [row.Model ?? "", row]);
}

function usd(written: string | undefined): number {
  return Number(/\$([\d.]+)/.exec(written ?? "")?.[1]);
}

function rateOf(model: Model, meter: "inputToken" | "audioMs" | "character" | "image"): { usd: number; per: number } {
  const rate = model.price?.[meter];
  return { usd: Number(rate?.usd), per: Number(rate?.per) };
}

describe.skipIf(specMissing !== undefined)("the specification's tables", () => {
  const chat = rowsWith("Context");
  const embeddings = rowsWith("Default dims");
  const transcription = rowsWith("Price per audio hour");
  const speech = rowsWith("Price per million characters");

  test("are all found", () => {
    expect([chat.length, embeddings.length, transcription.length, speech.length]).toEqual([38, 4, 3, 5]);
  });

  test.each(byName(chat))("%s has its flag and its context", (id, row) => {
    const model = modelOf(id);
    expect(model.capability).toBe("chat");
    expect({ premium: model.premium, contextTokens: model.contextTokens }).toEqual({
      premium: row.Premium === "Yes",
      contextTokens: readCount(row.Context ?? ""),
    });
  });

  test.each(byName(embeddings))("%s has its sizes, its flag and its price", (id, row) => {
    const model = modelOf(id);
    const sizes = [...(row["Custom dims"] ?? "").matchAll(/[\d,]+/g)].map(([digits]) => readCount(digits));
    const max = sizes.at(-1);
    const min = row["Custom dims"]?.startsWith("up to") ? 1 : sizes[0];
    expect(model.capability).toBe("embeddings");
    expect(model.premium).toBe(row.Premium === "Yes");
    expect(model.inputTokensMax).toBe(readCount(row["Max input"] ?? ""));
    expect(model.dimensions).toEqual({ default: readCount(row["Default dims"] ?? ""), min: min ?? 0, max: max ?? 0 });
    expect(rateOf(model, "inputToken")).toEqual({ usd: usd(row["Price per million tokens"]), per: 1_000_000 });
  });

  test.each(byName(transcription))("%s has its price for an audio hour", (id, row) => {
    expect(rateOf(modelOf(id), "audioMs")).toEqual({ usd: usd(row["Price per audio hour"]), per: 3_600_000 });
  });

  test.each(byName(speech))("%s has its price for a million characters", (id, row) => {
    expect(rateOf(modelOf(id), "character")).toEqual({ usd: usd(row["Price per million characters"]), per: 1_000_000 });
  });

  test("price an image with its markup", () => {
    const [, price, markup] = /\$([\d.]+) per image plus a (\d+)% markup/.exec(imagePriceLine()) ?? [];
    for (const model of modelsOf("images")) {
      expect(rateOf(model, "image")).toEqual({ usd: Number(price), per: 1 });
      expect(model.price?.markupPercent).toBe(Number(markup));
    }
  });

  test.each<[string, Capability]>([
    ["Image generation", "images"],
    ["Speech to text", "transcription"],
    ["Text to speech", "speech"],
  ])("list the models of %s with their flags", (opening, capability) => {
    const listed = modelsOf(capability).map(({ id, premium }) => ({ id, premium }));
    const key = ({ id }: { id: string }) => id;
    expect(listed.sort((a, b) => key(a).localeCompare(key(b)))).toEqual(
      modelsOfProse(opening).sort((a, b) => key(a).localeCompare(key(b))),
    );
  });

  test("hold no model that the catalogue adds to them", () => {
    const named = [...chat, ...embeddings].map((row) => row.Model ?? "");
    expect([...modelsOf("chat"), ...modelsOf("embeddings")].map(({ id }) => id).sort()).toEqual(named.sort());
  });
});
