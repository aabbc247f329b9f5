import {
  GatewayError,
  type Meters,
  type Model,
  type Speech,
  type SpeechRequest,
  UpstreamFault,
} from "../../contract/index.ts";
import { tokensMax } from "../normalize/usage.ts";
import { withFailover } from "../routing/failover.ts";
import type { CapabilityHandler } from "../types.ts";
import { closeIterator, withYielding } from "./iterators.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** `RIFF`, with which every WAV file begins. */
const riff = [0x52, 0x49, 0x46, 0x46];

export const speechHandler: CapabilityHandler<"speech"> = {
  validate({ request, modelEntry: { model } }) {
    const length = countCharacters(request.input);
    if (model.inputCharactersMax !== undefined && length > model.inputCharactersMax) {
      throw invalid(
        "input",
        `input has ${length} characters, but ${model.id} takes at most ${model.inputCharactersMax}; send it in parts`,
      );
    }
    checkOneOf("voice", request.voice, model.voices, model);
    checkOneOf("target_language_code", request.target_language_code, model.languages, model);
    checkOneOf("speech_sample_rate", request.speech_sample_rate, model.sampleRates, model);
  },

  upperBound: ({ request }) => toMeters(request),
  promptTokens: ({ request }) => tokensMax(request.input),
  estimate: async ({ request }) => toMeters(request),

  async execute(kernel, call) {
    const { request, usageMeter, sink } = call;
    if (sink === undefined) throw new TypeError("There is no sink to send the audio to");
    const { first, rest } = await withFailover(kernel, call, {
      requestFor: (model) => withVoice(request, model),
      async run(plugin, pluginCall) {
        const speech = await plugin.handlers.speech?.(pluginCall);
        if (speech === undefined) throw new TypeError(`Plugin '${plugin.name}' has no speech handler`);
        return openWav(speech);
      },
    });
    call.firstByteMs = kernel.now() - call.startedMs;
    usageMeter.produced = true;
    usageMeter.report(toMeters(request));
    try {
      sink.open();
      await sink.write(first);
      let total = first.length;
      for await (const bytes of rest === undefined ? [] : { [Symbol.asyncIterator]: () => rest }) {
        total += bytes.length;
        if (total > kernel.network.bounds.streamBytesMax)
          throw new UpstreamFault("bad_response", "The audio does not end");
        call.throwIfCancelled();
        await sink.write(bytes);
      }
    } catch (error) {
      closeIterator(rest);
      throw error;
    }
    usageMeter.complete = true;
    return undefined;
  },
};

/** Waits for the first bytes and checks that they begin a WAV file, while another route can still be tried. */
async function openWav({ wav }: Speech): Promise<{ first: Bytes; rest?: AsyncIterator<Bytes> }> {
  if (wav instanceof Uint8Array) return { first: checkRiff(wav) };
  const rest = withYielding(wav[Symbol.asyncIterator]());
  try {
    let first = new Uint8Array(0);
    while (first.length < riff.length) {
      const { done, value } = await rest.next();
      if (done) throw new UpstreamFault("bad_response", "The provider sent no audio");
      first = first.length === 0 ? value : concat(first, value);
    }
    return { first: checkRiff(first), rest };
  } catch (error) {
    closeIterator(rest);
    throw error;
  }
}

function concat(a: Bytes, b: Bytes): Bytes {
  const both = new Uint8Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}

function checkRiff(bytes: Bytes): Bytes {
  if (!riff.every((byte, index) => bytes[index] === byte))
    throw new UpstreamFault("bad_response", "The provider's audio is not a WAV file");
  return bytes;
}

function withVoice(request: SpeechRequest, model: Model): SpeechRequest {
  if (request.voice || model.voiceDefault === undefined) return request;
  return { ...request, voice: model.voiceDefault };
}

/** Characters as they are billed: Unicode code points. */
function countCharacters(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

function toMeters(request: SpeechRequest): Meters {
  return { character: countCharacters(request.input) };
}

function checkOneOf<T>(
  param: string,
  value: T | null | undefined,
  allowed: readonly T[] | undefined,
  model: Model,
): void {
  if (value === undefined || value === null || allowed === undefined || allowed.includes(value)) return;
  throw invalid(param, `${param} is '${value}', but ${model.id} takes: ${allowed.join(", ")}`);
}

function invalid(param: string, sentence: string): GatewayError {
  return new GatewayError("invalid_request", sentence, { param });
}
