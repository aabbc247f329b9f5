import { afterEach, describe, expect, test } from "bun:test";
import OpenAI from "openai";
import { type NativeBench, startNative } from "./fixture.ts";

const toStop: NativeBench[] = [];
afterEach(async () => {
  for (const bench of toStop.splice(0)) await bench.stop();
});

const drawn = { background: "opaque", output_format: "webp", quality: "high", size: "1024x1024" };
const usage = { input_tokens: 10, output_tokens: 200, total_tokens: 210 };
const png = "iVBORw0KGgo=";

async function start() {
  const bench = await startNative(() => Response.json({ created: 1, data: [{ b64_json: png }], usage, ...drawn }));
  toStop.push(bench);
  const { baseUrl, key } = bench.gateway;
  return { ...bench, client: new OpenAI({ baseURL: baseUrl, apiKey: key, maxRetries: 0 }) };
}

describe("a picture of a gpt-image model", () => {
  test.each(["gpt-image-2", "gpt-image-1-mini"])(
    "comes as base64 of %s unless an address is asked for",
    async (model) => {
      const { client } = await start();
      expect((await client.images.generate({ model, prompt: "A cat" })).data).toEqual([{ b64_json: png }]);
      const asked = await client.images.generate({ model, prompt: "A cat", response_format: "url" });
      expect(asked.data).toEqual([{ url: expect.stringContaining("/files/") }]);
    },
  );

  test("comes in one event where unfinished ones were asked for and the provider answers whole, for one request", async () => {
    const { ask, seen } = await start();
    const body = { model: "gpt-image-2", prompt: "A cat", stream: true, partial_images: 2 };
    const response = await ask("/images/generations", body);
    expect([response.status, await response.text()]).toEqual([
      200,
      expect.stringContaining("image_generation.completed"),
    ]);
    expect(seen.map(({ body: { partial_images: partials } }) => partials)).toEqual([2]);
  });

  test("says with what it was drawn", async () => {
    const { client } = await start();
    expect(await client.images.generate({ model: "gpt-image-2", prompt: "A cat" })).toMatchObject(drawn);
  });

  test.each(["xhigh", "max"])(
    "of quality %s is asked for as high, whose tokens are known, and the header says so",
    async (quality) => {
      const { ask, seen } = await start();
      const response = await ask("/images/generations", { model: "gpt-image-2", prompt: "A cat", quality });
      expect([response.status, seen[0]?.body.quality]).toEqual([200, "high"]);
      expect(response.headers.get("x-modelgate-ignored")).toBe("quality");
    },
  );
});
