import { describe, expect, test } from "bun:test";
import { useAgentsGateway } from "../../support/agents-gateway.ts";
import { parseEvents } from "../../support/sse.ts";

const shared = useAgentsGateway();

/** What each provider reports of every answer: [read from its cache, written to it, other input, output]. */
const reported: Record<string, [model: string, counts: number[]]> = {
  openai: ["gpt-5.4", [64, 0, 36, 20]],
  anthropic: ["claude-sonnet-4-6", [700, 10, 90, 20]],
  gemini: ["gemini-3-flash-preview", [40, 0, 60, 20]],
};

// biome-ignore lint/suspicious/noExplicitAny: each protocol has a shape of its own
type Usage = any;

/** How a client asks in each protocol, and what it reads of the usage in an answer. */
const protocols: Record<string, { path: string; body: object; read(usage: Usage): number[] }> = {
  chat: {
    path: "/chat/completions",
    body: { messages: [{ role: "user", content: "Hi" }], stream_options: { include_usage: true } },
    read: ({
      prompt_tokens: input,
      prompt_tokens_details: { cached_tokens: read, cache_write_tokens: written = 0 },
    }) => [read, written, input - read - written],
  },
  responses: {
    path: "/responses",
    body: { input: "Hi" },
    read: ({ input_tokens: input, input_tokens_details: { cached_tokens: read, cache_write_tokens: written = 0 } }) => [
      read,
      written,
      input - read - written,
    ],
  },
  messages: {
    path: "/messages",
    body: { max_tokens: 100, messages: [{ role: "user", content: "Hi" }] },
    read: ({ input_tokens: input, cache_read_input_tokens: read, cache_creation_input_tokens: written }) => [
      read,
      written,
      input,
    ],
  },
};

describe.each(Object.keys(protocols))("tokens read from a cache by %s", (protocol) => {
  const { path, body, read } = protocols[protocol] as (typeof protocols)[string];

  test.each(Object.keys(reported))(
    "of %s are the same for the provider, the client and the ledger",
    async (provider) => {
      const [model, counts] = reported[provider] as [string, number[]];
      for (const stream of [false, true]) {
        const { stream_options: options, ...plain } = body as { stream_options?: object };
        const fields = stream ? { ...plain, stream, ...(options && { stream_options: options }) } : plain;
        const response = await shared.gateway.post(path, { model, ...fields });
        const text = await response.text();
        const parts = stream ? parseEvents<Usage>(text).events : [JSON.parse(text)];
        // Anthropic's own stream has the input in its first event alone.
        const usages = parts.map(({ usage, response, message }) => usage ?? response?.usage ?? message?.usage);
        const told: Usage = Object.assign({}, ...usages.filter(Boolean));
        expect([...read(told), told.completion_tokens ?? told.output_tokens]).toEqual(counts);
        const row = shared.ledger.callOf(response);
        const { cache_read_tokens, cache_write_tokens, input_tokens, output_tokens } = row;
        expect([cache_read_tokens ?? 0, cache_write_tokens ?? 0, input_tokens, output_tokens]).toEqual(counts);
        expect(row).toMatchObject({ state: "settled", usage_source: "reported", plugin: provider });
      }
    },
  );
});
