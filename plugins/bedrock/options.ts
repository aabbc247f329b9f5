import type { Model } from "modelgate/plugin";
import type { ModelOptions } from "../../src/provider/index.ts";

/** Options of a row. */
export const modelOptions: ModelOptions = {
  /** How the model is switched to reasoning: Claude's two ways, or `reasoning_effort` among the model's own fields. */
  thinking: ["adaptive", "budget", "effort"],
  /** The efforts that it takes. */
  efforts: "texts",
  /** Whether Converse holds its answer to a JSON schema; else a tool is forced, if it has tools. */
  jsonSchema: "boolean",
  /** Whether it takes cache points. */
  cachePoints: "boolean",
  /** Whether a tool can be demanded. */
  toolChoice: "boolean",
};

/** Claude's reasoning is signed, and takes part in a conversation. */
export const isClaude = ({ upstreamId }: Model) => upstreamId.includes("anthropic.");
