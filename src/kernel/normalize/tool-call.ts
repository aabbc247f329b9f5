import { type ChatRequest, GatewayError, type ProviderPlugin, type ToolCall } from "../../contract/index.ts";
import { isRecord } from "../../lib/json.ts";

/** A tool call as it may come from outside: of a function, or of a custom tool. */
export interface AnyToolCall {
  type?: unknown;
  function?: { name?: string; arguments?: string };
  custom?: { name?: string; input?: string };
}

/** The name and the text of a tool call, or of a piece of one. */
export function getCallTexts(call: ToolCall | AnyToolCall): (string | undefined)[] {
  const { function: called, custom }: AnyToolCall = call;
  return isRecord(custom) ? [custom.name, custom.input] : [called?.name, called?.arguments];
}

/** @throws {GatewayError} `invalid_request` for a custom tool, or a call of one, where not every plugin takes them. */
export function checkCustomTools(request: ChatRequest, routes: readonly { plugin: ProviderPlugin }[]): void {
  if (routes.every(({ plugin }) => plugin.takes?.includes("customTools"))) return;
  const { tools, tool_choice: choice, messages } = request;
  if (typeof choice === "object") refuseCustom(choice, "tool_choice");
  for (const [index, tool] of Object.entries(tools ?? [])) refuseCustom(tool, `tools[${index}]`);
  for (const [index, { tool_calls: calls }] of messages.entries()) {
    for (const [position, call] of (calls ?? []).entries())
      refuseCustom(call, `messages[${index}].tool_calls[${position}]`);
  }
}

function refuseCustom(member: object | null, place: string): void {
  if ((member as AnyToolCall | null)?.type !== "custom") return;
  const sentence = `${place}.type is "custom", but this model takes only function tools; use one with a string property`;
  throw new GatewayError("invalid_request", sentence, { param: `${place}.type` });
}
