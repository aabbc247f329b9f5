import {
  type Call,
  type ChatRequest,
  definePlugin,
  messagesHandlers,
  precheckMultimodal,
  readModels,
  withFunctionsAsTools,
} from "modelgate/plugin";
import rows from "../../catalogue/anthropic.json" with { type: "json" };
import current from "../../catalogue/current/anthropic.json" with { type: "json" };
import { readFault } from "./fault.ts";
import { fromEvents } from "./from-events.ts";
import { fromMessage, readUsage, toUsage } from "./from-message.ts";
import { toMessages } from "./to-messages.ts";

/** Later versions do without `temperature`: https://platform.claude.com/docs/en/api/versioning */
const headers = { "anthropic-version": "2023-06-01" };
export default definePlugin({
  name: "anthropic",
  baseUrl: "https://api.anthropic.com/v1",
  authorize: (_, { key }) => ({ "x-api-key": key, ...headers }),
  models: readModels([...rows.models, ...current.models]),
  handlers: {
    chat: Object.assign(withFunctionsAsTools(chat), { omits: () => [] }),
    countChatTokens,
    ...messagesHandlers({ headers, toUsage }),
  },
  checks: { chat: precheckMultimodal((request, { model, warn }) => toMessages(request, model, warn)) },
  maxChoices: { chat: 1 },
  readFault,
  readUsage,
});

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
