import llamaCpp from "./manifests/llama-cpp.json" with { type: "json" };
import lmStudio from "./manifests/lm-studio.json" with { type: "json" };
import ollama from "./manifests/ollama.json" with { type: "json" };
import sglang from "./manifests/sglang.json" with { type: "json" };
import vllm from "./manifests/vllm.json" with { type: "json" };

/** Ready manifests of servers that people run themselves, by name. Each is served where `<NAME>_BASE_URL` says that there is one. */
export const manifests: Readonly<Record<string, unknown>> = {
  "llama-cpp": llamaCpp,
  "lm-studio": lmStudio,
  ollama,
  sglang,
  vllm,
};
