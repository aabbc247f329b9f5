import { isRecord, JsonBoundsError, readJson } from "../lib/json.ts";
import { readShort } from "../lib/read-short.ts";
import { type AuthorizedRequest, type ModelRow, type ProviderPlugin, readCredential } from "../provider/index.ts";
import { getReason } from "./read-files.ts";

const answerBytesMax = 4 * 1024 * 1024;
const answerMsMax = 5000;
const modelsMax = 5000;

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** A provider did not list its models. The message is the reason. */
export class ListingError extends Error {
  /** Whether the provider answered with something other than a list: then an early retry would change nothing. */
  readonly isAnswer: boolean;

  constructor(message: string, isAnswer: boolean, cause?: unknown) {
    super(message, { cause });
    this.isAnswer = isAnswer;
  }
}

/** A model as its provider lists it. */
export interface DiscoveredModel {
  readonly id: string;
  /** Name for callers where the id is the path of a file, which says where the operator keeps it; absent: the id. */
  readonly name?: string;
  /** Seconds since 1970; 0 when the provider does not say. */
  readonly created: number;
  /** The most tokens of a prompt with its answer, and of an answer; absent where the provider does not say. */
  readonly contextTokens?: number;
  readonly outputTokensMax?: number;
  /** Features of a chat model that its provider does not deny; absent where it says nothing. */
  readonly features?: NonNullable<ModelRow["features"]>;
  /** Use of the model; absent where its provider does not say. */
  readonly use?: "chat" | "embeddings" | "other";
}

/** Where the models of a plugin are listed, and its key. */
export interface Place {
  readonly baseUrl: string;
  /** Whether the operator wrote it into the environment. */
  readonly isBaseUrlGiven: boolean;
  readonly key: string | undefined;
}

/** Throws unless requests to the host of a place are allowed, as for every other request to a provider. */
export type CheckHost = (place: Place) => Promise<void> | undefined;

/**
 * Lists the models of a provider: `GET /models` in the form of OpenAI, Anthropic, Gemini or Together.
 *
 * @throws {ListingError} When it does not answer with such a list in time.
 */
export async function discoverModels(
  plugin: ProviderPlugin,
  place: Place,
  { fetch, checkHost }: { fetch: Fetch; checkHost: CheckHost | undefined },
): Promise<DiscoveredModel[]> {
  const { baseUrl, key } = place;
  try {
    await checkHost?.(place);
    const url = `${baseUrl}/models?limit=1000`;
    const response = await fetch(url, {
      headers: key === undefined ? {} : await plugin.authorize(listing(url), readCredential(key)),
      redirect: "error",
      signal: AbortSignal.timeout(answerMsMax),
    });
    if (!response.ok) throw new ListingError(`it answered ${response.status}`, response.status < 500);
    const list = readModelList(
      readJsonOf(await readShort(response.body, answerBytesMax, () => new Error("its answer is larger than 4 MB"))),
    );
    if (list === undefined) throw new ListingError("it answered no list of models", true);
    return list.slice(0, modelsMax);
  } catch (cause) {
    const isAnswer = cause instanceof ListingError && cause.isAnswer;
    throw new ListingError(`GET /models failed (${getReason(cause)})`, isAnswer, cause);
  }
}

/** The request as `authorize` is shown it. Models are listed for those whose key is sent as it is, so no token is fetched. */
function listing(url: string): AuthorizedRequest {
  const postForm = () => Promise.reject(new Error("its models cannot be listed with a token"));
  return { method: "GET", url, headers: {}, body: undefined, postForm, askMachine: postForm };
}

function readJsonOf(text: string): unknown {
  try {
    return readJson(text, "file");
  } catch (cause) {
    // A parser quotes its input, and a provider's text must not get into the log.
    const reason = cause instanceof JsonBoundsError ? cause.message : "it is no JSON";
    throw new ListingError(`its answer cannot be read: ${reason}`, true, cause);
  }
}

/** The models of an answer to `GET /models`; `undefined` when it is no list. */
export function readModelList(answer: unknown): DiscoveredModel[] | undefined {
  const list = isRecord(answer) ? (answer.data ?? answer.models) : answer;
  if (!Array.isArray(list)) return undefined;
  return list.flatMap((entry) => {
    if (!isRecord(entry)) return [];
    const id = typeof entry.id === "string" ? entry.id : typeof entry.name === "string" ? entry.name : "";
    const created = Number.isSafeInteger(entry.created) ? (entry.created as number) : 0;
    const name = nameOfPath(id);
    return [
      {
        id: id.replace(/^models\//, ""),
        ...(name !== undefined && { name }),
        created: Math.max(0, created),
        ...readLimits(entry),
        ...readUse(entry),
      },
    ];
  });
}

/** The name of a model that is listed by its file, as llama.cpp does without `--alias`: `/srv/models/tiny.gguf` is `tiny`. */
function nameOfPath(id: string): string | undefined {
  if (!/^(?:\.{0,2}\/|~\/|[a-z]:[\\/])/i.test(id) && !/\.gguf$/i.test(id)) return undefined;
  return id
    .split(/[\\/]/)
    .at(-1)
    ?.replace(/\.gguf$/i, "");
}

/**
 * Features of a model: by the kinds of input that llama.cpp and OpenRouter list, and by the purpose that LiteLLM lists.
 */
function readUse({ architecture, mode }: Record<string, unknown>): Pick<DiscoveredModel, "features" | "use"> {
  const modalities: unknown = isRecord(architecture) ? architecture.input_modalities : undefined;
  const takes = (kind: string) => Array.isArray(modalities) && modalities.includes(kind);
  const features: NonNullable<ModelRow["features"]> = ["tools", "json_schema", "pdf"];
  if (takes("image")) features.push("vision");
  if (takes("audio")) features.push("audio");
  return {
    ...(takes("text") && { features }),
    ...(typeof mode === "string" && { use: useOfMode[mode] ?? "other" }),
  };
}

const useOfMode: Readonly<Record<string, "chat" | "embeddings">> = {
  chat: "chat",
  completion: "chat",
  responses: "chat",
  embedding: "embeddings",
};

/** The limits of a model, by the names of vLLM and SGLang, llama.cpp, LiteLLM, OpenRouter and Together. */
function readLimits({
  meta,
  ...entry
}: Record<string, unknown>): Pick<DiscoveredModel, "contextTokens" | "outputTokensMax"> {
  const runtime = isRecord(meta) ? meta.n_ctx : undefined;
  const limits = [entry.max_model_len, runtime, entry.context_length, entry.max_input_tokens, entry.context_window];
  const contextTokens = limits.find(isLimit);
  const outputTokensMax = isLimit(entry.max_output_tokens) ? entry.max_output_tokens : undefined;
  return { ...(contextTokens && { contextTokens }), ...(outputTokensMax && { outputTokensMax }) };
}

function isLimit(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0 && (value as number) <= 1e9;
}
