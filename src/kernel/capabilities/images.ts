import { Value } from "@sinclair/typebox/value";
import {
  type Call,
  type GeneratedImages,
  type ImagesRequest,
  ImagesUsage,
  type ProviderPlugin,
  UpstreamFault,
} from "../../contract/index.ts";
import { tokensMax } from "../normalize/usage.ts";
import { withFailover } from "../routing/failover.ts";
import type { CapabilityHandler } from "../types.ts";

export const imagesHandler: CapabilityHandler<"images"> = {
  validate() {},

  upperBound: ({ request }) => ({ image: request.n ? request.n : 1 }),
  promptTokens: ({ request }) => tokensMax(request.prompt),

  /** Only a complete answer is charged, and its images are counted. */
  estimate: async ({ request }) => ({ image: request.n ? request.n : 1 }),

  async execute(kernel, call) {
    const { request, usageMeter } = call;
    const answer = await withFailover(kernel, call, { requestFor: () => request, run: generateImages });
    call.firstByteMs = kernel.now() - call.startedMs;
    usageMeter.produced = true;
    usageMeter.complete = true;
    usageMeter.report({ image: answer.images.length });
    return answer;
  },
};

/** Sends one request, or one for each image where the provider makes only one at a time. */
async function generateImages(plugin: ProviderPlugin, call: Call<ImagesRequest>): Promise<GeneratedImages> {
  const { handlers, maxChoices } = plugin;
  if (handlers.images === undefined) throw new TypeError(`Plugin '${plugin.name}' has no images handler`);
  const wanted = call.request.n ? call.request.n : 1;
  if (maxChoices.images === undefined || wanted <= maxChoices.images)
    return checkImages(await handlers.images(call), wanted);
  const single = { ...call, request: { ...call.request, n: 1 } };
  const image = handlers.images.bind(handlers);
  const answers = await Promise.all(Array.from({ length: wanted }, () => image(single)));
  return checkImages({ images: answers.flatMap((answer) => answer.images.slice(0, 1)) }, wanted);
}

function checkImages(answer: GeneratedImages, wanted: number): GeneratedImages {
  if (!Array.isArray(answer?.images) || answer.images.length === 0) {
    throw new UpstreamFault("bad_response", "The provider's answer has no image");
  }
  const { usage } = answer;
  const images = answer.images.slice(0, wanted);
  if (!Value.Check(ImagesUsage, usage)) return { images };
  // Requests hold no pictures, so that all input is text where the provider does not divide it.
  return { images, usage: { input_tokens_details: { text_tokens: usage.input_tokens, image_tokens: 0 }, ...usage } };
}
