import { type Static, type TOptional, type TString, Type } from "@sinclair/typebox";
import { optional, TokenUsage } from "../contract/index.ts";
import type { AnswerStream } from "./answer-stream.ts";

/** Body of POST /images/generations. `size` is open-ended: WIDTHxHEIGHT in pixels, or `auto`. */
export const ImagesRequest = Type.Object(
  {
    model: Type.String({ minLength: 1, maxLength: 200 }),
    prompt: Type.String({ minLength: 1, maxLength: 32_000 }),
    n: optional(Type.Integer({ minimum: 1, maximum: 10 })),
    size: optional(
      Type.String({
        pattern: "^(auto|[1-9]\\d{1,4}x[1-9]\\d{1,4})$",
        title: "WIDTHxHEIGHT in pixels, such as 1024x1024, or auto",
      }),
    ),
    quality: optional(
      Type.Union(
        ["standard", "hd", "auto", "low", "medium", "high", "xhigh", "max"].map((quality) => Type.Literal(quality)),
      ),
    ),
    response_format: optional(Type.Union([Type.Literal("url"), Type.Literal("b64_json")])),
    background: optional(Type.Union(["transparent", "opaque", "auto"].map((kind) => Type.Literal(kind)))),
    output_format: optional(
      Type.Union(
        ["png", "jpeg", "webp"].map((format) => Type.Literal(format)),
        { description: "Format of the image, if the provider supports a choice" },
      ),
    ),
    output_compression: optional(
      Type.Integer({ minimum: 0, maximum: 100, description: "Compression level of jpeg and webp, in percent" }),
    ),
    user: optional(Type.String()),
    stream: optional(Type.Boolean()),
    partial_images: optional(
      Type.Integer({
        minimum: 0,
        maximum: 3,
        description: "How many unfinished images a stream shows before the last",
      }),
    ),
  },
  { additionalProperties: true },
);
export type ImagesRequest = Static<typeof ImagesRequest>;

/** Maximum number of images that an edit starts from: OpenAI's limit. */
export const editedImagesMax = 16;

/** Fields of POST /images/edits other than the images. */
export const ImageEditsFields = Type.Object(
  {
    ...ImagesRequest.properties,
    input_fidelity: optional(
      Type.Union([Type.Literal("low"), Type.Literal("high")], {
        description: "How closely details of the input are preserved",
      }),
    ),
  },
  { additionalProperties: true },
);

/** Request of an `imageEdits` handler. */
export interface ImageEditsRequest extends Static<typeof ImageEditsFields> {
  /** At least one, each with its media type. */
  images: File[];
  /** Its transparent parts mark what may change in the first image. */
  mask?: File | undefined;
}

/** Request for image edits before images that are named by their address are fetched. */
export interface ImageEditsBody extends Static<typeof ImageEditsFields> {
  images: (File | string)[];
  mask?: File | string | undefined;
}

/** One generated image as a handler returns it. */
export interface GeneratedImage {
  /** The bytes, or their base64 text when the provider sent that (it is passed on without decoding). */
  data: Uint8Array<ArrayBuffer> | string;
  /** `image/png`, `image/jpeg` or `image/webp`. */
  mediaType: string;
  /** The prompt as the model read it, where it says so. */
  revisedPrompt?: string | undefined;
}

/** An unfinished image of a stream. */
export interface PartialImage extends GeneratedImage {
  /** Its place among the unfinished ones, from 0. */
  index: number;
}

/** Unfinished images, then the finished ones as the last item. */
export type ImageStream<Event = unknown> = AnswerStream<PartialImage | GeneratedImages, Event>;

/** Answer of an `images` or `imageEdits` handler. */
export interface GeneratedImages {
  images: GeneratedImage[];
  /** Usage as the provider reported it, by {@link TokenUsage}. The kernel drops any other fields. */
  usage?: Record<string, unknown> | undefined;
  /** Settings that the provider used. */
  settings?: ImageSettings | undefined;
}

/** The settings that the images were made with, in OpenAI's terms. */
export interface ImageSettings {
  background?: string;
  output_format?: string;
  quality?: string;
  size?: string;
}

const imageSettings: Record<keyof ImageSettings, TOptional<TString>> = {
  background: Type.Optional(Type.String()),
  output_format: Type.Optional(Type.String()),
  quality: Type.Optional(Type.String()),
  size: Type.Optional(Type.String()),
};
export const imageSettingNames = Object.keys(imageSettings) as (keyof ImageSettings)[];

/** The uniform answer. */
export const ImagesResponse = Type.Object({
  created: Type.Integer(),
  data: Type.Array(
    Type.Object({
      url: Type.Optional(Type.String()),
      b64_json: Type.Optional(Type.String()),
      revised_prompt: Type.Optional(Type.String()),
    }),
  ),
  usage: Type.Optional(TokenUsage),
  ...imageSettings,
});
export type ImagesResponse = Static<typeof ImagesResponse>;
