import { type Static, Type } from "@sinclair/typebox";
import { GatewayError, optional } from "../../contract/index.ts";
import type { StreamSink } from "../../kernel/index.ts";
import { fromBase64 } from "../../lib/base64.ts";
import { readMedia } from "../../lib/data-url.ts";
import { toNamedEvent } from "../../protocols/inbound.ts";
import {
  editedImagesMax,
  type GeneratedImage,
  type GeneratedImages,
  type ImageEditsBody,
  ImageEditsFields,
  ImagesRequest,
  ImagesResponse,
  type PartialImage,
} from "../../provider/index.ts";
import type { HttpDeps } from "../deps.ts";
import { callRoute, jsonBody, multipartBody } from "../lifecycle/call-routes.ts";
import { executeCall } from "../lifecycle/execute.ts";
import type { HttpCall } from "../lifecycle/http-call.ts";
import { jsonReply, sseReply, sseReplyOf } from "../lifecycle/respond.ts";
import type { RequestContext } from "../lifecycle/route.ts";
import { uploadedFile } from "../lifecycle/validate.ts";
import { SseStream } from "../sse/sse-stream.bun.ts";
import { checkFileRoom, storeFile } from "./files.ts";
import { responses } from "./openapi.ts";

/** OpenAI's clients read base64 of these models without asking for it: their provider has no addresses. */
const base64Models = /^(?:chat)?gpt-image\b/;

/** POST /images/generations: by default as URLs that live for an hour; of OpenAI's present models as base64. */
export function imagesController(deps: HttpDeps) {
  return [
    callRoute(
      deps,
      {
        path: "/images/generations",
        body: jsonBody(deps, ImagesRequest, { capability: "images" }),
        detail: { summary: "Image generation", ...detailOf("image_generation") },
      },
      ({ call, body }) => replyWithImages(deps, call, "images", body),
    ),
  ];
}

/** POST /images/edits: a form with files, or JSON with addresses and data URLs. */
export function imageEditsController(deps: HttpDeps) {
  const json = jsonBody(deps, EditsJson, { capability: "imageEdits" });
  const form = multipartBody(deps, EditsForm, { capability: "imageEdits", toBody });
  const isForm = ({ headers }: Request) => (headers.get("content-type") ?? "").toLowerCase().startsWith("multipart/");
  const body = {
    ...json,
    read: (context: RequestContext) => (isForm(context.request) ? form.read(context) : json.read(context)),
  };
  return [
    callRoute<Static<typeof EditsJson> | Static<typeof EditsForm>>(
      deps,
      {
        path: "/images/edits",
        body,
        detail: {
          summary: "Images made of others",
          ...detailOf("image_edit"),
          requestBody: {
            required: true,
            content: {
              "application/json": { schema: EditsJson as never },
              "multipart/form-data": { schema: EditsForm as never },
            },
          },
        },
      },
      ({ call, body }) => replyWithImages(deps, call, "imageEdits", toEditsRequest(body)),
    ),
  ];
}

const editFields = ImageEditsFields.properties;
const ImageRef = Type.Object(
  { image_url: Type.String({ minLength: 1, description: "An https address or a data URL" }) },
  { additionalProperties: false },
);
const EditsJson = Type.Object(
  {
    ...editFields,
    images: Type.Array(ImageRef, { minItems: 1, maxItems: editedImagesMax }),
    mask: optional(ImageRef),
  },
  { additionalProperties: true },
);
const imageFile = uploadedFile("png, jpeg or webp");
const EditsForm = Type.Object(
  {
    ...editFields,
    image: Type.Array(imageFile, { minItems: 1, maxItems: editedImagesMax }),
    mask: Type.Optional(imageFile),
  },
  { additionalProperties: true },
);
/** The fields of a form with the types of the schema: numbers and switches are texts there. */
function toBody(form: FormData): Record<string, unknown> {
  const body: Record<string, unknown> = {};
  for (const [name, value] of form) {
    if (name === "image" || name === "image[]" || name === "mask" || typeof value !== "string" || value === "")
      continue;
    body[name] = toTyped(name, value);
  }
  const files = [...form.getAll("image"), ...form.getAll("image[]")];
  body.image = files.map((file, index) => checkImage(file, `image[${index}]`));
  const mask = form.get("mask");
  if (mask !== null) body.mask = checkImage(mask, "mask");
  return body;
}

/** Text that is not of its field's type stays: the error shows it. */
function toTyped(name: string, value: string): unknown {
  if (["n", "output_compression", "partial_images"].includes(name)) return /^\d+$/.test(value) ? Number(value) : value;
  return name === "stream" && /^(true|false)$/.test(value) ? value === "true" : value;
}

const imageTypes = ["image/png", "image/jpeg", "image/webp"];

