import { describe, expect, test } from "bun:test";
import { UpstreamError } from "../../../../src/contract/index.ts";
import type { GeneratedImage } from "../../../../src/provider/index.ts";
import { expectError } from "../../../support/expect-error.ts";
import { chatModel, createPlugin } from "../../kernel/support.ts";
import { httpOf } from "../support.ts";

const png = new Uint8Array([0x89, 0x50, 0x4e, 0x47]);
const base64 = "iVBORw==";
const { contextTokens: _, outputTokensMax: __, ...plain } = chatModel;
const row = { ...plain, id: "image-1", capability: "images" as const, price: { image: { usd: "0.04", per: 1 } } };
const ask = { model: "image-1", prompt: "A cat" };

function gateway(...images: GeneratedImage[]) {
  return httpOf([createPlugin({ images: async () => ({ images }) }, { models: [row] })]);
}

const asBytes: GeneratedImage = { data: png, mediaType: "image/png", revisedPrompt: "A fine cat" };
const asText: GeneratedImage = { data: base64, mediaType: "image/png" };

describe("POST /images/generations", () => {
  test.each([asBytes, asText])("hands out base64 whether the provider sent bytes or text", async (image) => {
    const { post, clock } = gateway(image);
    const response = await post("images/generations", { ...ask, response_format: "b64_json" });
    const body = await response.json();
    expect(body.created).toBe(Math.floor(clock.nowMs / 1000));
    expect(body.data).toEqual([
      { b64_json: base64, ...(image.revisedPrompt && { revised_prompt: image.revisedPrompt }) },
    ]);
    expect(response.headers.get("x-modelgate-cost-usd")).toBe("0.04");
  });

  test.each([asBytes, asText])("hands out an address under which anyone finds the picture", async (image) => {
    const { post, ask: get } = gateway(image);
    const { data } = await (await post("images/generations", ask)).json();
    const file = await get(data[0].url, { headers: { authorization: "" } });
    expect([...(await file.bytes())]).toEqual([...png]);
    expect(Object.fromEntries(file.headers)).toMatchObject({
      "content-type": "image/png",
      "content-security-policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
      "x-content-type-options": "nosniff",
      "cache-control": "private, max-age=3600",
    });
    expect(data[0].url).toStartWith("http://gateway.example/api/v1/files/");
  });

  test("hands it out in the answer where it cannot be kept: it is paid for", async () => {
    const { post, files, log } = gateway(asBytes);
    files.put = () => Promise.reject(new Error("disk full"));
    const { data } = await (await post("images/generations", ask)).json();
    expect(data).toEqual([{ b64_json: base64, revised_prompt: "A fine cat" }]);
    expect(log.lines.map(({ event }) => event)).toContain("image_store_failed");
  });

  test("answers 503 for a stored picture that cannot be read now", async () => {
    const { post, files, ask: get } = gateway(asBytes);
    const { data } = await (await post("images/generations", ask)).json();
    files.get = () => Promise.reject(new Error("PostgreSQL is not connected"));
    const file = await get(data[0].url, { headers: { authorization: "" } });
    expect(file.headers.get("retry-after")).toBe("1");
    await expectError(file, { status: 503, code: "unavailable", says: "try again" });
  });

  test("streams each as an event of base64, charged before the last byte", async () => {
    const { post, ledger } = gateway(asBytes, asText);
    const response = await post("images/generations", { ...ask, n: 2, stream: true });
    expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    const events = (await response.text()).split("\n\n").slice(0, -1);
    expect(ledger.settlement).toMatchObject({ outcome: "settled", meters: { image: 2 } });
    expect(events).toHaveLength(2);
    const [name, data] = (events[0] as string).split("\ndata: ") as [string, string];
    expect(name).toBe("event: image_generation.completed");
    expect(JSON.parse(data)).toMatchObject({
      type: "image_generation.completed",
      b64_json: base64,
      output_format: "png",
      // OpenAI's description requires them, also of a provider that says none.
      size: "auto",
      quality: "auto",
      background: "auto",
    });
  });

  test.each([true, false])("hands on the provider's usage where it is one (stream: %p)", async (stream) => {
    const usage = { input_tokens: 5, output_tokens: 1290, total_tokens: 1295 };
    for (const [reported, shown] of [
      [usage, { ...usage, input_tokens_details: { text_tokens: 5, image_tokens: 0 } }],
      [{ input_tokens: "5" }, undefined],
    ] as const) {
      const images = async () => ({ images: [asText], usage: reported });
      const { post } = httpOf([createPlugin({ images }, { models: [row] })]);
      const text = await (await post("images/generations", { ...ask, stream })).text();
      expect(JSON.parse(stream ? (text.split("data: ")[1] as string) : text).usage).toEqual(shown);
    }
  });

  test("says which fields were ignored, of those that were sent and of the route that answered", async () => {
    const warned = (name: string, ...fields: string[]) =>
      createPlugin(
        {
          async images({ warn }) {
            warn("Left out", fields);
            if (name === "a") throw new UpstreamError("overloaded", "Busy", { status: 503 });
            return { images: [asText] };
          },
        },
        { name, models: [row] },
      );
    const bad = { "x\r\nset-cookie": 1, ["y".repeat(65)]: 1, naïve: 1 };
    const plugins = [warned("a", "user"), warned("b", "style", "quality", "model", ...Object.keys(bad))];
    const { post } = httpOf(plugins, {});
    const response = await post("images/generations", { ...ask, style: "vivid", user: "me", ...bad });
    expect([response.status, response.headers.get("x-modelgate-ignored")]).toEqual([200, "style, model"]);
    const plain = await gateway(asText).post("images/generations", ask);
    expect(plain.headers.has("x-modelgate-ignored")).toBe(false);
  });

  test.each(["1x1", "16:9", "large"])("refuses the size %s in words", async (size) => {
    const says = "a string of the form WIDTHxHEIGHT in pixels";
    await expectError(await gateway().post("images/generations", { ...ask, size }), {
      status: 400,
      param: "size",
      says,
    });
  });

  test("gives addresses as the client sees the gateway behind a proxy", async () => {
    const { post } = gateway(asBytes);
    const proto = async (value: string) => {
      const { data } = await (await post("images/generations", ask, { "x-forwarded-proto": value })).json();
      return new URL(data[0].url).protocol;
    };
    expect(await proto("https")).toBe("https:");
    expect(await proto("javascript")).toBe("http:");
  });
});

