import { fillWallet, type Gateway, startGateway } from "../../support/gateway.ts";
import { type LedgerView, openCliStore } from "../../support/ledger-view.ts";
import { type ReplayUpstream, startReplayUpstream } from "../../support/replay-upstream.ts";

/** A gateway whose providers are all a replay upstream, and a look into its ledger. */
export interface Bench {
  gateway: Gateway;
  upstream: ReplayUpstream;
  ledger: LedgerView;
  stop(): Promise<void>;
}

/** Starts the pair, with a full wallet. */
export async function startBench(env: Record<string, string> = {}): Promise<Bench> {
  const upstream = await startReplayUpstream(20261121);
  const gateway = await startGateway({
    env: {
      ...credentialsOf(upstream),
      ...env,
    },
  });
  await fillWallet(gateway);
  const ledger = openCliStore(gateway.home);
  return {
    gateway,
    upstream,
    ledger,
    async stop() {
      ledger.close();
      await Promise.all([gateway.stop(), upstream.stop()]);
    },
  };
}

/** Where the recorded providers have their paths, below their names on the replay upstream. */
const suffixes: Record<string, string> = {
  anthropic: "/v1",
  gemini: "/v1beta",
  groq: "/openai/v1",
  openai: "/v1",
  sarvam: "",
  together: "/v1",
};

function credentialsOf(upstream: ReplayUpstream): Record<string, string> {
  const env: Record<string, string> = {};
  for (const [provider, suffix] of Object.entries(suffixes)) {
    env[`${provider.toUpperCase()}_API_KEY`] = `upstream-key-of-${provider}`;
    env[`${provider.toUpperCase()}_BASE_URL`] = upstream.baseUrlOf(provider, suffix);
  }
  return env;
}
