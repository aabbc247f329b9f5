import { beforeEach, expect } from "bun:test";
import { readConfig } from "../../../../src/config/index.ts";
import type { Store } from "../../../../src/db/index.ts";
import type { Accounts } from "../../../../src/keys/index.ts";
import type { ChatCompletion, ChatRequest } from "../../../../src/provider/index.ts";
import { temporaryStore } from "../../../integration/db/temporary-store.ts";
import { completionOf } from "../../kernel/streams.ts";
import { caller, createPlugin } from "../../kernel/support.ts";
import { httpOf } from "../support.ts";

export const asked = { model: "chat-1", input: "Say hello" };
export const minuteMs = 60_000;
export let store: Store;
/** Gives each test of a file a store of its own. */
export function useStore(): void {
  beforeEach(async () => {
    store = await temporaryStore();
  });
}

/** A gateway over the store of this test, whose keys are the names of accounts, and what its provider was asked. */
export function gatewayOf(
  env: Record<string, string> = {},
  answer: () => ChatCompletion = () => completionOf("Hello"),
) {
  const asks: ChatRequest[] = [];
  const plugin = createPlugin({
    async chat({ request }) {
      asks.push(request);
      return answer();
    },
  });
  const authenticate = (token: string) => ({ ...caller, accountId: token });
  const accounts = { authenticate } as unknown as Accounts;
  const http = httpOf([plugin], { store, config: readConfig(env), accounts });
  const as = (account = "ada") => {
    const headers = { authorization: `Bearer ${account}` };
    const send = (path: string, method = "GET") => http.ask(path, { method, headers });
    return {
      send,
      post: (body: object) => http.post("responses", body, headers),
      create: async (body: object = asked) => {
        const response = await http.post("responses", body, headers);
        expect(response.status).toBe(200);
        return (await response.json()) as { id: string; store: boolean; output: { id: string }[] };
      },
    };
  };
  const lastAsk = () => asks.at(-1)?.messages.map(({ role, content }) => [role, content]);
  const warnings = () => http.log.lines.filter(({ level }) => level === "warn").map(({ event }) => event);
  return { ...http, ...as(), as, asks, lastAsk, warnings };
}

export function toolCall() {
  const answer = completionOf(null);
  const call = { id: "call_Qm4vT9xZ", type: "function" as const, function: { name: "add", arguments: '{"a":1}' } };
  const message = { role: "assistant" as const, content: null, tool_calls: [call] };
  return { ...answer, choices: [{ index: 0, message, finish_reason: "tool_calls" as const }] };
}
export const tools = [{ type: "function", name: "add", parameters: { type: "object" } }];
export const result = { type: "function_call_output", call_id: "call_Qm4vT9xZ", output: "three" };

/** Chat answers as long as this. */
export const long = (bytes: number) => () => completionOf("x".repeat(bytes));

export const rowsOf = () => store.db.selectFrom("stored_responses").selectAll().execute();
