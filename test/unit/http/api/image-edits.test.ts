import { describe, expect, test } from "bun:test";
import {
  fromIterable,
  type GeneratedImages,
  type ImageEditsRequest,
  type Model,
} from "../../../../src/provider/index.ts";
import { expectError } from "../../../support/expect-error.ts";
import { chatModel, createPlugin } from "../../kernel/support.ts";
import { goodKey, httpOf } from "../support.ts";

const { contextTokens: _, outputTokensMax: __, ...plain } = chatModel;
const perToken = { usd: "1", per: 1_000_000 };
const row: Model = {
  ...plain,
  id: "paint-1",
  capability: "images",
  imageTokensMax: 1000,
  imageOutputTokensMax: { low: 100, high: 500 },
  price: {
    inputToken: perToken,
    outputToken: perToken,
    imageInputToken: { usd: "2", per: 1_000_000 },
    imageOutputToken: { usd: "4", per: 1_000_000 },
  },
};
const bytes = Uint8Array.fromBase64("iVBORw0KGgo=");
const png = `data:image/png;base64,${bytes.toBase64()}`;
const usage = { input_tokens: 50, output_tokens: 100, total_tokens: 150 };
const images = [{ data: "iVBORw0KGgo=", mediaType: "image/png" }];

function gateway(answer: unknown = { images, usage }, changes: Partial<Model> = {}, handler = "imageEdits") {
  const requests: ImageEditsRequest[] = [];
  const imageEdits = async ({ request }: { request: ImageEditsRequest }) => {
    requests.push(request);
    return answer as GeneratedImages;
  };
  const plugin = createPlugin(
    { images: async () => ({ images }), [handler]: imageEdits },
    { models: [{ ...row, ...changes }] },
  );
  return { ...httpOf([plugin]), requests };
}

const formOf = (fields: Record<string, string | File | File[]>) => {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) {
    for (const each of [value].flat()) form.append(name, each);
  }
  return form;
};
const file = (name = "a.png", type = "image/png") => new File([bytes], name, { type });
const edit = { model: "paint-1", prompt: "A hat", response_format: "b64_json" };

