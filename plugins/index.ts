// Made by `bun run plugins:list` of the folders beside it.
import type { ProviderPlugin } from "modelgate/plugin";
import alibaba from "./alibaba/index.ts";
import anthropic from "./anthropic/index.ts";
import azure from "./azure/index.ts";
import bedrock from "./bedrock/index.ts";
import bedrockMantle from "./bedrock-mantle/index.ts";
import cerebras from "./cerebras/index.ts";
import cohere from "./cohere/index.ts";
import deepgram from "./deepgram/index.ts";
import deepseek from "./deepseek/index.ts";
import elevenlabs from "./elevenlabs/index.ts";
import fireworks from "./fireworks/index.ts";
import gemini from "./gemini/index.ts";
import groq from "./groq/index.ts";
import huggingface from "./huggingface/index.ts";
import jina from "./jina/index.ts";
import minimax from "./minimax/index.ts";
import mistral from "./mistral/index.ts";
import moonshot from "./moonshot/index.ts";
import nvidiaNim from "./nvidia-nim/index.ts";
import openai from "./openai/index.ts";
import openrouter from "./openrouter/index.ts";
import perplexity from "./perplexity/index.ts";
import sarvam from "./sarvam/index.ts";
import together from "./together/index.ts";
import vertex from "./vertex/index.ts";
import voyage from "./voyage/index.ts";
import xai from "./xai/index.ts";
import zai from "./zai/index.ts";

/** The plugins compiled in. */
export const builtIns: readonly ProviderPlugin[] = [
  alibaba,
  anthropic,
  azure,
  bedrock,
  bedrockMantle,
  cerebras,
  cohere,
  deepgram,
  deepseek,
  elevenlabs,
  fireworks,
  gemini,
  groq,
  huggingface,
  jina,
  minimax,
  mistral,
  moonshot,
  nvidiaNim,
  openai,
  openrouter,
  perplexity,
  sarvam,
  together,
  vertex,
  voyage,
  xai,
  zai,
];

export { manifests } from "./manifests.ts";
export { sandbox } from "./sandbox/index.ts";
