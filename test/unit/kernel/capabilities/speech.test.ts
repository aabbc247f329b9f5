import { describe, expect, test } from "bun:test";
import { UpstreamError } from "../../../../src/contract/index.ts";
import { splitText } from "../../../../src/kernel/capabilities/speech.ts";
import { readWav, writeWav } from "../../../../src/lib/wav.ts";
import type { Model, Speech, SpeechRequest } from "../../../../src/provider/index.ts";
import { fetchOf, refused, settled, silence } from "../fake-fetch.ts";
import { FakeStream, Sink } from "../streams.ts";
import { callOf, chatModel, createBench, createPlugin, rejectionOf, runCall } from "../support.ts";

const { contextTokens: _, outputTokensMax: __, ...plain } = chatModel;
const row: Model = {
  ...plain,
  id: "speak-1",
  capability: "speech",
  price: { character: { usd: "22", per: 1_000_000 } },
  inputCharactersMax: 10,
  audioFormats: ["mp3"],
  voices: ["tara", "leo"],
  voiceDefault: "tara",
  languages: ["hi-IN"],
  sampleRates: [8000, 22_050],
};
type Bytes = Uint8Array<ArrayBuffer>;
const bytes = (text: string): Bytes => new TextEncoder().encode(text);

/** The beginning of a WAV file of 16-bit samples at 16 kHz; 0 samples: of unknown size. */
function wavBytes(sampleBytes: number): Bytes {
  const wav = writeWav({ pcm: new Uint8Array(sampleBytes), sampleRate: 16_000, channels: 1, bitsPerSample: 16 });
  if (sampleBytes === 0) new DataView(wav.buffer).setUint32(4, 0xffffffff, true);
  return wav;
}

function ask(request: Partial<SpeechRequest> = {}, audio: unknown = bytes("RIFF...."), changes: Partial<Model> = {}) {
  const asked: SpeechRequest[] = [];
  const plugin = createPlugin(
    {
      async speech(call) {
        asked.push(call.request);
        return { audio } as Speech;
      },
    },
    { models: [{ ...row, ...changes }] },
  );
  const bench = createBench([plugin]);
  const sink = new Sink<Bytes>();
  const call = callOf("speech", { model: "speak-1", input: "नमस्ते", ...request }, { sink });
  const text = () => Buffer.concat(sink.pieces).toString();
  return { ...bench, asked, sink, text, call, done: runCall(bench.kernel, call) };
}