describe("POST /images/edits", () => {
  test("takes a form as OpenAI's clients send it, with one image or several", async () => {
    const { ask, requests } = gateway();
    for (const fields of [{ image: file() }, { "image[]": [file(), file("b.jpg", "")] }]) {
      const body = formOf({ ...edit, n: "1", quality: "low", mask: file("mask.png"), ...fields });
      const response = await ask("images/edits", {
        method: "POST",
        headers: { authorization: `Bearer ${goodKey}` },
        body,
      });
      expect(response.status).toBe(200);
      const { data } = (await response.json()) as { data: { b64_json: string }[] };
      expect(data).toEqual([{ b64_json: "iVBORw0KGgo=" }]);
    }
    expect(requests.map((request) => request.images.map(({ type }) => type))).toEqual([
      ["image/png"],
      ["image/png", "image/jpeg"],
    ]);
    expect(requests[0]).toMatchObject({ n: 1, quality: "low" });
    expect(requests[0]?.mask?.name).toBe("mask.png");
  });

  test("takes JSON with data URLs", async () => {
    const { post, requests } = gateway();
    const response = await post("images/edits", { ...edit, images: [{ image_url: png }] });
    expect(response.status).toBe(200);
    expect(await requests[0]?.images[0]?.bytes()).toEqual(bytes);
  });

  test("holds the most tokens of each image that goes in, at their own rate", async () => {
    const { post, ledger } = gateway();
    await post("images/edits", {
      ...edit,
      quality: "high",
      images: [{ image_url: png }, { image_url: png }],
      mask: { image_url: png },
    });
    const held = ledger.claims[0]?.holdNanodollars as number;
    const [input, output] = [3 * 1000 * 2000, 500 * 4000];
    expect(held).toBeGreaterThan(input + output);
    expect(held).toBeLessThan(input + output + 200 * 1000);
  });

  test("charges images that go in by the image where they have a price, for each that is made, and no mask", async () => {
    const price = { image: { usd: "20", per: 1000 }, inputImage: { usd: "2", per: 1000 } };
    const { post, ledger } = gateway({ images: [...images, ...images] }, { price });
    const body = { ...edit, n: 2, images: [{ image_url: png }, { image_url: png }, { image_url: png }] };
    expect((await post("images/edits", { ...body, mask: { image_url: png } })).status).toBe(200);
    const cost = 2 * 20_000_000 + 6 * 2_000_000;
    expect(ledger.claims[0]?.holdNanodollars).toBe(cost);
    expect(ledger.settlement).toMatchObject({ meters: { image: 2, inputImage: 6 }, costNanodollars: cost });
  });

  test("charges images that go in nothing where a row by the image has no price for them", async () => {
    const { post, ledger } = gateway({ images }, { price: { image: { usd: "20", per: 1000 } } });
    expect((await post("images/edits", { ...edit, images: [{ image_url: png }] })).status).toBe(200);
    expect(ledger.settlement).toMatchObject({ meters: { image: 1 }, costNanodollars: 20_000_000 });
  });

  test.each<[string, object, object]>([
    [
      "as the provider divides it",
      { input_tokens_details: { text_tokens: 10, image_tokens: 40 } },
      { inputToken: 10, imageInputToken: 40 },
    ],
    ["as images where the provider does not divide it", {}, { inputToken: 0, imageInputToken: 50 }],
  ])("charges what goes in %s", async (_, details, meters) => {
    const { post, ledger } = gateway({ images, usage: { ...usage, ...details } });
    await post("images/edits", { ...edit, images: [{ image_url: png }] });
    expect(ledger.settlement.meters).toEqual({ ...meters, outputToken: 0, imageOutputToken: 100 });
  });

  test("streams unfinished images before the finished one", async () => {
    async function* stream() {
      yield { index: 0, data: "AAAA", mediaType: "image/png" };
      yield { images, usage, settings: { quality: "low" } };
    }
    const { post, ledger } = gateway(fromIterable(stream()));
    const response = await post("images/edits", {
      ...edit,
      images: [{ image_url: png }],
      stream: true,
      partial_images: 1,
    });
    const events = (await response.text()).split("\n\n").filter(Boolean);
    expect(events.map((event) => /^event: (.*)$/m.exec(event)?.[1])).toEqual([
      "image_edit.partial_image",
      "image_edit.completed",
    ]);
    const [partial, completed] = events.map((event) => JSON.parse(/^data: (.*)$/m.exec(event)?.[1] as string));
    expect(partial).toMatchObject({ b64_json: "AAAA", partial_image_index: 0, output_format: "png" });
    expect(completed).toMatchObject({ b64_json: "iVBORw0KGgo=", quality: "low", usage });
    expect(ledger.settlement).toMatchObject({ outcome: "settled", usageSource: "reported" });
    expect(ledger.claims[0]?.holdNanodollars).toBeGreaterThan((500 + 100) * 4000);
  });

  test("that breaks off after an unfinished image is charged, and the stream says so", async () => {
    async function* stream() {
      yield { index: 0, data: "AAAA", mediaType: "image/png" };
    }
    const { post } = gateway(fromIterable(stream()));
    const response = await post("images/edits", {
      ...edit,
      images: [{ image_url: png }],
      stream: true,
      partial_images: 1,
    });
    expect(await response.text()).toContain('"code":"upstream_error"');
  });

  test("is refused for a model that edits no images, naming one that does", async () => {
    const { post } = gateway(undefined, { features: [] });
    const refusal = await post("images/edits", { ...edit, images: [{ image_url: png }] });
    await expectError(refusal, { status: 400, code: "model_not_found", param: "model", says: "/images/edits" });
    const without = gateway(undefined, {}, "speech");
    await expectError(await without.post("images/edits", { ...edit, images: [{ image_url: png }] }), {
      status: 400,
      param: "model",
    });
  });

  test.each([
    ["images", { images: [] }],
    ["images", { images: Array(17).fill({ image_url: png }) }],
    ["images[0].image_url", { images: [{ image_url: "data:image/gif;base64,AAAA" }] }],
    ["partial_images", { images: [{ image_url: png }], partial_images: 4 }],
    ["output_format", { images: [{ image_url: png }], output_format: "svg" }],
    ["input_fidelity", { images: [{ image_url: png }], input_fidelity: "max" }],
  ])("refuses a wrong %s", async (param, change) => {
    const { post, ledger } = gateway();
    const error = await expectError(await post("images/edits", { ...edit, ...change }), { status: 400 });
    expect(error.param).toBe(param);
    expect(ledger.claims).toEqual([]);
  });

  test.each<[string, Record<string, string | File>]>([
    ["a file that is no image", { image: new File([bytes], "a.txt", { type: "text/plain" }) }],
    ["an empty file", { image: new File([], "a.png", { type: "image/png" }) }],
    ["no image", {}],
  ])("refuses %s in a form", async (_, fields) => {
    const { ask } = gateway();
    const body = formOf({ ...edit, ...fields });
    const response = await ask("images/edits", {
      method: "POST",
      headers: { authorization: `Bearer ${goodKey}` },
      body,
    });
    await expectError(response, { status: 400 });
  });
});
