import { type Model, useModels } from "../models/api.ts";
import { pickExampleModel, pickSmallModel } from "../models/example-model.ts";
import { useStatus } from "../providers/api.ts";

/** The model that examples show, as {@link pickExampleModel} chooses it. */
export function useExampleModel(maker?: string): Model | undefined {
  const { models, isReachable } = useReachability();
  return pickExampleModel(models, maker, isReachable);
}

/**
 * Chooses a second model for the small work of an agent with {@link pickSmallModel}, among the models that can be
 * reached now.
 *
 * @param allowed The models of the key; absent: all.
 */
export function useSmallModel(main: Model | undefined, allowed?: readonly string[]): Model | undefined {
  const { models, isReachable } = useReachability();
  const mayUse = ({ id, name }: Model) => allowed === undefined || allowed.includes(id) || allowed.includes(name);
  return (
    main &&
    pickSmallModel(
      models.filter((model) => mayUse(model) && isReachable(model)),
      main,
    )
  );
}

/** All models, and which of them can be reached now. */
function useReachability(): { models: readonly Model[]; isReachable: (model: Model) => boolean } {
  const { data: models } = useModels();
  const { data: status } = useStatus();
  const away = new Set(status?.data.flatMap((provider) => provider.models));
  return { models: models?.data ?? [], isReachable: ({ id, name }) => !away.has(id) && !away.has(name) };
}
