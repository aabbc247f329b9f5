import { type Call, definePlugin, gemini, type RequestOf, readModels } from "modelgate/plugin";
import rows from "../../catalogue/gemini.json" with { type: "json" };
import type { ImageEditsRequest } from "../../src/contract/index.ts";
import { toBase64 } from "../../src/lib/base64.ts";
import current from "./catalogue.json" with { type: "json" };
import { embeddings } from "./embeddings.ts";
import { fromImageAnswer, toImageBody } from "./images.ts";
import { speech } from "./speech.ts";
import { transcription } from "./transcription.ts";

const chat = gemini();

export default definePlugin({
  ...chat,
  name: "gemini",
  baseUrl: "https://generativelanguage.googleapis.com/v1beta",
  authorize: (_, { key }) => ({ "x-goog-api-key": key }),
  models: readModels([...rows.models, ...current.models]),
  handlers: { ...chat.handlers, embeddings, images, imageEdits, speech, transcription },
  // One image a request.
  modelOptions: { ...chat.modelOptions, imageSizes: "texts" },
  maxChoices: { ...chat.maxChoices, images: 1 },
});

async function images({ request, model, upstream, warn }: Call<RequestOf<"images">>) {
  const path = `/models/${model.upstreamId}:generateContent`;
  return fromImageAnswer(await upstream.json(path, toImageBody(request, model, warn)));
}

async function imageEdits({ request, model, upstream, warn }: Call<ImageEditsRequest>) {
  const { images: originals, ...fields } = request;
  const path = `/models/${model.upstreamId}:generateContent`;
  const data = await Promise.all(originals.map(async (image) => toBase64(await image.bytes())));
  const parts = originals.map(({ type }, index) => ({ inlineData: { mimeType: type, data: data[index] as string } }));
  return fromImageAnswer(await upstream.json(path, toImageBody(fields, model, warn, parts)));
}
