import useSWR from "swr";
import { api, request } from "../../data/api.ts";

const getModels = () => request(api.models.get());

export type Model = Awaited<ReturnType<typeof getModels>>["data"][number];
export type Capability = Model["capability"];

export const capabilityNames: Record<Capability, string> = {
  chat: "Chat",
  embeddings: "Embeddings",
  images: "Images",
  transcription: "Transcription",
  speech: "Speech",
};

/** What a chat model can do beside answering text by text. */
export const featureNames: Readonly<Record<string, string>> = {
  vision: "Vision",
  tools: "Tools",
  json_schema: "JSON schema",
  audio: "Audio input",
  pdf: "PDF input",
  reasoning: "Reasoning",
};

/** What is known that a model can do; a model of which nothing is known has none. */
export function listFeatures({ features = [], reasoning }: Pick<Model, "features" | "reasoning">): readonly string[] {
  return reasoning === true ? [...features, "reasoning"] : features;
}

/** The models that can be called now. */
export function useModels() {
  return useSWR("models", getModels, { refreshInterval: 60_000 });
}

/** Whether its provider ends it within 60 days. */
export function retiresSoon(model: Pick<Model, "retiredOn">, now: number = Date.now()): boolean {
  return !isRetired(model, now) && isRetired(model, now + 60 * 86_400_000);
}

export function isRetired({ retiredOn }: Pick<Model, "retiredOn">, now: number = Date.now()): boolean {
  return retiredOn !== undefined && Date.parse(retiredOn) <= now;
}

/** Prefers a free chat model that is not retired, so that the example works. */
export function pickExampleModel(models: readonly Model[]): string | undefined {
  const chats = models.filter(({ capability }) => capability === "chat");
  const current = chats.filter((model) => !isRetired(model));
  return (current.find(({ premium }) => !premium) ?? current[0] ?? chats[0])?.id;
}
