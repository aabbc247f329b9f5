import { describe, expect, test } from "bun:test";
import { UpstreamError } from "../../../../src/contract/index.ts";
import { writeWav } from "../../../../src/lib/wav.ts";
import type { Speech } from "../../../../src/provider/index.ts";
import { errorOf } from "../../../support/error-of.ts";
import { expectError } from "../../../support/expect-error.ts";
import { FakeStream } from "../../kernel/streams.ts";
import { chatModel, createPlugin } from "../../kernel/support.ts";
import { httpOf } from "../support.ts";

const { contextTokens: _, outputTokensMax: __, ...plain } = chatModel;
const price = { character: { usd: "22", per: 1_000_000 } };
const row = { ...plain, id: "speak-1", capability: "speech" as const, price, voices: ["tara"] };
const bytes = (text: string) => new TextEncoder().encode(text);
const order = { model: "speak-1", input: "Hello" };

const gateway = (audio: unknown) =>
  httpOf([createPlugin({ speech: async () => ({ audio }) as Speech }, { models: [row] })]);

describe("POST /audio/speech", () => {
  test.each([
    ["whole", bytes("RIFF....data")],
    ["piece by piece", new FakeStream(bytes("RIFF"), bytes("...."), bytes("data"))],
  ])("answers WAV made %s", async (_, wav) => {
    const { post, ledger } = gateway(wav);
    const response = await post("audio/speech", order);
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "audio/wav"]);
    expect(await response.text()).toBe("RIFF....data");
    expect(ledger.settlement).toMatchObject({ outcome: "settled", meters: { character: 5 } });
  });

  test.each([
    ["mp3", "audio/mpeg", "ID3"],
    ["opus", "audio/ogg", "OggS"],
    ["pcm", "audio/pcm", "samples!"],
  ] as const)("answers %s as %s", async (response_format, mediaType, sent) => {
    const pcm = new Uint8Array(Buffer.from("samples!"));
    const wav = writeWav({ pcm, sampleRate: 16_000, channels: 1, bitsPerSample: 16 });
    const speech = async () => ({ audio: response_format === "pcm" ? wav : bytes(sent) }) as Speech;
    const models = [{ ...row, voiceDefault: "tara", audioFormats: ["mp3" as const, "opus" as const] }];
    const { post } = httpOf([createPlugin({ speech }, { models })]);
    const response = await post("audio/speech", { ...order, voice: "alloy", response_format });
    expect([await response.text(), response.headers.get("content-type")]).toEqual([sent, mediaType]);
    expect(response.headers.get("x-modelgate-ignored")).toBe("voice");
  });

  test("comes as events where they are asked for, and the provider is not told", async () => {
    const asked: object[] = [];
    const head = bytes("RIFF".padEnd(44));
    const speech = async ({ request }: { request: object }) => {
      asked.push(request);
      return { audio: new FakeStream(head, bytes("data")) } as Speech;
    };
    const { post, ledger } = httpOf([createPlugin({ speech }, { models: [row] })]);
    const response = await post("audio/speech", { ...order, stream_format: "sse" });
    const event = (type: string, fields = {}) => `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
    const deltas = [head, bytes("data")].map((part) => {
      return event("speech.audio.delta", { audio: Buffer.from(part).toString("base64") });
    });
    expect(await response.text()).toBe(deltas.join("") + event("speech.audio.done"));
    expect(response.headers.get("content-type")).toStartWith("text/event-stream");
    expect(asked).toEqual([order]);
    expect(ledger.settlement).toMatchObject({ outcome: "settled", meters: { character: 5 } });
  });

  test("as events that break off end with an error event", async () => {
    const { post } = gateway(new FakeStream(bytes("RIFF".padEnd(44)), new UpstreamError("bad_response", "Dead")));
    const text = await (await post("audio/speech", { ...order, stream_format: "sse" })).text();
    expect(text).toContain('data: {"error":{"message":"acme failed: Dead"');
    expect(text).not.toContain("speech.audio.done");
  });

  test("that fails before its first byte is an ordinary error answer", async () => {
    const { post } = gateway(new FakeStream(new UpstreamError("overloaded", "Busy")));
    await expectError(await post("audio/speech", order), { status: 500, code: "upstream_error" });
  });

  test("that breaks later breaks the answer off: no file is handed out as if it were whole", async () => {
    const { post, ledger } = gateway(
      new FakeStream(bytes("RIFF".padEnd(44)), new UpstreamError("bad_response", "Dead")),
    );
    const response = await post("audio/speech", order);
    expect(await errorOf(response.bytes())).toBeInstanceOf(Error);
    expect(ledger.settlement).toMatchObject({ outcome: "settled", status: 500 });
  });

  test("is WAV where another format is asked for that the model does not make, and says so", async () => {
    const { post } = gateway(bytes("RIFF the sound"));
    const response = await post("audio/speech", { ...order, response_format: "mp3" });
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("audio/wav");
    expect(response.headers.get("x-modelgate-ignored")).toBe("response_format");
    expect(await response.text()).toStartWith("RIFF");
  });

  test.each([
    ["voice", { voice: "nobody" }, "voice is 'nobody', but speak-1 takes: tara"],
    ["input", { input: "" }, "input is"],
    ["input", { input: undefined }, "input is missing"],
    ["response_format", { response_format: "midi" }, "response_format is"],
    ["pace", { pace: 9 }, "0.3 to 3"],
    ["target_language_code", { target_language_code: "hindi" }, "target_language_code is"],
  ])("refuses a wrong %s", async (param, change, says) => {
    const { post, ledger } = gateway(bytes("RIFF"));
    await expectError(await post("audio/speech", { ...order, ...change }), { status: 400, param, says });
    expect(ledger.claims).toEqual([]);
  });
});
