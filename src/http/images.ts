import { Elysia } from "elysia";
import { type GeneratedImage, ImageRequest, ImagesResponse } from "../contract/index.ts";
import { answers, jsonBody } from "./describe.ts";
import { jsonEndpoint } from "./endpoint.ts";
import { fileAddress } from "./files.ts";
import type { HttpGround } from "./ground.ts";
import { jsonReply, run } from "./run.ts";

/** POST /images/generations: by default as addresses that live an hour. */
export function imagesController(ground: HttpGround) {
  const answer = jsonEndpoint(ground, ImageRequest, async (visit, order) => {
    const { request, progress } = visit;
    const { images } = await run(ground, visit, { capability: "image", request: order });
    const asBase64 = order.response_format === "b64_json";
    const data = await Promise.all(
      images.map(async (image) => ({
        ...(asBase64 ? { b64_json: toBase64(image) } : { url: await keep(ground, image, request) }),
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

async function keep(ground: HttpGround, image: GeneratedImage, request: Request): Promise<string> {
  const bytes = typeof image.data === "string" ? Buffer.from(image.data, "base64") : image.data;
  return fileAddress(ground, { mediaType: image.mediaType, bytes }, request);
}
