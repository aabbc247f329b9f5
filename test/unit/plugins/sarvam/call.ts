import type { Call, Model, ServerEvent } from "modelgate/plugin";
import sarvam from "../../../../plugins/sarvam/index.ts";

/** What a handler asked of the provider. */
export interface CheckInput {
  path: string;
  body: Record<string, unknown>;
}

/** The provider as a test plays it: JSON for a body or a form, events for a stream. */
interface Played {
  json?: unknown;
  events?: ServerEvent[];
}

/** The row of a model of this plugin. @throws When there is none. */
export function rowOf(id: string): Model {
  const row = sarvam.models.find((model) => model.id === id);
  if (row === undefined) throw new Error(`Sarvam has no model ${id}`);
  return row;
}

/** A call with a provider that answers what the test says, and the list of what it was asked and what was noted. */
export function playCall<Request>(id: string, request: Request, { json, events = [] }: Played) {
  const asked: CheckInput[] = [];
  const notes: string[] = [];
  const take = (path: string, body: unknown) => {
    const fields = body instanceof FormData ? Object.fromEntries(body as unknown as Iterable<[string, unknown]>) : body;
    asked.push({ path, body: fields as Record<string, unknown> });
  };
  const answer = async (path: string, body: unknown) => {
    take(path, body);
    return structuredClone(json) as never;
  };
  const upstream: Call<Request>["upstream"] = {
    baseUrl: "https://sarvam.example",
    json: answer,
    form: answer,
    async events(path, body) {
      take(path, body);
      return (async function* () {
        yield* events;
      })();
    },
    bytes: () => Promise.reject(new Error("Sarvam is not asked for bytes")),
    webSocket: () => Promise.reject(new Error("Sarvam is not asked by WebSocket")),
    download: () => Promise.reject(new Error("Sarvam needs no download")),
  };
  const call: Call<Request> = {
    id: "req_1",
    request,
    model: rowOf(id),
    signal: new AbortController().signal,
    upstream,
    warn: (sentence) => notes.push(sentence),
  };
  return { call, asked, notes };
}
