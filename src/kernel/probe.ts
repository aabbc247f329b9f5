import { type Capability, GatewayError, makeCallId, UpstreamError } from "../contract/index.ts";
import type { Model, ProviderPlugin } from "../provider/index.ts";
import { Attempt, ClientCall, ModelRun } from "./call.ts";
import { UsageMeter } from "./normalize/usage-meter.ts";
import { buildRegistry, type Credential } from "./routing/registry.ts";
import type { Network } from "./upstream/network.ts";
import { BoundUpstream } from "./upstream/upstream.ts";

/** The request of a probe, by what the model does: as small as the providers take. */
const requests: Partial<Record<Capability, object>> = {
  chat: { messages: [{ role: "user", content: "Say OK" }], max_completion_tokens: 16 },
  embeddings: { input: "OK" },
};

/** Whether a probe can call a model: one that is cheap to call. */
export const isProbed = ({ capability }: Pick<Model, "capability">): boolean => requests[capability] !== undefined;

/** Target of a probe: a plugin, one of its models, and one of its keys. */
export interface Probe {
  readonly plugin: ProviderPlugin;
  /** A model of the plugin that {@link isProbed}; absent: the provider is asked to list its models, by `GET /models`. */
  readonly model: Model | undefined;
  readonly credential: Credential;
  readonly msMax: number;
}

export interface ProbeResult {
  readonly ms: number;
  /** The provider's answer if its models were listed. */
  readonly answer?: unknown;
  /** Absent when the provider answered as it should. */
  readonly error: UpstreamError | undefined;
}

const caller = {
  accountId: "probe",
  keyId: "probe",
  limits: { requestsPerMinute: 1, tokensPerMinute: 1 },
  freeTokensPerDay: 0,
};
/** Stands for a model where the plugin has none. */
const anyModel: Model = {
  id: "models",
  upstreamId: "models",
  capability: "chat",
  premium: false,
  ownedBy: "",
  created: 0,
};

/**
 * Sends a provider one small request, beside all calls: no circuit, limit or bill knows of it.
 *
 * @throws {GatewayError} `conflict` when a key is missing.
 */
export async function probe(network: Network, { plugin, credential, msMax, ...options }: Probe): Promise<ProbeResult> {
  const model = options.model ?? plugin.models[0] ?? anyModel;
  const { registry } = buildRegistry([{ ...plugin, models: [model] }], () => credential);
  const modelEntry = registry.byName(model.id);
  const route = modelEntry?.routes[0];
  if (modelEntry === undefined || route === undefined) {
    throw new GatewayError("conflict", `${plugin.name} has no key; set one first`);
  }
  const startedMs = network.now();
  const id = makeCallId(Date.now());
  const request = { model: model.id, ...requests[model.capability] };
  const call = new ClientCall({
    id,
    openedAt: Date.now(),
    startedMs,
    caller,
    capability: model.capability,
    body: request as never,
    protocol: "chat",
  });
  const run = new ModelRun(call, { modelEntry }, { usageMeterOf: () => new UsageMeter(async () => ({})) });
  const attempt = new Attempt(run, route, route.keys.take(startedMs), startedMs);
  const upstream = new BoundUpstream(network, attempt);
  const handler = route.plugin.handlers[model.capability] as (input: object) => Promise<unknown>;
  const timer = setTimeout(() => call.cancel("timeout"), msMax);
  try {
    const { signal } = attempt;
    const list = () => upstream.json("/models", undefined, { method: "GET" });
    const ask = () => handler({ id, request, model, signal, upstream, warn: () => undefined });
    const answer = await call.untilCancelled(options.model === undefined ? list() : ask());
    return { ms: network.now() - startedMs, error: undefined, ...(options.model === undefined && { answer }) };
  } catch (error) {
    return { ms: network.now() - startedMs, error: toUpstreamError(error, call, msMax) };
  } finally {
    clearTimeout(timer);
    attempt.abort();
  }
}

function toUpstreamError(error: unknown, { cancelReason }: ClientCall, msMax: number): UpstreamError {
  if (cancelReason === "timeout") return new UpstreamError("timeout", `It did not answer within ${msMax / 1000} s`);
  if (error instanceof UpstreamError) return error;
  return new UpstreamError("bad_response", "Its answer could not be read", { cause: error });
}
