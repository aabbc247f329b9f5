import { describe, expect, test } from "bun:test";
import { expectError } from "../../support/expect-error.ts";
import { faultsOf, schemaMissing } from "../../support/openai-schema.ts";
import { useSandboxGateway } from "../../support/sandbox-gateway.ts";

interface WireImages {
  created: number;
  data: { url?: string; b64_json?: string; revised_prompt?: string }[];
}

const shared = useSandboxGateway();
const ask = (fields: Record<string, unknown>) =>
  shared.gateway.post("/images/generations", { model: "famB-3-pro-image-preview", prompt: "A red kite", ...fields });

const pngMagic = "89504e470d0a1a0a";
const magicOf = (bytes: Uint8Array) => Buffer.from(bytes.subarray(0, 8)).toString("hex");

describe("POST /images/generations", () => {
  const taken: [string, Record<string, unknown>, number][] = [
    ["a prompt alone", {}, 1],
    ["n 1", { n: 1 }, 1],
    ["n 10", { n: 10 }, 10],
    ["size 512x512", { size: "512x512" }, 1],
    ["size 1024x1024", { size: "1024x1024" }, 1],
    ["a size that the specification does not list", { size: "1536x864" }, 1],
    ["quality standard", { quality: "standard" }, 1],
    ["quality hd", { quality: "hd" }, 1],
  ];

  test.each(taken)("takes %s and charges each image with the markup", async (_, fields, count) => {
    const response = await ask(fields);
    const answer = (await response.json()) as WireImages;
    expect({ status: response.status, images: answer.data?.length }).toEqual({ status: 200, images: count });
    expect(Math.abs(answer.created - Date.now() / 1000)).toBeLessThan(60);
    for (const image of answer.data) expect(image.revised_prompt).toContain("A red kite");
    if (schemaMissing === undefined) expect(faultsOf("ImagesResponse", answer)).toEqual([]);
    // $0.04 and 15 %: 46 000 000 nanodollars an image.
    expect(shared.ledger.callOf(response)).toMatchObject({ images: count, cost_nanodollars: 46_000_000 * count });
  });

  test("an address is the default; it serves the image without a key, and not with another signature", async () => {
    const { data } = (await (await ask({})).json()) as WireImages;
    const url = data[0]?.url as string;
    const image = await fetch(url);
    expect([image.status, image.headers.get("content-type")]).toEqual([200, "image/png"]);
    expect(magicOf(new Uint8Array(await image.arrayBuffer()))).toBe(pngMagic);
    await expectError(await fetch(`${url}x`), { status: 404 });
    await expectError(await fetch(url.replace(/expires=\d+/, "expires=9999999999")), { status: 404 });
  });

  test("b64_json carries the image itself", async () => {
    const { data } = (await (await ask({ response_format: "b64_json" })).json()) as WireImages;
    expect(data[0]?.url).toBeUndefined();
    expect(magicOf(Buffer.from(data[0]?.b64_json as string, "base64"))).toBe(pngMagic);
  });

  const refused: [string, Record<string, unknown>, string][] = [
    ["no prompt", { prompt: undefined }, "prompt"],
    ["an empty prompt", { prompt: "" }, "prompt"],
    ["n 0", { n: 0 }, "n"],
    ["n 11", { n: 11 }, "n"],
    ["n 1.5", { n: 1.5 }, "n"],
    ["a size that is none", { size: "big" }, "size"],
    ["quality ultra", { quality: "ultra" }, "quality"],
    ["response_format png", { response_format: "png" }, "response_format"],
    ["no model", { model: undefined }, "model"],
  ];

  test.each(refused)("refuses %s, naming the field", async (_, fields, param) => {
    const before = shared.ledger.counts();
    await expectError(await ask(fields), { status: 400, param });
    expect(shared.ledger.counts()).toEqual(before);
  });
});
