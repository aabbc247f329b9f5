import { Elysia } from "elysia";
import { type GeneratedImage, ImageRequest, ImagesResponse } from "../contract/index.ts";
import { authenticated, callerOf } from "./authenticate.ts";
import { answers } from "./describe.ts";
import { fileAddress } from "./files.ts";
import type { HttpGround } from "./ground.ts";
import { putProgress } from "./headers.ts";
import { begin, type ResponseHeaders, run } from "./run.ts";

/** POST /images/generations: by default as addresses that live an hour. */
export function imagesController(ground: HttpGround) {
  return new Elysia().use(authenticated(ground.authenticate)).post(
    "/images/generations",
    async ({ body, request, set }) => {
      const caller = await callerOf(request, ground.authenticate);
      const headers = set.headers as ResponseHeaders;
      const progress = begin(ground, headers, request);
      const { images } = await run(ground, { capability: "image", caller, request: body, progress });
      const asBase64 = body.response_format === "b64_json";
      const data = await Promise.all(
        images.map(async (image) => ({
          ...(asBase64
            ? { b64_json: typeof image.data === "string" ? image.data : Buffer.from(image.data).toString("base64") }
            : { url: await keep(ground, image, request) }),
          ...(image.revisedPrompt !== undefined && { revised_prompt: image.revisedPrompt }),
        })),
      );
      putProgress(headers, progress, ground.sandbox);
      return { created: Math.floor(progress.openedAt / 1000), data };
    },
    {
      body: ImageRequest,
      detail: { summary: "Image generation", tags: ["Models at work"], responses: answers(ImagesResponse) },
    },
  );
}

async function keep(ground: HttpGround, image: GeneratedImage, request: Request): Promise<string> {
  const bytes = typeof image.data === "string" ? Buffer.from(image.data, "base64") : image.data;
  return fileAddress(ground, { mediaType: image.mediaType, bytes }, request);
}
