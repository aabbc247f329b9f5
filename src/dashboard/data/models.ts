import useSWR from "swr";
import { api, told } from "./api.ts";

const getModels = () => told(api.models.get());

export type Model = Awaited<ReturnType<typeof getModels>>["data"][number];
export type Capability = Model["capability"];

export const capabilityNames: Record<Capability, string> = {
  chat: "Chat",
  embeddings: "Embeddings",
  images: "Images",
  transcription: "Speech to text",
  speech: "Text to speech",
};

/** What can be served now. */
export function useModels() {
  return useSWR("models", getModels, { refreshInterval: 60_000 });
}

/** Whether its provider has taken it out of service. */
export function isRetired({ retiredOn }: Pick<Model, "retiredOn">, now: number = Date.now()): boolean {
  return retiredOn !== undefined && Date.parse(retiredOn) <= now;
}