/** @throws {GatewayError} `invalid_request` for what is not an image of a type that providers take. */
function checkImage(file: FormDataEntryValue, param: string): File {
  if (!(file instanceof File) || file.size === 0) {
    throw new GatewayError("invalid_request", `${param} is empty: send an image as a file field of the form`, {
      param,
    });
  }
  const ending = file.name.toLowerCase().split(".").at(-1);
  const type = imageTypes.includes(file.type) ? file.type : `image/${ending === "jpg" ? "jpeg" : ending}`;
  if (!imageTypes.includes(type)) {
    throw new GatewayError("invalid_request", `${param} is no PNG, JPEG or WebP file`, { param });
  }
  return new File([file], file.name, { type });
}

function toEditsRequest(body: Static<typeof EditsJson> | Static<typeof EditsForm>): ImageEditsBody {
  if ("image" in body) {
    const { image, mask, ...fields } = body as Static<typeof EditsForm>;
    return { ...fields, images: image, mask };
  }
  const { images, mask, ...fields } = body as Static<typeof EditsJson>;
  return {
    ...fields,
    images: images.map((ref, index) => toImage(ref, `images[${index}].image_url`)),
    mask: mask ? toImage(mask, "mask.image_url") : undefined,
  };
}

/** A data URL as a file; an address is fetched where it is needed. */
function toImage({ image_url: url }: Static<typeof ImageRef>, param: string): File | string {
  if (!url.startsWith("data:")) return url;
  const { mediaType, base64 } = readMedia(url, imageTypes, param);
  return new File([fromBase64(base64)], `image.${mediaType.replace("image/", "")}`, { type: mediaType });
}

async function replyWithImages(
  deps: HttpDeps,
  call: HttpCall,
  capability: "images" | "imageEdits",
  { stream, ...request }: ImagesRequest | ImageEditsBody,
): Promise<Response> {
  const isBase64 = (model: string | undefined) =>
    (request.response_format ?? (base64Models.test(model ?? "") ? "b64_json" : "url")) === "b64_json";
  if (!isBase64(request.model) && stream !== true) await checkFileRoom(deps, call);
  const ask = (sink?: StreamSink<PartialImage>) =>
    capability === "images"
      ? executeCall(deps, call, { capability, request: request as ImagesRequest, sink })
      : executeCall(deps, call, { capability, request: request as ImageEditsBody, sink });
  if (stream === true) {
    const type = capability === "images" ? "image_generation" : "image_edit";
    const toEnd = (whole: GeneratedImages) => toEvents(whole, request, call, type);
    if (!request.partial_images) return await sseReplyOf(deps, call, ask(), toEnd);
    const sink = new SseStream<PartialImage>(call, (partial) =>
      toNamedEvent(toPartialEvent(partial, request, call, type)),
    );
    const text = ask(sink).then((whole) => toEnd(whole).map(toNamedEvent).join(""));
    return await sseReply(deps, call, sink, text);
  }
  delete request.partial_images;
  const { images, usage, settings } = await ask();
  const asBase64 = isBase64(call.model);
  const data = await Promise.all(
    images.map(async (image) => ({
      ...(asBase64 ? { b64_json: toBase64(image) } : await storedImage(deps, image, call)),
      ...(image.revisedPrompt !== undefined && { revised_prompt: image.revisedPrompt }),
    })),
  );
  return jsonReply(deps, call, { created: toSeconds(call.openedAt), data, ...settings, ...(usage && { usage }) });
}

function detailOf(type: string) {
  return {
    description: `With \`stream: true\` one \`${type}.completed\` event per image, always as base64, after as many \`${type}.partial_image\` events as \`partial_images\` asks for and the provider sends.`,
    tags: ["Calls"],
    responses: responses({
      "application/json": ImagesResponse,
      "text/event-stream": Type.Unknown({ description: `${type}.partial_image, then ${type}.completed` }),
    }),
  };
}

const toSeconds = (ms: number) => Math.floor(ms / 1000);

function toEvents(
  { images, usage, settings }: GeneratedImages,
  request: ImagesRequest | ImageEditsBody,
  { openedAt }: HttpCall,
  type: string,
) {
  return images.map((image) => ({
    type: `${type}.completed`,
    b64_json: toBase64(image),
    created_at: toSeconds(openedAt),
    ...toSettings(request),
    ...settings,
    output_format: image.mediaType.replace("image/", ""),
    // The provider counts for all of them: the sum must be right for those who add events up.
    ...(usage && images.length === 1 && { usage }),
  }));
}

function toPartialEvent(image: PartialImage, request: ImagesRequest, { openedAt }: HttpCall, type: string) {
  return {
    type: `${type}.partial_image`,
    b64_json: toBase64(image),
    partial_image_index: image.index,
    created_at: toSeconds(openedAt),
    ...toSettings(request),
    output_format: image.mediaType.replace("image/", ""),
  };
}

/** The settings of an image, which each event has: the provider's, otherwise the request's. */
function toSettings({ size, quality, background }: ImagesRequest | ImageEditsBody) {
  return { size: size ?? "auto", quality: quality ?? "auto", background: background ?? "auto" };
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
