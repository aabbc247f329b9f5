import { type Static, type TOptional, type TString, Type } from "@sinclair/typebox";
import { optional } from "./optional.ts";
import { TokenUsage } from "./token-usage.ts";

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
      Type.Union("standard hd auto low medium high xhigh max".split(" ").map((quality) => Type.Literal(quality))),
    ),
    response_format: optional(Type.Union([Type.Literal("url"), Type.Literal("b64_json")])),
    user: optional(Type.String()),
    stream: optional(Type.Boolean()),
  },
  { additionalProperties: true },
);
export type ImagesRequest = Static<typeof ImagesRequest>;

/** One generated picture as a handler returns it. */
export interface GeneratedImage {
  /** The bytes, or their base64 text when the provider sent that (it is passed on without decoding). */
  data: Uint8Array<ArrayBuffer> | string;
  /** `image/png`, `image/jpeg` or `image/webp`. */
  mediaType: string;
  /** The prompt as the model read it, where it says so. */
  revisedPrompt?: string | undefined;
}

/** What an `images` handler returns. */
export interface GeneratedImages {
  images: GeneratedImage[];
  /** As the provider reported it, by {@link TokenUsage}. The kernel drops what is not usage. */
  usage?: Record<string, unknown> | undefined;
  /** What the provider says it has drawn with. */
  settings?: ImageSettings | undefined;
}

/** With what the pictures were drawn, in OpenAI's words. */
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