describe("speech", () => {
  test("costs its characters, as people count them", async () => {
    const { done, ledger, text } = ask({ input: "😀é" });
    await done;
    expect(text()).toBe("RIFF....");
    expect(ledger.settlement).toMatchObject({
      meters: { character: 2 },
      costNanodollars: 44_000,
      usageSource: "reported",
    });
    expect(ledger.claims[0]?.holdNanodollars).toBe(44_000);
  });

  test.each([
    ["whole", ["RIFF....", "data"]],
    ["in single bytes", [..."RIFF....data"]],
    ["after an empty piece", ["", "RIFF....data"]],
  ])("is streamed as it comes: %s", async (_, pieces) => {
    const { done, text } = ask({}, new FakeStream<Bytes>(...pieces.map(bytes)));
    await done;
    expect(text()).toBe("RIFF....data");
  });

  test.each([
    ["no WAV file", bytes("ID3 mp3")],
    ["an empty file", bytes("")],
    ["an empty stream", new FakeStream<Bytes>()],
    ["a stream of something else", new FakeStream<Bytes>(bytes("<html>"))],
    ["a stream that breaks at once", new FakeStream<Bytes>(new UpstreamError("bad_response", "The line is dead"))],
  ])("that is %s fails before anything is sent, and is free", async (_, wav) => {
    const { done, ledger, sink } = ask({}, wav);
    expect((await rejectionOf(done)).code).toBe("upstream_error");
    expect(sink.opened).toBe(0);
    expect(ledger.settlement.outcome).toBe("released");
  });

  const broken = new UpstreamError("bad_response", "Dead");
  const second = new Uint8Array(32_000);
  const sized = wavBytes(10 * 32_000);
  const streamed = wavBytes(0);

  test.each<[string, Partial<SpeechRequest>, (Bytes | Error)[], number]>([
    ["a tenth of a file that says its size", { input: "0123456789" }, [sized.slice(0, 44), second, broken], 2],
    ["all of it", { input: "0123456789" }, [sized, broken], 10],
    [
      "a fifth of a second of a file that does not",
      { input: "0123456789" },
      [streamed, second.slice(0, 6400), broken],
      4,
    ],
    ["as much at double speed", { input: "0123456789", speed: 2 }, [streamed, second.slice(0, 6400), broken], 7],
    ["more than the text can take", { input: "0123456789" }, [streamed, second, second, broken], 10],
    ["a head of an unknown kind", { input: "0123456789" }, [bytes("RIFF".padEnd(44, "\0")), broken], 10],
  ])("that breaks after %s is charged for what came out", async (...[, request, pieces, character]) => {
    const { done, ledger } = ask(request, new FakeStream<Bytes>(...pieces));
    await rejectionOf(done);
    const settled = { outcome: "settled", usageSource: "estimated", status: 500 } as const;
    expect(ledger.settlement).toMatchObject({ ...settled, meters: { character } });
  });

  test("that breaks in its head is free, and another route can still be tried", async () => {
    const { done, ledger, sink } = ask({}, new FakeStream<Bytes>(bytes("RIFF"), broken));
    await rejectionOf(done);
    expect([sink.opened, ledger.settlement.outcome]).toEqual([0, "released"]);
  });

  test("whose client leaves is charged, and the provider's stream is let go", async () => {
    const source = new FakeStream<Bytes>(wavBytes(100), bytes("more"), bytes("most"));
    const { done, ledger, sink, call } = ask({}, source);
    sink.reader = () => {
      call.cancel("client_disconnected");
      return undefined;
    };
    await rejectionOf(done);
    expect([sink.pieces.length, source.returned > 0]).toEqual([1, true]);
    expect(ledger.settlement).toMatchObject({ outcome: "settled", status: 499 });
  });

  test("has the model's own voice unless another is wanted", async () => {
    const cases: [Partial<SpeechRequest>, string][] = [
      [{}, "tara"],
      [{ voice: null }, "tara"],
      [{ voice: "leo" }, "leo"],
    ];
    for (const [request, spoken] of cases) {
      const { done, asked } = ask(request);
      await done;
      expect(asked[0]?.voice).toBe(spoken);
    }
  });

  test.each<[string, Partial<SpeechRequest>, string | undefined]>([
    ["of as many characters as taken", { input: "😀".repeat(10) }, undefined],
    ["of more than fifty parts take", { input: "a".repeat(501) }, "input"],
    ["of one more in a format that cannot be joined", { input: "a".repeat(11), response_format: "mp3" }, "input"],
    ["in a format it does not make", { response_format: "flac" }, undefined],
    ["in a format it does", { response_format: "wav" }, undefined],
    ["in a voice there is", { voice: "leo" }, undefined],
    ["in a voice there is not", { voice: "Leo" }, "voice"],
    ["in a language it takes", { target_language_code: "hi-IN" }, undefined],
    ["in another", { target_language_code: "en-US" }, "target_language_code"],
    ["at a rate it makes", { speech_sample_rate: 22_050 }, undefined],
    ["at another", { speech_sample_rate: 16_000 }, "speech_sample_rate"],
    ["of nothing special", { voice: null, target_language_code: null, speech_sample_rate: null }, undefined],
  ])("%s: refused for %p", async (...[, request, param]) => {
    const { done, ledger } = ask(request);
    if (param === undefined) await done;
    else {
      const error = await rejectionOf(done);
      expect(error).toMatchObject({ status: 400, param });
      expect(error.message).toMatch(/takes/);
    }
    expect(ledger.claims).toHaveLength(param === undefined ? 1 : 0);
  });

  test("takes any voice of a model whose voices are not known", async () => {
    const { voices: ___, voiceDefault: ____, ...bare } = row;
    const bench = createBench([createPlugin({ speech: async () => ({ audio: bytes("RIFF") }) }, { models: [bare] })]);
    const call = callOf("speech", { model: "speak-1", input: "a", voice: "any" }, { sink: new Sink() });
    await runCall(bench.kernel, call);
  });

  test.each([
    ["alloy", "tara", ["voice"]],
    ["leo", "leo", []],
  ])("in OpenAI's voice %s is spoken in %s, and the caller is told", async (voice, spoken, ignored) => {
    const { done, asked, call } = ask({ voice });
    await done;
    expect([asked[0]?.voice, [...(call.run?.ignored ?? [])]]).toEqual([spoken, ignored]);
  });

  test("keeps OpenAI's voice for a model that has it, or whose voices are not known", async () => {
    for (const voices of [["alloy", "tara"], undefined]) {
      const { done, asked, call } = ask({ voice: "alloy" }, undefined, { voices } as Partial<Model>);
      await done;
      expect([asked[0]?.voice, call.run?.ignored.size]).toEqual(["alloy", 0]);
    }
  });
});

