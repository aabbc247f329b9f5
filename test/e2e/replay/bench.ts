import { type Books, openBooks } from "../../support/books.ts";
import { fillWallet, type Gateway, startGateway } from "../../support/gateway.ts";
import { type ReplayUpstream, startReplayUpstream } from "../../support/replay-upstream.ts";

export { hookMsMax } from "../../support/gateway.ts";

/** A gateway whose providers openai, groq and together are a replay upstream, and a look into its books. */
export interface Bench {
  gateway: Gateway;
  upstream: ReplayUpstream;
  books: Books;
  stop(): Promise<void>;
}

/** Starts the pair, with a full wallet. */
export async function startBench(env: Record<string, string> = {}): Promise<Bench> {
  const upstream = await startReplayUpstream(20261121);
  const gateway = await startGateway({
    env: {
      OPENAI_API_KEY: "sk-upstream-openai",
      OPENAI_BASE_URL: upstream.baseUrlOf("openai", "/v1"),
      GROQ_API_KEY: "gsk_upstream_groq",
      GROQ_BASE_URL: upstream.baseUrlOf("groq", "/openai/v1"),
      TOGETHER_API_KEY: "tgp_upstream_together",
      TOGETHER_BASE_URL: upstream.baseUrlOf("together", "/v1"),
      ...env,
    },
  });
  await fillWallet(gateway);
  const books = openBooks(gateway.home);
  return {
    gateway,
    upstream,
    books,
    async stop() {
      books.close();
      await Promise.all([gateway.stop(), upstream.stop()]);
    },
  };
}
