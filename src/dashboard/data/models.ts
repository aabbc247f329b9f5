import useSWR from "swr";
import { api, request } from "./api.ts";

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

/** The models that can be called now. */
export function useModels() {
  return useSWR("models", getModels, { refreshInterval: 60_000 });
}

export function isRetired({ retiredOn }: Pick<Model, "retiredOn">, now: number = Date.now()): boolean {
  return retiredOn !== undefined && Date.parse(retiredOn) <= now;
}

const noticeMs = 90 * 86_400_000;

/** Whether the provider has announced the end of a model for the next three months. */
export function retiresSoon(model: Pick<Model, "retiredOn">, now: number = Date.now()): boolean {
  return model.retiredOn !== undefined && !isRetired(model, now) && Date.parse(model.retiredOn) - now < noticeMs;
}
