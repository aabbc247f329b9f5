import {
  GatewayError,
  type Meters,
  type Model,
  type Speech,
  type SpeechRequest,
  UpstreamFault,
} from "../../contract/index.ts";
import { closeIterator } from "../let-go.ts";
import { tokensMax } from "../normalize/token-counts.ts";
import { attempt } from "../routing/failover.ts";
import type { CapabilityHandler } from "../trade.ts";
import { withYielding } from "./paced.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** `RIFF`, with which every WAV file begins. */
const riff = [0x52, 0x49, 0x46, 0x46];

/** Speech. Bytes go to the outlet as they come, so the reply is `undefined`. */
export const speechCapability: CapabilityHandler<SpeechRequest, undefined, Bytes> = {
  check(request, { model }) {
    const length = charactersOf(request.input);
    if (model.inputCharactersMax !== undefined && length > model.inputCharactersMax) {
      throw wrong(
        "input",
        `input has ${length} characters, but ${model.id} takes at most ${model.inputCharactersMax}; send it in parts`,
      );
    }
    checkOneOf("voice", request.voice, model.voices, model);
    checkOneOf("target_language_code", request.target_language_code, model.languages, model);
    checkOneOf("speech_sample_rate", request.speech_sample_rate, model.sampleRates, model);
  },

  worstCase: (request) => meters(request),
  promptTokens: (request) => tokensMax(request.input),
  estimate: async (request) => meters(request),

  async serve({ kernel, modelEntry, request, progress, usageMeter, sink }) {
    if (sink === undefined) throw new TypeError("There is no outlet to send the audio to");
    const { first, rest } = await attempt(kernel, modelEntry, progress, {
      requestFor: (model) => withVoice(request, model),
      async run(plugin, call) {
        const speech = await plugin.handlers.speech?.(call);
        if (speech === undefined) throw new TypeError(`Plugin '${plugin.name}' has no speech handler`);
        return openWav(speech);
      },
    });
    progress.firstByteMs = kernel.now() - progress.openedAt;
    usageMeter.produced = true;
    usageMeter.report(meters(request));
    try {
      sink.open();
      await sink.write(first);
      let total = first.length;
      for await (const bytes of rest === undefined ? [] : { [Symbol.asyncIterator]: () => rest }) {
        total += bytes.length;
        if (total > kernel.network.bounds.streamBytesMax)
          throw new UpstreamFault("bad_response", "The audio has no end");
        if (progress.cancelReason !== undefined) throw new UpstreamFault("bad_response", "The call was cut off");
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

/** Waits for the first bytes and sees that they begin a WAV file, while another route can still be tried. */
async function openWav({ wav }: Speech): Promise<{ first: Bytes; rest?: AsyncIterator<Bytes> }> {
  if (wav instanceof Uint8Array) return { first: checkedRiff(wav) };
  const rest = withYielding(wav[Symbol.asyncIterator]());
  try {
    let first = new Uint8Array(0);
    while (first.length < riff.length) {
      const { done, value } = await rest.next();
      if (done) throw new UpstreamFault("bad_response", "The provider sent no audio");
      first = first.length === 0 ? value : joined(first, value);
    }
    return { first: checkedRiff(first), rest };
  } catch (error) {
    closeIterator(rest);
    throw error;
  }
}

function joined(a: Bytes, b: Bytes): Bytes {
  const combineObservers = new Uint8Array(a.length + b.length);
  combineObservers.set(a);
  combineObservers.set(b, a.length);
  return combineObservers;
}

function checkedRiff(bytes: Bytes): Bytes {
  if (!riff.every((byte, index) => bytes[index] === byte))
    throw new UpstreamFault("bad_response", "The provider's audio is not a WAV file");
  return bytes;
}

function withVoice(request: SpeechRequest, model: Model): SpeechRequest {
  if (request.voice || model.voiceDefault === undefined) return request;
  return { ...request, voice: model.voiceDefault };
}

/** Characters as people count them for a bill: Unicode code points. */
function charactersOf(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

function meters(request: SpeechRequest): Meters {
  return { character: charactersOf(request.input) };
}

function checkOneOf<T>(
  param: string,
  value: T | null | undefined,
  allowed: readonly T[] | undefined,
  model: Model,
): void {
  if (value === undefined || value === null || allowed === undefined || allowed.includes(value)) return;
  throw wrong(param, `${param} is '${value}', but ${model.id} takes: ${allowed.join(", ")}`);
}

function wrong(param: string, sentence: string): GatewayError {
  return new GatewayError("invalid_request", sentence, { param });
}
