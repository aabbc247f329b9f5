import { Elysia } from "elysia";
import { type GeneratedImage, ImageRequest, ImagesResponse } from "../contract/index.ts";
import { answers, jsonBody } from "./describe.ts";
import { jsonEndpoint, type Visit } from "./endpoint.ts";
import { fileAddress } from "./files.ts";
import type { HttpGround } from "./ground.ts";
import { jsonReply, run } from "./run.ts";

/** POST /images/generations: by default as addresses that live an hour. */
export function imagesController(ground: HttpGround) {
  const answer = jsonEndpoint(ground, ImageRequest, async (visit, order) => {
    const { progress } = visit;
    const { images } = await run(ground, visit, { capability: "image", request: order });
    const asBase64 = order.response_format === "b64_json";
    const data = await Promise.all(
      images.map(async (image) => ({
        ...(asBase64 ? { b64_json: toBase64(image) } : await kept(ground, image, visit)),
        ...(image.revisedPrompt !== undefined && { revised_prompt: image.revisedPrompt }),
      })),
    );
    return jsonReply(ground, progress, { created: Math.floor(progress.openedAt / 1000), data });
  });
  return new Elysia().post("/images/generations", answer, {
    parse: "none",
    detail: {
      summary: "Image generation",
      tags: ["Models at work"],
      requestBody: jsonBody(ImageRequest),
      responses: answers({ "application/json": ImagesResponse }),
    },
  });
}

function toBase64({ data }: GeneratedImage): string {
  return typeof data === "string" ? data : Buffer.from(data).toString("base64");
}

/** A picture's address. It is paid for: where it cannot be kept, it is handed out in the answer itself. */
async function kept(ground: HttpGround, image: GeneratedImage, { request, progress }: Visit) {
  const bytes = typeof image.data === "string" ? Buffer.from(image.data, "base64") : image.data;
  try {
    return { url: await fileAddress(ground, { mediaType: image.mediaType, bytes }, request) };
  } catch (error) {
    ground.log.error("picture_not_kept", { call: progress.id, error });
    return { b64_json: toBase64(image) };
  }
}
