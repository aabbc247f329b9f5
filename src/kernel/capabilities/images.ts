import {
  type Call,
  type GeneratedImages,
  type ImagesRequest,
  type ProviderPlugin,
  UpstreamFault,
} from "../../contract/index.ts";
import { tokensMax } from "../normalize/token-counts.ts";
import { attempt } from "../routing/failover.ts";
import type { CapabilityHandler } from "../trade.ts";

export const imagesCapability: CapabilityHandler<ImagesRequest, GeneratedImages, never> = {
  check() {},

  worstCase: (request) => ({ image: request.n ? request.n : 1 }),
  promptTokens: (request) => tokensMax(request.prompt),

  /** Only a complete answer is charged, and that is counted by its images. */
  estimate: async (request) => ({ image: request.n ? request.n : 1 }),

  async serve({ kernel, modelEntry, request, progress, usageMeter }) {
    const answer = await attempt(kernel, modelEntry, progress, { requestFor: () => request, run: draw });
    progress.firstByteMs = kernel.now() - progress.openedAt;
    usageMeter.produced = true;
    usageMeter.complete = true;
    usageMeter.report({ image: answer.images.length });
    return answer;
  },
};

/** Asks once, or once for each image where the provider makes only one at a time. */
async function draw(plugin: ProviderPlugin, call: Call<ImagesRequest>): Promise<GeneratedImages> {
  const { handlers, maxChoices } = plugin;
  if (handlers.images === undefined) throw new TypeError(`Plugin '${plugin.name}' has no images handler`);
  const wanted = call.request.n ? call.request.n : 1;
  if (maxChoices.images === undefined || wanted <= maxChoices.images)
    return checked(await handlers.images(call), wanted);
  const single = { ...call, request: { ...call.request, n: 1 } };
  const image = handlers.images.bind(handlers);
  const answers = await Promise.all(Array.from({ length: wanted }, () => image(single)));
  return checked({ images: answers.flatMap((answer) => answer.images.slice(0, 1)) }, wanted);
}

function checked(answer: GeneratedImages, wanted: number): GeneratedImages {
  if (!Array.isArray(answer?.images) || answer.images.length === 0) {
    throw new UpstreamFault("bad_response", "The provider's answer holds no image");
  }
  return { images: answer.images.slice(0, wanted) };
}
