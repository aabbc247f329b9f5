import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { type GeneratedImage, type GeneratedImages, ImagesRequest, ImagesResponse } from "../../contract/index.ts";
import type { HttpDeps } from "../deps.ts";
import { executeCall } from "../lifecycle/execute.ts";
import type { HttpCall } from "../lifecycle/http-call.ts";
import { replyOnce } from "../lifecycle/idempotency.ts";
import { jsonReply } from "../lifecycle/respond.ts";
import { apiKeyRoutes, readJsonCall } from "../lifecycle/routes.ts";
import { requestBody } from "../lifecycle/validate.ts";
import { sseReplyOf } from "../sse/reply.ts";
import { checkFileRoom, storeFile } from "./files.ts";
import { responses } from "./openapi.ts";

const Body = requestBody(ImagesRequest);

/** OpenAI's clients read base64 of these models without asking for it: their provider has no addresses. */
const base64Models = /^(?:chat)?gpt-image\b/;

/** POST /images/generations: by default as URLs that live for an hour; of OpenAI's present models as base64. */
export function imagesController(deps: HttpDeps) {
  return new Elysia().use(apiKeyRoutes(deps)).post(
    "/images/generations",
    replyOnce<ImagesRequest>(deps, async ({ call, body: { stream, ...request } }) => {
      const isBase64 = (model: string | undefined) =>
        (request.response_format ?? (base64Models.test(model ?? "") ? "b64_json" : "url")) === "b64_json";
      if (!isBase64(request.model) && stream !== true) await checkFileRoom(deps, call);
      const answer = executeCall(deps, call, { capability: "images", request });
      if (stream === true) return await sseReplyOf(deps, call, answer, (whole) => toEvents(whole, call));
      const { images, usage, settings } = await answer;
      const asBase64 = isBase64(call.model);
      const data = await Promise.all(
        images.map(async (image) => ({
          ...(asBase64 ? { b64_json: toBase64(image) } : await storedImage(deps, image, call)),
          ...(image.revisedPrompt !== undefined && { revised_prompt: image.revisedPrompt }),
        })),
      );
      return jsonReply(deps, call, { created: toSeconds(call.openedAt), data, ...settings, ...(usage && { usage }) });
    }),
    {
      parse: [readJsonCall(deps, { capability: "images" }), "json"],
      body: Body,
      detail: {
        summary: "Image generation",
        description: "With `stream: true` one `image_generation.completed` event per image, always as base64.",
        tags: ["Calls"],
        responses: responses({
          "application/json": ImagesResponse,
          "text/event-stream": Type.Unknown({ description: "One image_generation.completed event per image" }),
        }),
      },
    },
  );
}

const toSeconds = (ms: number) => Math.floor(ms / 1000);

function toEvents({ images, usage }: GeneratedImages, { openedAt }: HttpCall) {
  return images.map((image) => ({
    type: "image_generation.completed",
    b64_json: toBase64(image),
    created_at: toSeconds(openedAt),
    output_format: image.mediaType.replace("image/", ""),
    // The provider counts for all of them: the sum must be right for those who add events up.
    ...(usage && images.length === 1 && { usage }),
  }));
}

function toBase64({ data }: GeneratedImage): string {
  return typeof data === "string" ? data : Buffer.from(data).toString("base64");
}

/** The URL of a stored image. The call is already charged, so an image that cannot be stored is sent in the response. */
async function storedImage(deps: HttpDeps, image: GeneratedImage, call: HttpCall) {
  const bytes = typeof image.data === "string" ? Buffer.from(image.data, "base64") : image.data;
  try {
    return { url: await storeFile(deps, { mediaType: image.mediaType, bytes }, call) };
  } catch (error) {
    deps.log.error("image_store_failed", { call: call.id, error });
    return { b64_json: toBase64(image) };
  }
}
