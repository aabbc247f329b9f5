import type { Call, ChatRequest, ImagesRequest } from "modelgate/plugin";
import {
  definePlugin,
  placeholderImages as fetched,
  fetchImages,
  LruMap,
  precheckMultimodal,
  readModels,
  withFunctionsAsTools,
} from "modelgate/plugin";
import current from "../../catalogue/current/gemini.json" with { type: "json" };
import rows from "../../catalogue/gemini.json" with { type: "json" };
import { fromCandidates, fromEvents, readAnswerUsage } from "./answer.ts";
import { embeddings } from "./embeddings.ts";
import { fromImageAnswer, toImageBody } from "./images.ts";
import { speech } from "./speech.ts";
import { toContents } from "./to-contents.ts";
import { randomCallId, type Signatures } from "./tools.ts";
import { transcription } from "./transcription.ts";

const signatures: Signatures = new LruMap(10_000);
export default definePlugin({
  name: "gemini",
  baseUrl: "https://generativelanguage.googleapis.com/v1beta",
  authorize: (_, { key }) => ({ "x-goog-api-key": key }),
  models: readModels([...rows.models, ...current.models]),
  handlers: {
    chat: Object.assign(withFunctionsAsTools(chat), { omits: () => [] }),
    countChatTokens,
    embeddings,
    images,
    speech,
    transcription,
  },
  checks: { chat: precheckMultimodal((request, asked) => toContents(request, { ...asked, signatures, fetched })) },
  maxChoices: { chat: 8, images: 1 }, // The bound of `candidateCount`, and a picture a request.
  readUsage: readAnswerUsage,
});

async function chat({ request, model, upstream, warn }: Call<ChatRequest>) {
  const body = toContents(request, { model, signatures, fetched: await fetchImages(request.messages, upstream), warn });
  const reading = { firstOnly: request.parallel_tool_calls === false, signatures, newId: randomCallId };
  const path = `/models/${model.upstreamId}`;
  if (request.stream === true)
    return fromEvents(await upstream.events(`${path}:streamGenerateContent?alt=sse`, body), reading);
  return fromCandidates(await upstream.json(`${path}:generateContent`, body), reading);
}

/** https://ai.google.dev/api/tokens#method:-models.counttokens */
async function countChatTokens({ request, model, upstream }: Call<ChatRequest>): Promise<number> {
  const warn = () => undefined;
  const { serviceTier: _, ...body } = toContents(request, {
    model,
    signatures,
    fetched: await fetchImages(request.messages, upstream),
    warn,
  });
  const path = `/models/${model.upstreamId}:countTokens`;
  const counted = { generateContentRequest: { model: `models/${model.upstreamId}`, ...body } };
  return (await upstream.json<{ totalTokens: number }>(path, counted)).totalTokens;
}

async function images({ request, model, upstream, warn }: Call<ImagesRequest>) {
  const path = `/models/${model.upstreamId}:generateContent`;
  return fromImageAnswer(await upstream.json(path, toImageBody(request, model, warn)));
}
