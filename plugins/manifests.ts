import deepseek from "./manifests/deepseek.json" with { type: "json" };
import fireworks from "./manifests/fireworks.json" with { type: "json" };
import llamaCpp from "./manifests/llama-cpp.json" with { type: "json" };
import lmStudio from "./manifests/lm-studio.json" with { type: "json" };
import mistral from "./manifests/mistral.json" with { type: "json" };
import ollama from "./manifests/ollama.json" with { type: "json" };
import openrouter from "./manifests/openrouter.json" with { type: "json" };
import vllm from "./manifests/vllm.json" with { type: "json" };
import xai from "./manifests/xai.json" with { type: "json" };

/** Ready manifests of servers and hosts that many use, by name. They are not loaded by themselves. */
export const manifests: Readonly<Record<string, unknown>> = {
  deepseek,
  fireworks,
  "llama-cpp": llamaCpp,
  "lm-studio": lmStudio,
  mistral,
  ollama,
  openrouter,
  vllm,
  xai,
};
