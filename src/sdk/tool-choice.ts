import type { ChatRequest } from "../contract/index.ts";
import { isRecord } from "./record.ts";
import { badRequest } from "./refuse.ts";

/** What `tool_choice` comes to, in all its forms. */
export interface ToolDecision {
  mode: "none" | "auto" | "required";
  /** The functions that may be called, when not all may: the one that is named, or those of `allowed_tools`. */
  names?: string[];
}

/**
 * Reads `tool_choice` against the request's tools.
 *
 * @returns `undefined` when nothing is chosen, or there are no tools to choose from.
 * @throws {GatewayError} `invalid_request` when it demands a call without tools, or names what is none of them.
 *
 * @example
 * const tools = [{ type: "function", function: { name: "weather" } }];
 * readToolChoice({ tools, tool_choice: "required" }); // => { mode: "required" }
 */
export function readToolChoice({ tool_choice: choice, tools }: ChatRequest): ToolDecision | undefined {
  const known = (tools ?? []).map((tool) => tool.function.name);
  if (choice === undefined || choice === null) return undefined;
  const decision = typeof choice === "string" ? { mode: choice } : readNames(choice);
  const stranger = decision.names?.find((name) => !known.includes(name));
  if (stranger !== undefined) {
    throw badRequest(`tool_choice names ${stranger}, expected one of the tools: ${known.join(", ")}`, "tool_choice");
  }
  if (known.length > 0) return decision;
  if (decision.mode === "required") throw badRequest("tool_choice demands a call, expected tools", "tool_choice");
  return undefined;
}

function readNames(choice: Exclude<ChatRequest["tool_choice"], string | null | undefined>): ToolDecision {
  if (choice.type === "function") return { mode: "required", names: [choice.function.name] };
  const { mode, tools }: Record<string, unknown> = choice.allowed_tools;
  const names = (Array.isArray(tools) ? tools : []).map(
    (tool) => isRecord(tool) && isRecord(tool.function) && tool.function.name,
  );
  if (names.length > 0 && names.every((name) => typeof name === "string")) {
    return { mode: mode === "required" ? "required" : "auto", names };
  }
  throw badRequest("allowed_tools names no functions, expected a list of them", "tool_choice.allowed_tools.tools");
}
