import type { Call, ChatRequest, ModelOptions } from "../../../contract/index.ts";
import type { PluginDefinition } from "../../define-plugin.ts";
import { precheckMultimodal } from "../../multimodal.ts";
import { withFunctionsAsTools } from "../../tools.ts";
import { messagesHandlers } from "../messages.ts";
import { readFault } from "./fault.ts";
import { fromEvents } from "./from-events.ts";
import { fromMessage, readUsage, toUsage } from "./from-message.ts";
import { toMessages } from "./to-messages.ts";

/** Later versions do without `temperature`: https://platform.claude.com/docs/en/api/versioning */
const headers = { "anthropic-version": "2023-06-01" };

/** What the `options` of a row of this dialect may have. */
const modelOptions: ModelOptions = {
  thinking: ["adaptive", "budget"],
  jsonSchema: "boolean",
  efforts: "texts",
  pass: "texts",
};

/** What a plugin of a dialect is made of beside its name, address and models. */
export type DialectParts = Required<Pick<PluginDefinition, "handlers">> &
  Pick<PluginDefinition, "checks" | "maxChoices" | "readFault" | "readUsage" | "modelOptions">;

/**
 * For providers that speak Anthropic's Messages protocol, with paths below `/messages`.
 *
 * @example
 * Object.keys(anthropic().handlers); // => ["chat", "countChatTokens", "messages", "countMessagesTokens"]
 */
export function anthropic(): DialectParts & { handlers: AnthropicHandlers } {
  return {
    handlers: {
      chat: Object.assign(withFunctionsAsTools(chat), { omits: () => [] }),
      countChatTokens,
      ...messagesHandlers({ headers, toUsage }),
    },
    checks: { chat: precheckMultimodal((request, { model, warn }) => toMessages(request, model, warn)) },
    maxChoices: { chat: 1 },
    modelOptions,
    readFault,
    readUsage,
  };
}

type AnthropicHandlers = Pick<
  PluginDefinition["handlers"],
  "chat" | "countChatTokens" | "messages" | "countMessagesTokens"
>;

async function chat({ request, model, upstream, warn }: Call<ChatRequest>) {
  const { body, reading } = toMessages(request, model, warn);
  if (body.stream) return fromEvents(await upstream.events("/messages", body, { headers }), reading);
  return fromMessage(await upstream.json("/messages", body, { headers }), reading, Date.now());
}

async function countChatTokens({ request, model, upstream }: Call<ChatRequest>): Promise<number> {
  const { body } = toMessages(request, model, () => undefined);
  const { max_tokens: _, stream: __, metadata: ___, stop_sequences: ____, temperature: _____, ...counted } = body;
  return (await upstream.json<{ input_tokens: number }>("/messages/count_tokens", counted, { headers })).input_tokens;
}
