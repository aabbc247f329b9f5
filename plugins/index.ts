import type { ProviderPlugin } from "modelgate/plugin";
import anthropic from "./anthropic/index.ts";
import azure from "./azure/index.ts";
import bedrock from "./bedrock/index.ts";
import gemini from "./gemini/index.ts";
import groq from "./groq/index.ts";
import openai from "./openai/index.ts";
import sarvam from "./sarvam/index.ts";
import together from "./together/index.ts";
import vertex from "./vertex/index.ts";

/** The plugins compiled in. A new one is imported above and named here. */
export const builtIns: readonly ProviderPlugin[] = [
  anthropic,
  azure,
  bedrock,
  gemini,
  groq,
  openai,
  sarvam,
  together,
  vertex,
];

export { manifests } from "./manifests.ts";
export { sandbox } from "./sandbox/index.ts";
