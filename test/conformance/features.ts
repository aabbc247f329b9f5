import type { Capability } from "../../src/contract/index.ts";
import type { ChatRequest } from "../../src/provider/index.ts";
import { wavFile } from "../support/wav.ts";

type Json = Record<string, unknown>;

/** Something a client can ask for: the fields that ask for it, and those without which it would mean nothing. */
export interface Feature {
  name: string;
  capability: Capability;
  asks: Json;
  beside?: Json;
}

const png = "data:image/png;base64,iVBORw0KGgo=";
const user = (...content: Json[]): Json => ({ messages: [{ role: "user", content }] });
const text = { type: "text", text: "Hello" };
const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const tools = ["look_up", "put_down"].map((name) => ({ type: "function", function: { name, parameters: schema } }));
const named = { type: "function", function: { name: "look_up" } };
const format = { type: "json_schema", json_schema: { name: "answer", schema } };
const called = { id: "call_1", type: "function", function: { name: "look_up", arguments: '{"city":"Pune"}' } };
const toolTurn: Json[] = [
  { role: "user", content: "Hello" },
  { role: "assistant", content: null, tool_calls: [called] },
  { role: "tool", tool_call_id: "call_1", content: "sunny" },
];

const chat = (name: string, asks: Partial<ChatRequest> | Json, beside: Json = {}): Feature => ({
  name,
  capability: "chat",
  asks: asks as Json,
  beside,
});
const of =
  (capability: Capability) =>
  (name: string, asks: Json, beside: Json = {}) => ({
    name,
    capability,
    asks,
    beside,
  });
const [embeddings, image, transcription, speech] = [of("embeddings"), of("images"), of("transcription"), of("speech")];
const [moderation, rerank] = [of("moderation"), of("rerank")];
const [imageEdits, translation] = [of("imageEdits"), of("translation")];

/** What every request of a capability holds. */
export const plainRequests: Record<Capability, Json> = {
  chat: { messages: [{ role: "user", content: "Hello" }] },
  embeddings: { input: "Hello" },
  images: { prompt: "A kite" },
  imageEdits: {
    prompt: "A kite",
    images: [new File([Uint8Array.fromBase64("iVBORw0KGgo=")], "a.png", { type: "image/png" })],
  },
  transcription: { file: wavFile(1000), audioMs: 1000 },
  translation: { file: wavFile(1000), audioMs: 1000 },
  speech: { input: "Hello" },
  moderation: { input: "Hello" },
  rerank: { query: "Hello", documents: ["Hello", "Bye"] },
};

/** The rows of the table, in its order. */
export const features: Feature[] = [
  chat("chat", {}),
  chat("streaming", { stream: true }),
  chat("system messages", {
    messages: [
      { role: "system", content: "Be brief" },
      { role: "user", content: "Hello" },
    ],
  }),
  chat("`max_tokens`", { max_tokens: 7 }),
  chat("`max_completion_tokens`", { max_completion_tokens: 7 }),
  chat("`temperature`", { temperature: 0.3 }),
  chat("`top_p`", { top_p: 0.4 }),
  chat("`frequency_penalty`, `presence_penalty`", { frequency_penalty: 0.5, presence_penalty: 0.5 }),
  chat("`stop`", { stop: ["END"] }),
  chat("`seed`", { seed: 7 }),
  chat("`n`", { n: 2 }),
  chat("`logprobs`", { logprobs: true, top_logprobs: 2 }),
  chat("`logit_bias`", { logit_bias: { "50256": -100 } }),
  chat("`user`", { user: "someone" }),
  chat("`reasoning_effort`", { reasoning_effort: "high" }),
  chat("tools", { tools }),
  chat("tool results", { messages: toolTurn }, { tools }),
  chat("`tool_choice: none`", { tool_choice: "none" }, { tools }),
  chat("`tool_choice: required`", { tool_choice: "required" }, { tools }),
  chat("`tool_choice`, a function", { tool_choice: named }, { tools }),
  chat(
    "`tool_choice: allowed_tools`",
    { tool_choice: { type: "allowed_tools", allowed_tools: { mode: "auto", tools: [named] } } },
    { tools },
  ),
  chat("custom tools", { tools: [{ type: "custom", custom: { name: "apply_patch" } }] }),
  chat("`parallel_tool_calls: false`", { parallel_tool_calls: false }, { tools }),
  chat("`functions` (deprecated)", { functions: [{ name: "look_up", parameters: schema }] }),
  chat("`json_object`", { response_format: { type: "json_object" } }),
  chat("`json_schema`", { response_format: format }),
  chat("`json_schema`, streamed", { response_format: format }, { stream: true }),
  chat("`json_schema` beside tools", { response_format: format }, { tools }),
  chat("images as data URLs", user(text, { type: "image_url", image_url: { url: png } })),
  chat("images by address", user(text, { type: "image_url", image_url: { url: "https://8.8.8.8/a.png" } })),
  chat("audio", user(text, { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } })),
  chat(
    "PDF files",
    user(text, { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,AAAA" } }),
  ),
  embeddings("embeddings", {}),
  embeddings("several inputs", { input: ["Hello", "there"] }),
  embeddings("inputs of tokens", { input: [[9906, 1917]] }),
  embeddings("`dimensions`", { dimensions: 512 }),
  embeddings("`encoding_format: base64`", { encoding_format: "base64" }),
  image("images", {}),
  image("`n` of images", { n: 2 }),
  image("`size`", { size: "2048x1024" }),
  image("`quality: hd`", { quality: "hd" }),
  imageEdits("image edits", {}),
  translation("translation of audio", {}),
  transcription("transcription", {}),
  transcription("`language` of the audio", { language: "hi" }),
  transcription("`prompt` of a transcription", { prompt: "Names: Ada" }),
  transcription("`temperature` of a transcription", { temperature: 0.2 }),
  transcription("`verbose_json`", { response_format: "verbose_json" }),
  transcription("times of words", { response_format: "verbose_json", timestamp_granularities: ["word"] }),
  moderation("moderation", {}),
  moderation("moderation of several texts", { input: ["Hello", "there"] }),
  moderation("moderation of images", {
    input: [
      { type: "text", text: "Hello" },
      { type: "image_url", image_url: { url: png } },
    ],
  }),
  rerank("rerank", {}),
  rerank("`top_n`", { top_n: 1 }),
  speech("speech", {}),
  speech("`voice`", { voice: "" }),
  speech("`response_format: mp3`", { response_format: "mp3" }),
  speech("`speed`", { speed: 1.25 }),
  speech("`target_language_code`", { target_language_code: "hi-IN" }),
  speech("`speech_sample_rate`", { speech_sample_rate: 8000 }),
  speech("`pace`", { pace: 1.25 }),
];
