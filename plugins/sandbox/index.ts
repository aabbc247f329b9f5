import { definePlugin, type Model, type ProviderPlugin } from "modelgate/plugin";
import { withFunctionsAsTools } from "../../src/protocols/tools.ts";
import { speech, transcription } from "./audio.ts";
import { chat } from "./chat.ts";
import { embeddings } from "./embeddings.ts";
import { edit, image } from "./images.ts";
import { moderation } from "./moderation.ts";
import { rerank } from "./rerank.ts";

/**
 * A simulated provider: it answers for any model without a network and without a cost, always the same for the same
 * request, and plainly simulated. A directive in the prompt, the input or a transcription's `prompt` causes a fault:
 *
 * | directive | effect |
 * |---|---|
 * | `[[fault:status=503]]` | the provider refuses with this status |
 * | `[[fault:status=429 retry-after=2]]` | it also says when to come back, in seconds |
 * | `[[fault:delay=2000]]` | nothing comes for this number of milliseconds, at most 600 000 |
 * | `[[fault:hang]]` | nothing ever comes |
 * | `[[fault:pace=50]]` | milliseconds between two chunks of a stream |
 * | `[[fault:break=3]]` | the stream is cut after this number of chunks; an answer that is not a stream is cut at once
 * |
 * | `[[fault:error=3]]` | the stream contains an error after this number of chunks |
 * | `[[fault:garbage]]` | the provider sends something that is not an answer |
 * | `[[fault:usage=missing]]` | the provider reports no usage |
 *
 * One directive may contain several faults, divided by spaces. A tool is called if `tool_choice` demands it or the
 * prompt contains its name.
 */
export function sandbox(models: readonly Model[]): ProviderPlugin {
  return definePlugin({
    name: "sandbox",
    baseUrl: "http://sandbox.invalid",
    credential: "none",
    models: withoutDuplicates(models),
    handlers: {
      chat: Object.assign(withFunctionsAsTools(chat), { omits: () => [] }),
      embeddings,
      images: image,
      imageEdits: edit,
      transcription,
      translation: transcription,
      speech,
      moderation,
      rerank,
    },
  });
}

/** One row a name: a model that several plugins serve is simulated once. The simulated voice has no encoder, and chat no other protocol. */
function withoutDuplicates(models: readonly Model[]): Model[] {
  const names = new Set<string>();
  const single = models.filter(({ id, aliases = [] }) => {
    const own = [id, ...aliases];
    if (own.some((name) => names.has(name))) return false;
    for (const name of own) names.add(name);
    return true;
  });
  return single.map(toSimulated);
}

/** Simulated rows, which are checked once, whatever is reloaded. */
const simulated = new WeakMap<Model, Model>();

function toSimulated(row: Model): Model {
  if (row.audioFormats === undefined && row.endpoint === undefined) return row;
  const { audioFormats: _, endpoint: __, ...rest } = row;
  const own = simulated.get(row) ?? rest;
  simulated.set(row, own);
  return own;
}
