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
/** The header that nearly every WAV file has. */
const wavHeaderBytes = 44;
/** Speech at an ordinary pace, for a file that does not say how long it is. */
const charactersPerSecond = 15;

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
  /** Speech that broke off costs the characters that were spoken until then. */
  estimate: async ({ usageMeter }) => ({ character: usageMeter.output.length }),

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
    const all = countCharacters(request.input);
    const perByte = rest === undefined ? Number.POSITIVE_INFINITY : getCharactersPerByte(request, first);
    let total = 0;
    const write = (bytes: Bytes) => {
      total += bytes.length;
      usageMeter.output.length = Math.min(all, Math.ceil(total * perByte));
      return sink.write(bytes);
    };
    try {
      sink.open();
      await write(first);
      for await (const bytes of rest === undefined ? [] : { [Symbol.asyncIterator]: () => rest }) {
        if (total + bytes.length > kernel.network.bounds.streamBytesMax)
          throw new UpstreamFault("bad_response", "The audio does not end");
        call.throwIfCancelled();
        await write(bytes);
      }
    } catch (error) {
      closeIterator(rest);
      throw error;
    }
    usageMeter.report(toMeters(request));
    usageMeter.complete = true;
    return undefined;
  },
};

/**
 * The characters that a byte of the answer speaks: by the size that the header of the file says, otherwise by the time
 * that the byte plays. Infinite when neither is known.
 */
function getCharactersPerByte(request: SpeechRequest, first: Bytes): number {
  if (first.length < wavHeaderBytes) return Number.POSITIVE_INFINITY;
  const header = new DataView(first.buffer, first.byteOffset, wavHeaderBytes);
  const [fileBytes, bytesPerSecond] = [header.getUint32(4, true) + 8, header.getUint32(28, true)];
  // Encoders that stream write a size of nothing, or the largest there is.
  if (fileBytes > wavHeaderBytes && fileBytes < 2 ** 31) return countCharacters(request.input) / fileBytes;
  return (charactersPerSecond * (request.pace ?? request.speed ?? 1)) / bytesPerSecond;
}

/** Waits for the header and checks that it begins a WAV file, while another route can still be tried. */
async function openWav({ wav }: Speech): Promise<{ first: Bytes; rest?: AsyncIterator<Bytes> }> {
  if (wav instanceof Uint8Array) return { first: checkRiff(wav) };
  const rest = withYielding(wav[Symbol.asyncIterator]());
  try {
    let first = new Uint8Array(0);
    while (first.length < wavHeaderBytes) {
      const { done, value } = await rest.next();
      if (done && first.length === 0) throw new UpstreamFault("bad_response", "The provider sent no audio");
      if (done) break;
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
