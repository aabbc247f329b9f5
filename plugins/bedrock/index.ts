import { type Call, type ChatRequest, definePlugin, readModels, UpstreamError } from "modelgate/plugin";
import { sendMarked } from "../../src/protocols/cache-marks.ts";
import { fetchImages, placeholderImages, precheckMultimodal } from "../../src/protocols/multimodal.ts";
import { withStops } from "../../src/protocols/stops.ts";
import { withFunctionsAsTools } from "../../src/protocols/tools.ts";
import current from "./catalogue.json" with { type: "json" };
import { authorize, credential } from "./credential.ts";
import { embeddings } from "./embeddings.ts";
import { readError } from "./errors.ts";
import { images } from "./images.ts";
import { isClaude, modelOptions } from "./options.ts";
import { toConverse } from "./request.ts";
import { rerank } from "./rerank.ts";
import { fromConverse, readUsage } from "./response.ts";
import { ConverseStream } from "./stream.ts";

export default definePlugin({
  name: "bedrock",
  baseUrl: "https://bedrock-runtime.us-east-1.amazonaws.com",
  credential,
  authorize,
  models: readModels(current),
  modelOptions,
  handlers: {
    chat: Object.assign(withFunctionsAsTools(chat), { omits: () => [] }),
    countChatTokens,
    embeddings,
    images: (call) => images(call, pathOf(call.model.upstreamId, "invoke")),
    rerank: (call) => rerank(call, pathOf(call.model.upstreamId, "invoke")),
  },
  checks: {
    chat: precheckMultimodal((request, { model, warn }) =>
      toConverse(request, { model, fetched: placeholderImages, warn }),
    ),
  },
  maxChoices: { chat: 1, images: 1 },
  readError,
  readUsage,
});

/** Path of an operation. The name of a model or profile is encoded, because an ARN contains colons and slashes. */
const pathOf = (upstreamId: string, operation: string) => `/model/${encodeURIComponent(upstreamId)}/${operation}`;

function chat(call: Call<ChatRequest>) {
  const { omit, options } = call.model;
  return withStops(call, { max: omit?.includes("stop") ? 0 : undefined, blank: false }, (stopped) =>
    options?.cachePoints === true ? sendMarked(stopped, "message", send) : send(stopped),
  );
}

async function send({ request, model, upstream, warn }: Call<ChatRequest>) {
  const fetched = await fetchImages(request.messages, upstream);
  const { body, reading } = toConverse(request, { model, fetched, warn });
  if (request.stream === true) {
    return new ConverseStream(await upstream.events(pathOf(model.upstreamId, "converse-stream"), body), reading);
  }
  return fromConverse(await upstream.json(pathOf(model.upstreamId, "converse"), body), reading, Date.now());
}

/** Free of charge, for the models that count. https://docs.aws.amazon.com/bedrock/latest/userguide/count-tokens.html */
async function countChatTokens({ request, model, upstream }: Call<ChatRequest>): Promise<number> {
  if (!isClaude(model)) throw new UpstreamError("bad_response", "The provider counts the tokens of Claude alone");
  const fetched = await fetchImages(request.messages, upstream);
  const { body } = toConverse(request, { model, fetched, warn: () => undefined });
  const { messages, system, toolConfig, additionalModelRequestFields } = body;
  const converse = { messages, system, toolConfig, additionalModelRequestFields };
  const path = pathOf(model.upstreamId, "count-tokens");
  return (await upstream.json<{ inputTokens: number }>(path, { input: { converse } })).inputTokens;
}
