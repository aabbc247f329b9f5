import { Buffer } from "node:buffer";
import type { ChatRequest, ContentPart, Message, Model } from "../../contract/index.ts";
import { soundTokensMax } from "./sound.ts";
import { getCallTexts } from "./tool-call.ts";

/** The most tokens that one picture can cost where the row of the model does not say. */
export const imageTokensDefault = 10_000;
/** Tokens that a message costs beside its text (role and separators). */
export const messageTokens = 6;

/**
 * An upper bound of the tokens in a text, without a tokenizer: its UTF-8 bytes. Ordinary text has about four bytes a
 * token, but rare characters and random letters have one, with every vocabulary.
 */
export function tokensMax(text: string): number {
  return Buffer.byteLength(text);
}

/** An upper bound of the tokens of a conversation, with its tools; no model takes more than its context. */
export function promptTokensMax(request: ChatRequest, model: Model): number {
  let tokens = 0;
  for (const message of request.messages) tokens += messageTokens + messageTokensMax(message, model);
  if (request.tools) tokens += tokensMax(JSON.stringify(request.tools));
  if (request.functions) tokens += tokensMax(JSON.stringify(request.functions));
  if (request.response_format && request.response_format.type === "json_schema") {
    tokens += tokensMax(JSON.stringify(request.response_format));
  }
  return model.contextTokens === undefined ? tokens : Math.min(tokens, model.contextTokens);
}

function messageTokensMax(message: Message, model: Model): number {
  let tokens = 0;
  const { content, tool_calls, function_call, name, reasoning_content } = message;
  for (const text of [name, reasoning_content, function_call?.name, function_call?.arguments]) {
    if (text) tokens += tokensMax(text);
  }
  if (typeof content === "string") tokens += tokensMax(content);
  else if (content) for (const part of content) tokens += partTokensMax(part, model);
  if (tool_calls) for (const call of tool_calls) tokens += tokensMax(getCallTexts(call).join(""));
  return tokens;
}

export function partTokensMax(part: ContentPart, { imageTokensMax }: Model): number {
  switch (part.type) {
    case "text":
      return tokensMax(part.text);
    case "refusal":
      return tokensMax(part.refusal);
    case "image_url":
      return imageTokensMax ?? imageTokensDefault;
    case "input_audio":
      return soundTokensMax(part);
    case "file":
      return tokensMax(JSON.stringify(part.file));
  }
}