describe("the address of a file", () => {
  async function address() {
    const bench = gateway(asBytes);
    const { data } = await (await bench.post("images/generations", ask)).json();
    return { ...bench, url: new URL(data[0].url) };
  }

  test("is good for an hour, and not a second longer", async () => {
    const { url, clock, ask: get } = await address();
    clock.nowMs += 3_599_000;
    expect((await get(url.href)).status).toBe(200);
    clock.nowMs += 1000;
    await expectError(await get(url.href), { status: 404, code: "not_found", says: "expired" });
  });

  test.each<[string, (url: URL) => void]>([
    ["without a signature", (url) => url.searchParams.delete("signature")],
    ["with an empty signature", (url) => url.searchParams.set("signature", "")],
    ["with another signature", (url) => url.searchParams.set("signature", "A".repeat(43))],
    ["with a later expiry", (url) => url.searchParams.set("expires", "9999999999")],
    ["without an expiry", (url) => url.searchParams.delete("expires")],
    ["with an expiry that is not a number", (url) => url.searchParams.set("expires", "NaN")],
    [
      "of another file",
      (url) => {
        url.pathname = url.pathname.replace("file-1", "file-2");
      },
    ],
  ])("%s leads nowhere", async (_, change) => {
    const { url, ask: get, post } = await address();
    await post("images/generations", ask);
    change(url);
    await expectError(await get(url.href), { status: 404, code: "not_found" });
  });

  test("that was signed with another secret leads nowhere", async () => {
    const { url, files } = await address();
    const other = httpOf([], { signingSecret: "another" }, files);
    await expectError(await other.ask(url.href), { status: 404 });
  });

  test("of a file that is gone leads nowhere", async () => {
    const { url, files, ask: get } = await address();
    files.kept.clear();
    await expectError(await get(url.href), { status: 404 });
  });
});
