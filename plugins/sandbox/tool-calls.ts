import { type ChatRequest, isRecord, type Tool, type ToolCall } from "modelgate/plugin";
import { exampleOf } from "./example.ts";
import { hashOf } from "./pieces.ts";

/** The calls to answer with: as `tool_choice` demands, or of the tools that the prompt names. None for plain text. */
export function toolCallsOf(request: ChatRequest, prompt: string, choice: number): ToolCall[] {
  const { tools, must } = offered(request);
  const named = tools.filter((tool) => prompt.includes(tool.function.name));
  const isAnswered = request.messages.at(-1)?.role === "tool";
  let called = isAnswered ? [] : named;
  if (must && called.length === 0) called = named.length > 0 ? named : tools.slice(0, 1);
  if (request.parallel_tool_calls === false) called = called.slice(0, 1);
  return called.map((tool, index) => toCall(tool, prompt, `${choice}/${index}`));
}

function offered(request: ChatRequest): { tools: Tool[]; must: boolean } {
  const { tool_choice: wanted } = request;
  const tools = request.tools ?? [];
  if (wanted === "none") return { tools: [], must: false };
  if (typeof wanted !== "object" || wanted === null) return { tools, must: wanted === "required" };
  if (wanted.type === "function") {
    return { tools: tools.filter((tool) => tool.function.name === wanted.function.name), must: true };
  }
  const { mode, tools: allowed } = wanted.allowed_tools as { mode?: unknown; tools?: unknown };
  const names = Array.isArray(allowed)
    ? allowed.map((tool) => isRecord(tool) && isRecord(tool.function) && tool.function.name)
    : [];
  return { tools: tools.filter((tool) => names.includes(tool.function.name)), must: mode === "required" };
}

function toCall({ function: { name, parameters } }: Tool, prompt: string, place: string): ToolCall {
  const id = `call_sandbox_${hashOf(`${name}/${prompt}/${place}`).toString(36)}`;
  const values = exampleOf({ type: "object", ...parameters }, prompt);
  return { id, type: "function", function: { name, arguments: JSON.stringify(values) } };
}
