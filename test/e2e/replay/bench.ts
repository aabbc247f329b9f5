import { completionOf } from "../../support/chunks.ts";
import { type Gateway, startGateway } from "../../support/gateway.ts";
import { type LedgerView, openCliStore } from "../../support/ledger-view.ts";
import { type ReplayUpstream, startReplayUpstream } from "../../support/replay-upstream.ts";
import { jsonReply } from "../../support/reply.ts";

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
    isFunded: true,
  });
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

/** More calls than fail in one test. */
const worksFirst = 20;

/** Makes calls that work, so that the failures of many tests do not open the circuit of a model of OpenAI. */
export async function keepCircuitClosed({ gateway, upstream }: Bench, model: string): Promise<void> {
  for (let call = 0; call < worksFirst; call++) {
    upstream.answer(
      "openai",
      jsonReply(completionOf("Yes", { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 })),
    );
    await gateway.post("/chat/completions", { model, messages: [{ role: "user", content: "Hello" }] });
  }
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
