import type { Call, ChatRequest, ImagesRequest, ModelOptions } from "../../../contract/index.ts";
import type { PluginDefinition } from "../../define-plugin.ts";
import { LruMap } from "../../lru-map.ts";
import { placeholderImages as fetched, fetchImages, precheckMultimodal } from "../../multimodal.ts";
import { withFunctionsAsTools } from "../../tools.ts";
import type { DialectParts } from "../anthropic/index.ts";
import { fromCandidates, fromEvents, readAnswerUsage } from "./answer.ts";
import { embeddings } from "./embeddings.ts";
import { fromImageAnswer, toImageBody } from "./images.ts";
import { speech } from "./speech.ts";
import { toContents } from "./to-contents.ts";
import { randomCallId, type Signatures } from "./tools.ts";
import { transcription } from "./transcription.ts";

/** What the `options` of a row of this dialect may have. */
const modelOptions: ModelOptions = {
  thinking: ["level", "budget"],
  levels: "texts",
  budgetMin: "number",
  budgetMax: "number",
  canDisable: "boolean",
  imageSizes: "texts",
};

/**
 * For providers that speak Google's `generateContent`, with paths below `/models/MODEL`.
 *
 * @example
 * gemini().maxChoices; // => { chat: 8, images: 1 }
 */
export function gemini(): DialectParts {
  const signatures: Signatures = new LruMap(10_000);
  return {
    handlers: {
      chat: Object.assign(withFunctionsAsTools(createChat(signatures)), { omits: () => [] }),
      countChatTokens: createCount(signatures),
      embeddings,
      images,
      speech,
      transcription,
    },
    checks: { chat: precheckMultimodal((request, asked) => toContents(request, { ...asked, signatures, fetched })) },
    maxChoices: { chat: 8, images: 1 }, // The bound of `candidateCount`, and a picture a request.
    modelOptions,
    readUsage: readAnswerUsage as NonNullable<PluginDefinition["readUsage"]>,
  };
}

function createChat(signatures: Signatures) {
  return async ({ request, model, upstream, warn }: Call<ChatRequest>) => {
    const pictures = await fetchImages(request.messages, upstream);
    const body = toContents(request, { model, signatures, fetched: pictures, warn });
    const reading = { firstOnly: request.parallel_tool_calls === false, signatures, newId: randomCallId };
    const path = `/models/${model.upstreamId}`;
    if (request.stream === true)
      return fromEvents(await upstream.events(`${path}:streamGenerateContent?alt=sse`, body), reading);
    return fromCandidates(await upstream.json(`${path}:generateContent`, body), reading);
  };
}

/** https://ai.google.dev/api/tokens#method:-models.counttokens */
function createCount(signatures: Signatures) {
  return async ({ request, model, upstream }: Call<ChatRequest>): Promise<number> => {
    const warn = () => undefined;
    const pictures = await fetchImages(request.messages, upstream);
    const { serviceTier: _, ...body } = toContents(request, { model, signatures, fetched: pictures, warn });
    const path = `/models/${model.upstreamId}:countTokens`;
    const counted = { generateContentRequest: { model: `models/${model.upstreamId}`, ...body } };
    return (await upstream.json<{ totalTokens: number }>(path, counted)).totalTokens;
  };
}

async function images({ request, model, upstream, warn }: Call<ImagesRequest>) {
  const path = `/models/${model.upstreamId}:generateContent`;
  return fromImageAnswer(await upstream.json(path, toImageBody(request, model, warn)));
}
