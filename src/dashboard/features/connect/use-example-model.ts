import { type Model, useModels } from "../models/api.ts";
import { pickExampleModel, pickSmallModel } from "../models/example-model.ts";
import { useStatus } from "../providers/api.ts";

/** The model that examples show, as {@link pickExampleModel} chooses it from those that can be reached now. */
export function useExampleModel(maker?: string): Model | undefined {
  return pickExampleModel(useReachable(), maker);
}

/**
 * The model for the small work of an agent beside this one, as {@link pickSmallModel} chooses it from those that can be reached now.
 *
 * @param allowed The models of the key; absent: all.
 */
export function useSmallModel(main: Model | undefined, allowed?: readonly string[]): Model | undefined {
  const models = useReachable();
  const mayUse = ({ id, name }: Model) => allowed === undefined || allowed.includes(id) || allowed.includes(name);
  return main && pickSmallModel(models.filter(mayUse), main);
}

function useReachable(): readonly Model[] {
  const { data: models } = useModels();
  const { data: status } = useStatus();
  const away = new Set(status?.data.flatMap((provider) => provider.models));
  return (models?.data ?? []).filter(({ id, name }) => !away.has(id) && !away.has(name));
}
