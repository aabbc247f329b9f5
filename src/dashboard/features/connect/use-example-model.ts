import { type Model, useModels } from "../models/api.ts";
import { pickExampleModel } from "../models/example-model.ts";
import { useStatus } from "../providers/api.ts";

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
