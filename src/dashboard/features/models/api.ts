import useSWR from "swr";
import { api, request } from "../../data/api.ts";
import { isRetired } from "./retirement.ts";

const getModels = () => request(api.models.get());

export type Model = Awaited<ReturnType<typeof getModels>>["data"][number];
/** A row of a catalogue, without what the list of models adds. */
export type ModelRow = Omit<Model, "name" | "members">;
export type Capability = Model["capability"];

export const capabilityNames: Record<Capability, string> = {
  chat: "Chat",
  embeddings: "Embeddings",
  images: "Images",
  transcription: "Transcription",
  speech: "Speech",
  moderation: "Moderation",
  rerank: "Rerank",
};

export const capabilityChoices = Object.entries(capabilityNames) as [Capability, string][];

/** The names of the kinds of calls, also at the further endpoints of a model. */
export const callNames = { ...capabilityNames, imageEdits: "Image edits", translation: "Translation" };

/** Names of the features that a chat model may have in addition to answering text with text. */
export const featureNames: Readonly<Record<string, string>> = {
  vision: "Vision",
  tools: "Tools",
  json_schema: "JSON schema",
  audio: "Audio input",
  pdf: "PDF input",
  edits: "Image edits",
  translation: "Translation",
  reasoning: "Reasoning",
};

/** Features of a model that the catalogue lists; empty if it lists none. */
export function listFeatures({ features = [], reasoning }: Pick<Model, "features" | "reasoning">): readonly string[] {
  return reasoning === true ? [...features, "reasoning"] : features;
}

/** The other names of a model in requests. */
export function listOtherNames({ id, name, aliases = [] }: Pick<Model, "id" | "name" | "aliases">): readonly string[] {
  return [...new Set([...aliases, id])].filter((each) => each !== name);
}

/** The models that can be called now. */
export function useModels() {
  return useSWR("models", getModels, { refreshInterval: 60_000 });
}

/** Returns a function from the id of a model to its name, or to the id itself for a model that is not listed. */
export function useModelNames(): (id: string) => string {
  const { data } = useModels();
  const names = new Map(data?.data.map(({ id, name }) => [id, name]));
  return (id) => names.get(id) ?? id;
}

/** The order of a list to choose from: current models by their names, then those that have ended. */
export function byName(one: Model, other: Model): number {
  return Number(isRetired(one)) - Number(isRetired(other)) || one.name.localeCompare(other.name);
}
