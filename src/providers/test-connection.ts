import { getSecrets, type ProviderPlugin, readCredential, type UpstreamFault } from "../contract/index.ts";
import { ConnectionError, type Credential, getBaseUrl, type Network, probe } from "../kernel/index.ts";

const testMsMax = 20_000;
const messageMax = 300;

export interface TestResult {
  readonly ok: boolean;
  readonly model: string;
  readonly host: string;
  readonly ms: number;
  /** Which host failed and why, without any key; `null` when it answered. */
  readonly error: string | null;
}

/**
 * Sends a provider one small real request.
 *
 * @param credential With the key to test, or none.
 * @throws {GatewayError} When there is nothing to send.
 */
export async function testConnection(
  network: Network,
  plugin: ProviderPlugin,
  credential: Credential,
  model: string | undefined,
): Promise<TestResult> {
  const [key] = credential.keys;
  const route = {
    plugin,
    baseUrl: credential.baseUrl ?? plugin.baseUrl,
    isBaseUrlGiven: credential.baseUrl !== undefined,
  };
  const { host } = new URL(getBaseUrl(route, key === undefined ? undefined : readCredential(key)));
  const { fault, ms, ...tested } = await probe(network, { plugin, credential, model, msMax: testMsMax });
  const error = fault === undefined ? null : describeFault(fault, host, credential.keys);
  return { ok: fault === undefined, model: tested.model, host, ms: Math.round(ms), error };
}

/** Host and cause of a failure: `api.example.com: Cannot connect to the provider: connection refused`. */
export function describeFault(fault: UpstreamFault, host: string, keys: readonly string[]): string {
  const { kind, status, message } = fault;
  const answered = status === undefined ? "" : ` answered ${status}`;
  const cause = fault instanceof ConnectionError ? "" : describeCause(fault.cause);
  const details = `${host}${answered}: ${message}${cause} (${kind.replaceAll("_", " ")})`;
  return keys
    .flatMap(getSecrets)
    .reduce((text, key) => text.replaceAll(key, "[hidden]"), details)
    .slice(0, messageMax);
}

function describeCause(cause: unknown): string {
  const code = (cause as { code?: unknown } | undefined)?.code;
  return typeof code === "string" && /^\w{1,64}$/.test(code) ? `, ${code}` : "";
}
