import type { Call, Handlers, Model } from "../../contract/index.ts";
import { mapRequests } from "../map-requests.ts";
import { type OpenaiOptions, resolveOptions } from "./options.ts";

/** Where OpenAI has each of its endpoints. */
const ownPaths: readonly (readonly [capability: keyof OpenaiOptions, path: string])[] = [
  ["chat", "/chat/completions"],
  ["responses", "/responses"],
  ["embeddings", "/embeddings"],
  ["images", "/images/generations"],
  ["transcription", "/audio/transcriptions"],
  ["speech", "/audio/speech"],
  ["moderation", "/moderations"],
  ["rerank", "/rerank"],
];

/** The handlers, asking at the `path` of their options, or of the row where it has one. */
export function withPaths(handlers: Handlers, options: OpenaiOptions): Handlers {
  const isMoved = ownPaths.some(([capability]) => options[capability]?.path !== undefined);
  const mapped = mapRequests(handlers, ({ path, body, model }) => ({ path: toPath(path, model, options), body }));
  const entries = Object.entries(handlers).map(([name, handler]) => {
    const moved = mapped[name as keyof Handlers] as Handler;
    const choose: Handler = (call) =>
      (isMoved || call.model.options?.path !== undefined ? moved : (handler as Handler))(call);
    return [name, Object.assign(choose, { ...handler })];
  });
  return Object.fromEntries(entries) as Handlers;
}

type Handler = (call: Call<unknown>) => Promise<unknown>;

function toPath(path: string, model: Model, options: OpenaiOptions): string {
  const known = ownPaths.find(([, own]) => path === own || path.startsWith(`${own}/`));
  if (known === undefined) return path;
  const [capability, own] = known;
  // The path of a row is that of the endpoint that serves it.
  const isOfRow = capability === (model.endpoint ?? model.capability);
  const defaults = options[capability] ?? {};
  const given = isOfRow ? resolveOptions(defaults, model).path : defaults.path;
  if (given === undefined) return path;
  return given.replaceAll("{model}", encodeURIComponent(model.upstreamId)) + path.slice(own.length);
}
