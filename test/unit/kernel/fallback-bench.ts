import { UpstreamError } from "../../../src/contract/index.ts";
import { createVirtualModel } from "../../../src/kernel/index.ts";
import { fromIterable, type Handlers, type Model, type VirtualModelRow } from "../../../src/provider/index.ts";
import { completionOf, finishChunk, textChunk, usageChunk } from "./streams.ts";
import { type Bench, chatCall, chatModel, createBench, createPlugin } from "./support.ts";

export type Chat = NonNullable<Handlers["chat"]>;

export const unavailable: Chat = () => Promise.reject(new UpstreamError("overloaded", "Busy", { status: 503 }));
export const works: Chat = async ({ request, model }) => {
  if (request.stream !== true) return completionOf(`From ${model.id}`);
  return fromIterable(
    (async function* () {
      yield textChunk(`From ${model.id}`);
      yield finishChunk();
      yield usageChunk();
    })(),
  );
};

/** A plugin for each model, with the model's name. */
export function bench(chats: Record<string, Chat>, rows: Record<string, Partial<Model>> = {}): Bench {
  return createBench(
    Object.entries(chats).map(([id, chat]) =>
      createPlugin({ chat }, { name: id, models: [{ ...chatModel, id, ...rows[id] }] }),
    ),
  );
}

export function withVirtual({ kernel }: Bench, ...rows: VirtualModelRow[]): void {
  const { registry } = kernel;
  const virtual = rows.map((row) => [row.id, createVirtualModel(row, (name) => registry.byName(name))] as const);
  kernel.registry = registry.withVirtual(new Map(virtual));
}

export function listed(models: readonly string[], request: Record<string, unknown> = {}, options = {}) {
  return chatCall({ model: models[0], ...request }, { ...options, models });
}