describe("the formats of speech", () => {
  test("mp3 goes through as the provider makes it", async () => {
    const { done, asked, text } = ask({ response_format: "mp3" }, new FakeStream<Bytes>(bytes("ID3"), bytes(" mp3")));
    await done;
    expect([asked[0]?.response_format, text()]).toEqual(["mp3", "ID3 mp3"]);
  });

  test("a WAV file in its place is not an answer", async () => {
    const { done, ledger } = ask({ response_format: "mp3" }, bytes("RIFF...."));
    expect((await rejectionOf(done)).code).toBe("upstream_error");
    expect(ledger.settlement.outcome).toBe("released");
  });

  const samples = Buffer.from("the samples!");
  const wav = writeWav({ pcm: new Uint8Array(samples), sampleRate: 16_000, channels: 1, bitsPerSample: 16 });
  const extended = new Uint8Array([...wav.slice(0, 36), ...bytes("LIST"), 2, 0, 0, 0, 1, 2, ...wav.slice(36)]);
  const unknown = wav.slice();
  for (const at of [4, 40]) new DataView(unknown.buffer).setUint32(at, 0xffffffff, true);

  test.each<[string, Bytes]>([
    ["of a known size", wav],
    ["of an unknown size", unknown],
    ["with a chunk before its samples", extended],
    ["with a chunk behind them", new Uint8Array([...wav, ...bytes("LIST")])],
  ])("pcm is cut out of a WAV file %s", async (_, file) => {
    for (const size of [1, 7, 1000]) {
      const pieces = Array.from({ length: Math.ceil(file.length / size) }, (_, i) =>
        file.slice(i * size, (i + 1) * size),
      );
      const { done, asked, text, ledger } = ask({ response_format: "pcm" }, new FakeStream<Bytes>(...pieces));
      await done;
      expect([asked[0]?.response_format, text()]).toEqual(["wav", "the samples!"]);
      expect(ledger.settlement.meters).toEqual({ character: 6 });
    }
  });

  test("pcm of a file without samples fails before anything is sent, and is free", async () => {
    const { done, ledger, sink } = ask(
      { response_format: "pcm" },
      new FakeStream<Bytes>(wav.slice(0, 36), wav.slice(0, 8)),
    );
    expect((await rejectionOf(done)).code).toBe("upstream_error");
    expect([sink.opened, ledger.settlement.outcome]).toEqual([0, "released"]);
  });
});

describe("a text that is too long for the model", () => {
  const input = "One two. Three four! Five";

  /** Speaks each part as its own bytes, in a stream; then fails if it is told to. */
  function askParts(request: Partial<SpeechRequest> = {}, { failAt = -1, rateAt = -1 } = {}) {
    const asked: SpeechRequest[] = [];
    const speech = async ({ request }: { request: SpeechRequest }) => {
      const index = asked.push(request) - 1;
      if (index === failAt) throw new UpstreamError("overloaded", "Busy");
      const pcm = new Uint8Array(Buffer.from(request.input.padEnd(12)));
      const wav = writeWav({ pcm, sampleRate: index === rateAt ? 8000 : 16_000, channels: 1, bitsPerSample: 16 });
      return { audio: new FakeStream<Bytes>(wav.slice(0, 44), wav.slice(44)) } as unknown as Speech;
    };
    const bench = createBench([createPlugin({ speech }, { models: [{ ...row, inputCharactersMax: 11 }] })]);
    const sink = new Sink<Bytes>();
    const call = callOf("speech", { model: "speak-1", input, ...request }, { sink });
    return { ...bench, asked, sink, bytes: () => Buffer.concat(sink.pieces), done: runCall(bench.kernel, call) };
  }

  test("is spoken in parts that make one file, and costs its characters", async () => {
    const { done, asked, bytes, ledger } = askParts();
    await done;
    expect(asked.map((request) => request.input)).toEqual(splitText(input, 11));
    const file = readWav(new Uint8Array(bytes()));
    expect([file.sampleRate, Buffer.from(file.pcm).toString()]).toEqual([
      16_000,
      asked.map((request) => request.input.padEnd(12)).join(""),
    ]);
    expect(ledger.settlement).toMatchObject({ meters: { character: input.length }, usageSource: "reported" });
    expect(ledger.claims[0]?.holdNanodollars).toBe(input.length * 22_000);
  });

  test("is joined as pcm too", async () => {
    const { done, asked, bytes } = askParts({ response_format: "pcm" });
    await done;
    expect(bytes().toString()).toBe(asked.map((request) => request.input.padEnd(12)).join(""));
  });

  test.each([
    ["fails", { failAt: 1 }],
    ["has another sample rate", { rateAt: 1 }],
  ])("is charged as far as it was spoken where the second part %s", async (_, fault) => {
    const { done, ledger } = askParts({}, fault);
    await rejectionOf(done);
    const [first] = splitText(input, 11) as [string];
    expect(ledger.settlement).toMatchObject({ outcome: "settled", meters: { character: first.length } });
  });
});

