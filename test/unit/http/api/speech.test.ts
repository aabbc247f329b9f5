import { describe, expect, test } from "bun:test";
import { type Speech, UpstreamFault } from "../../../../src/contract/index.ts";
import { errorOf } from "../../../support/error-of.ts";
import { expectError } from "../../../support/expect-error.ts";
import { FakeStream } from "../../kernel/streams.ts";
import { chatModel, pluginOf } from "../../kernel/support.ts";
import { httpOf } from "../support.ts";

const { contextTokens: _, outputTokensMax: __, ...plain } = chatModel;
const price = { character: { usd: "22", per: 1_000_000 } };
const row = { ...plain, id: "speak-1", capability: "speech" as const, price, voices: ["tara"] };
const bytes = (text: string) => new TextEncoder().encode(text);
const order = { model: "speak-1", input: "Hello" };

const gateway = (wav: unknown) => httpOf([pluginOf({ speech: async () => ({ wav }) as Speech }, { models: [row] })]);

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

  test("that fails before its first byte is an ordinary error answer", async () => {
    const { post } = gateway(new FakeStream(new UpstreamFault("overloaded", "Busy")));
    await expectError(await post("audio/speech", order), { status: 500, code: "upstream_error" });
  });

  test("that breaks later breaks the answer off: no file is handed out as if it were whole", async () => {
    const { post, ledger } = gateway(new FakeStream(bytes("RIFF"), new UpstreamFault("bad_response", "Dead")));
    const response = await post("audio/speech", order);
    expect(await errorOf(response.bytes())).toBeInstanceOf(Error);
    expect(ledger.settlement).toMatchObject({ outcome: "settled", status: 500 });
  });

  test.each([
    ["voice", { voice: "nobody" }, "voice is 'nobody', but speak-1 takes: tara"],
    ["input", { input: "" }, "input is"],
    ["input", { input: undefined }, "input is missing"],
    ["response_format", { response_format: "mp3" }, '"wav" was expected'],
    ["pace", { pace: 9 }, "0.3 to 3"],
    ["target_language_code", { target_language_code: "hindi" }, "target_language_code is"],
  ])("refuses a wrong %s", async (param, change, says) => {
    const { post, ledger } = gateway(bytes("RIFF"));
    await expectError(await post("audio/speech", { ...order, ...change }), { status: 400, param, says });
    expect(ledger.claims).toEqual([]);
  });
});
