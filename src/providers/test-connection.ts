import {
  compilePrice,
  costNanodollars,
  GatewayError,
  UpstreamError,
  type UpstreamErrorKind,
} from "../contract/index.ts";
import { ConnectionError, type Credential, getBaseUrl, isProbed, type Network, probe } from "../kernel/index.ts";
import { replaceTexts } from "../lib/escapes.ts";
import { getRetirement, getSecrets, type Model, type ProviderPlugin, readCredential } from "../provider/index.ts";
import { readModelList } from "./discover-models.ts";

const testMsMax = 20_000;
const messageMax = 400;
/** Maximum number of models called before the provider's models are listed instead: each call costs something. */
const modelsMax = 3;
/** Usage to compare prices by. No provider charges for a prompt smaller than the prompt of a test. */
const typicalUsage = { inputToken: 1000, outputToken: 100 };
/** Minimum length of a key that is shown with its last characters; in a shorter key they would reveal too much. */
const shownFrom = 12;

export interface TestResult {
  readonly ok: boolean;
  /** The model that was called; `null` when the models were listed instead. */
  readonly model: string | null;
  readonly host: string;
  readonly ms: number;
  /** The host that failed and the reason, with the provider's message and without any key; `null` when it answered. */
  readonly error: string | null;
  /** A hint although it works: models that the provider no longer has. */
  readonly note: string | null;
  /** The kind of the error. */
  readonly kind: UpstreamErrorKind | null;
}

export interface ConnectionTest {
  readonly plugin: ProviderPlugin;
  /** With the key to test, or none. */
  readonly credential: Credential;
  /** The model to call; absent: the cheapest that the provider has not retired, then the next. */
  readonly model?: string | undefined;
  readonly now: number;
}

/**
 * Sends a provider one small real request. If the provider does not have the model, this says nothing about the key:
 * the next model is called, and finally the models of the provider are listed.
 *
 * @throws {GatewayError} When there is nothing to send.
 */
export async function testConnection(
  network: Network,
  { plugin, credential, model, now }: ConnectionTest,
): Promise<TestResult> {
  const [key] = credential.keys;
  const route = {
    plugin,
    baseUrl: credential.baseUrl ?? plugin.baseUrl,
    isBaseUrlGiven: credential.baseUrl !== undefined,
  };
  const { host } = new URL(getBaseUrl(route, key === undefined ? undefined : readCredential(key)));
  const startedMs = network.now();
  const finish = (result: { model?: string; error?: UpstreamError | undefined; note?: string }): TestResult => ({
    ok: result.error === undefined,
    model: result.model ?? null,
    host,
    ms: Math.round(network.now() - startedMs),
    error: result.error === undefined ? null : describeUpstreamError(result.error, host, credential.keys),
    note: result.note ?? null,
    kind: result.error?.kind ?? null,
  });
  const ask = (one: Model | undefined) =>
    probe(network, { plugin, credential, model: one, msMax: Math.max(1, testMsMax - (network.now() - startedMs)) });
  const missing: { id: string; error: UpstreamError }[] = [];
  for (const one of model === undefined ? chooseModels(plugin, now) : [findModel(plugin, model)]) {
    const { error } = await ask(one);
    const note = describeMissing(missing);
    if (error?.kind !== "model_not_found" || model !== undefined) return finish({ model: one.id, error, ...note });
    missing.push({ id: one.id, error });
  }
  const { error, answer } = await ask(undefined);
  const list = error === undefined ? readModelList(answer) : undefined;
  if (list !== undefined) {
    const listed = `The key works: the provider lists ${list.length === 1 ? "1 model" : `${list.length} models`}`;
    return finish({ note: [listed, describeMissing(missing).note].filter(Boolean).join(". ") });
  }
  // Providers check the key first: an answer that the model no longer exists means that the key was accepted.
  const [first] = missing;
  if (first !== undefined && !first.error.isOfRequest && error?.kind !== "auth") {
    return finish({ note: `The key works. ${describeMissing(missing).note}` });
  }
  return finish({ error: first?.error ?? error ?? noList, ...(first && { model: first.id }) });
}

const noList = new UpstreamError("bad_response", "It answered no list of models");

/** Chooses models that the provider has not retired: chat models first, the cheapest first. */
function chooseModels({ models }: ProviderPlugin, now: number): Model[] {
  const costOf = ({ price }: Model) =>
    (price && costNanodollars(compilePrice(price), typicalUsage)) ?? Number.POSITIVE_INFINITY;
  return models
    .filter((model) => isProbed(model) && model.disabled !== true && getRetirement(model, now) !== "past")
    .map((model) => ({ model, isChat: model.capability === "chat", cost: costOf(model) }))
    .sort((one, other) => Number(other.isChat) - Number(one.isChat) || compare(one.cost, other.cost))
    .slice(0, modelsMax)
    .map(({ model }) => model);
}

function compare(one: number, other: number): number {
  return one === other ? 0 : one - other;
}

function findModel({ name, models }: ProviderPlugin, id: string): Model {
  const probedModel = models.find((model) => model.id === id && isProbed(model));
  if (probedModel !== undefined) return probedModel;
  const message = `${name} has no ${id} for chat or embeddings, which a test would call`;
  throw new GatewayError("invalid_request", message, { param: "model" });
}

function describeMissing(missing: readonly { id: string }[]): { note?: string } {
  if (missing.length === 0) return {};
  return { note: `The provider does not have ${missing.map(({ id }) => id).join(", ")} (any more)` };
}

/** Kinds whose message says all: the host is unknown, refuses connections, is late, or answers a page. */
const explained: ReadonlySet<UpstreamErrorKind> = new Set(["bad_response", "timeout"]);

/**
 * Host and cause of a failure: `api.example.com answered 503: Overloaded (overloaded)`, or that the key was rejected.
 *
 * @param keys They are hidden.
 */
export function describeUpstreamError(error: UpstreamError, host: string, keys: readonly string[]): string {
  const { kind, status, code, message, providerMessage } = error;
  const isOfKey = kind === "auth" || kind === "insufficient_quota";
  const facts = [status, code].filter((fact) => fact !== undefined).join(", ");
  const answered = status === undefined ? "" : ` answered ${status}`;
  const cause = error instanceof ConnectionError ? "" : describeCause(error.cause);
  const refusal =
    kind === "auth"
      ? `rejected the key${describeKey(keys)}`
      : `says that the account of the key${describeKey(keys)} is used up`;
  const details = isOfKey
    ? `${host} ${refusal}${facts === "" ? "" : ` (${facts})`}: ${providerMessage ?? message}`
    : `${host}${answered}: ${providerMessage ?? message}${cause}${explained.has(kind) ? "" : ` (${kind.replaceAll("_", " ")})`}`;
  return replaceTexts(details, keys.flatMap(getSecrets), "[hidden]").slice(0, messageMax);
}

function describeKey(keys: readonly string[]): string {
  const [key] = keys;
  const [shown = ""] = key === undefined ? [] : getSecrets(key);
  return keys.length !== 1 || shown.length < shownFrom || shown.startsWith("{") ? "" : ` ending in ${shown.slice(-4)}`;
}

function describeCause(cause: unknown): string {
  const code = (cause as { code?: unknown } | undefined)?.code;
  return typeof code === "string" && /^\w{1,64}$/.test(code) ? `, ${code}` : "";
}
