import {
  type Call,
  type ChatRequest,
  definePlugin,
  precheckMultimodal,
  readModels,
  withFunctionsAsTools,
} from "modelgate/plugin";
import rows from "../../catalogue/anthropic.json" with { type: "json" };
import { readFault } from "./fault.ts";
import { fromEvents } from "./from-events.ts";
import { fromMessage } from "./from-message.ts";
import { countMessagesTokens, messages } from "./native.ts";
import { toMessages } from "./to-messages.ts";
import { versionHeader as headers, type MessageAnswer } from "./wire.ts";

export default definePlugin({
  name: "anthropic",
  baseUrl: "https://api.anthropic.com/v1",
  authorize: (key) => ({ "x-api-key": key }),
  models: readModels(rows),
  handlers: { chat: withFunctionsAsTools(chat), messages, countMessagesTokens },
  checks: { chat: precheckMultimodal((request, { model, warn }) => toMessages(request, model, warn)) },
  maxChoices: { chat: 1 },
  readFault,
});

async function chat({ request, model, upstream, warn }: Call<ChatRequest>) {
  const { body, reading } = toMessages(request, model, warn);
  if (body.stream) return fromEvents(await upstream.events("/messages", body, { headers }), reading);
  return fromMessage(await upstream.json<MessageAnswer>("/messages", body, { headers }), reading, Date.now());
}