describe("speech that is cut before its sound", () => {
  const said = Response.json({ wav: Buffer.from(wavBytes(3200)).toString("base64") });
  const plugin = createPlugin(
    {
      async speech({ upstream, request }) {
        const { wav } = await upstream.json<{ wav: string }>("/speech", { input: request.input });
        return { audio: new Uint8Array(Buffer.from(wav, "base64")) };
      },
    },
    { models: [row] },
  );

  const speak = (input: string, ...answers: Parameters<typeof fetchOf>) => speakBy(plugin, input, ...answers);

  function speakBy(by: typeof plugin, input: string, ...answers: Parameters<typeof fetchOf>) {
    const fetch = fetchOf(...answers);
    const bench = createBench([by], { fetch, bounds: { firstByteMsMax: 1000 } });
    const call = callOf("speech", { model: "speak-1", input }, { sink: new Sink<Bytes>() });
    const done = rejectionOf(runCall(bench.kernel, call));
    const untilAsked = async (count: number) => {
      while (fetch.asked.length < count) await settled();
    };
    return { ...bench, call, done, untilAsked };
  }

  test.each([
    ["its client", "client_disconnected"],
    ["the gateway", "draining"],
  ] as const)("by %s costs its characters, because the provider speaks them", async (_, reason) => {
    const { call, done, ledger, untilAsked } = speak("0123456", silence);
    await untilAsked(1);
    call.cancel(reason);
    await done;
    expect(ledger.settlement).toMatchObject({ outcome: "settled", meters: { character: 7 } });
  });

  test("by a provider's silence costs its characters", async () => {
    const { clock, done, ledger, untilAsked } = speak("0123456", silence);
    await untilAsked(1);
    clock.pass(1000);
    await done;
    expect(ledger.settlement).toMatchObject({ outcome: "settled", meters: { character: 7 } });
  });

  test("in its second part costs both parts, and not the third", async () => {
    const { call, done, ledger, untilAsked } = speak("One two. Three. Four five.", said, silence);
    await untilAsked(2);
    call.cancel("client_disconnected");
    await done;
    const [first = "", second = ""] = splitText("One two. Three. Four five.", 10);
    expect(ledger.settlement.meters).toEqual({ character: first.length + second.length });
  });

  test("costs by the time where tokens are sold, at most what is held", async () => {
    const rates = { usd: "1", per: 1_000_000 };
    const price = { inputToken: rates, audioOutputToken: rates };
    const byToken = { ...plugin, models: [{ ...row, price, outputTokensMax: 250 }] };
    for (const [ms, audioOutputToken] of [
      [900, 90],
      [9000, 250],
    ] as const) {
      const { call, clock, done, ledger, untilAsked } = speakBy(byToken, "0123456", silence);
      await untilAsked(1);
      clock.nowMs += ms;
      call.cancel("client_disconnected");
      await done;
      expect(ledger.settlement).toMatchObject({ outcome: "settled", meters: { audioOutputToken } });
    }
  });

  test("by its provider's refusal costs nothing", async () => {
    const { done, ledger } = speak("0123456", refused(400));
    await done;
    expect(ledger.settlement).toMatchObject({ outcome: "released", meters: {} });
  });
});
