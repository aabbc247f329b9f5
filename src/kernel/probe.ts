import { type Capability, GatewayError, makeCallId, UpstreamError } from "../contract/index.ts";
import type { Call, Model, ProviderPlugin } from "../provider/index.ts";
import { askOnce } from "./ask-route.ts";
import { answerSourceOf } from "./call.ts";
import { buildRegistry, type Credential } from "./routing/registry.ts";
import type { Network } from "./upstream/network.ts";

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
  /**
   * A model of the plugin, accepted by {@link isProbed}; absent: the probe lists the provider's models, by
   * `GET /models`.
   */
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

/** Placeholder for a plugin without models. */
const anyModel: Model = {
  id: "models",
  upstreamId: "models",
  capability: "chat",
  premium: false,
  ownedBy: "",
  created: 0,
};

/**
 * Sends a provider one small request outside of all calls: it affects no circuit, limit or bill.
 *
 * @throws {GatewayError} `conflict` when a key is missing.
 */
export async function probe(network: Network, { plugin, credential, msMax, ...options }: Probe): Promise<ProbeResult> {
  const model = options.model ?? plugin.models[0] ?? anyModel;
  const { registry } = buildRegistry([{ ...plugin, models: [model] }], () => credential);
  const route = registry.byName(model.id)?.routes[0];
  if (route === undefined) throw new GatewayError("conflict", `${plugin.name} has no key; set one first`);
  const startedMs = network.now();
  const lone = {
    id: makeCallId(Date.now()),
    owner: "probe",
    route,
    key: route.keys.take(startedMs),
    request: { model: model.id, ...requests[model.capability] },
    answerSource: answerSourceOf(model.capability),
    msMax,
  };
  try {
    const answer = await askOnce(network, lone, ({ handlers }, call) => {
      if (options.model === undefined) return call.upstream.json("/models", undefined, { method: "GET" });
      const handler = handlers[model.capability] as (input: Call<unknown>) => Promise<unknown>;
      return handler(call);
    });
    return { ms: network.now() - startedMs, error: undefined, ...(options.model === undefined && { answer }) };
  } catch (error) {
    return { ms: network.now() - startedMs, error: toUpstreamError(error) };
  }
}

function toUpstreamError(error: unknown): UpstreamError {
  if (error instanceof UpstreamError) return error;
  return new UpstreamError("bad_response", "Its answer could not be read", { cause: error });
}
