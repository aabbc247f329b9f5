import useSWR from "swr";
import { api, request } from "../../data/api.ts";
import { useStatus } from "../providers/api.ts";

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

/** The names of the kinds of calls, also at the further endpoints of a model. */
export const callNames = { ...capabilityNames, imageEdits: "Image edits", translation: "Translation" };

/** The features of a chat model beside answering text by text. */
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

/** The known features of a model; a model of which nothing is known has none. */
export function listFeatures({ features = [], reasoning }: Pick<Model, "features" | "reasoning">): readonly string[] {
  return reasoning === true ? [...features, "reasoning"] : features;
}

/** The other names of a model in requests. */
export function listOtherNames({ id, name, aliases = [] }: Model): readonly string[] {
  return [...new Set([...aliases, id])].filter((each) => each !== name);
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

/** The name by which people know a model, by its id; the id itself for a model that is not listed. */
export function useModelNames(): (id: string) => string {
  const { data } = useModels();
  const names = new Map(data?.data.map(({ id, name }) => [id, name]));
  return (id) => names.get(id) ?? id;
}

/** A model that an answer of a thousand tokens costs no more than a few cents, in dollars per million tokens of output. */
const outputUsdMax = 30;
/** The smallest context that a coding agent needs. */
const agentContextTokens = 100_000;

/** The maker whose protocol most clients speak: an example for any client shows one of its models, where there is one. */
const makerDefault = "openai";

/** The model that examples show, as {@link pickExampleModel} chooses it from those that can be reached now. */
export function useExampleModel(maker?: string): Model | undefined {
  const { data: models } = useModels();
  const { data: status } = useStatus();
  const away = new Set(status?.data.flatMap((provider) => provider.models));
  return pickExampleModel(
    (models?.data ?? []).filter(({ id, name }) => !away.has(id) && !away.has(name)),
    maker,
  );
}

/**
 * A chat model for an example: a capable one, if possible of this maker, that its own name calls. Capable is one that is not
 * retired, uses tools, and has room for the files of an agent and a known price. Dear ones, of which the first call might empty a
 * wallet, come after others. Of those that remain it is the latest version, and of one version the dearest, which a maker has for
 * the hardest work: the date of a row is often that of the catalogue.
 */
export function pickExampleModel(models: readonly Model[], maker = makerDefault): Model | undefined {
  const chats = models.filter(({ capability, members }) => capability === "chat" && members === null);
  const rank = (model: Model) => {
    const outputUsd = outputUsdOf(model);
    return [
      Number(!isRetired(model)),
      Number(model.ownedBy === maker),
      Number(model.features?.includes("tools") === true),
      Number((model.contextTokens ?? 0) >= agentContextTokens),
      Number(outputUsd !== undefined),
      Number(!retiresSoon(model)),
      Number((outputUsd ?? 0) <= outputUsdMax),
      // Names such as `alibaba/glm-5.2` are of those who serve models of others too.
      Number(!model.name.includes("/")),
      ...versionOf(model.name),
      outputUsd ?? 0,
      model.created,
    ];
  };
  return chats.toSorted((one, other) => compareRanks(rank(other), rank(one)) || one.id.localeCompare(other.id))[0];
}

/** The version that a name tells, such as 6 and 1 of `gpt-6.1-sol`; sizes such as `24b` and dates are none. */
function versionOf(name: string): [major: number, minor: number] {
  const [, major = 0, minor = 0] = /(?<!\d)(\d{1,2})(?![\da-z])(?:[.-](\d{1,2})(?![\da-z]))?/.exec(name) ?? [];
  return [Number(major), Number(minor)];
}

/** Dollars per million tokens of output; absent: unknown, or of a model that has no such price. */
function outputUsdOf({ price }: Model): number | undefined {
  const rate = price?.outputToken;
  return rate === undefined ? undefined : (Number(rate.usd) / rate.per) * 1e6;
}

function compareRanks(one: readonly number[], other: readonly number[]): number {
  for (const [place, value] of one.entries()) {
    const difference = value - (other[place] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** The order of a list to choose from: current models by their names, then those that have ended. */
export function byName(one: Model, other: Model): number {
  return Number(isRetired(one)) - Number(isRetired(other)) || one.name.localeCompare(other.name);
}
