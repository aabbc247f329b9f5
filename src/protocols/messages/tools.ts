import { createHash } from "node:crypto";
import { type ChatRequest, quoteValue, type Tool } from "../../contract/index.ts";
import { isRecord } from "../../lib/json.ts";
import { cacheMark } from "./blocks.ts";
import { getText, invalid } from "./faults.ts";
import type { MessagesRequest } from "./schema.ts";

/** Anthropic's bound of a tool's name, and the bound of other providers. Longer ones are shortened on the way there. */
const nameCharactersMax = 128;
const sentCharactersMax = 64;

/** Shortens the names of tools that only Anthropic would take, and restores them in the answer. */
export class ToolNames {
  readonly #original = new Map<string, string>();

  /** @throws {GatewayError} `invalid_request` for a name that no provider takes. */
  toSent(name: string, path: string): string {
    if (name === "" || name.length > nameCharactersMax) {
      throw invalid(path, `The name has ${name.length} characters, expected 1 to ${nameCharactersMax}`);
    }
    if (name.length <= sentCharactersMax) return name;
    const digest = createHash("sha256").update(name).digest("base64url").slice(0, 10);
    const sent = `${name.slice(0, sentCharactersMax - 11)}_${digest}`;
    this.#original.set(sent, name);
    return sent;
  }

  toOriginal(sent: string): string {
    return this.#original.get(sent) ?? sent;
  }
}

type ToolFields = Pick<ChatRequest, "tools" | "tool_choice" | "parallel_tool_calls">;

/**
 * The client's own tools, and the choice among them. Tools that run at Anthropic are left out.
 *
 * @param changes Blocks `tool_addition` and `tool_removal` of the conversation, in their order.
 */
export function toTools(
  { tools, tool_choice: choice, messages }: MessagesRequest,
  changes: readonly Record<string, unknown>[],
  names: ToolNames,
  warn: (sentence: string) => void,
): ToolFields {
  const known = new Map<string, Tool>();
  const dropped: string[] = [];
  const isHidden = findHidden(tools ?? [], choice?.name, messages);
  const add = (tool: Record<string, unknown>, path: string) => {
    const { type } = tool;
    if (type === undefined || type === null || type === "custom") {
      const converted = toTool(tool, path, names);
      known.set(converted.function.name, converted);
    } else dropped.push(typeof tool.name === "string" ? tool.name : quoteValue(type));
  };
  for (const [index, tool] of (tools ?? []).entries()) if (!isHidden(tool)) add(tool, `tools.${index}`);
  for (const { type, tool } of changes) {
    if (!isRecord(tool)) continue;
    if (type === "tool_addition" && isRecord(tool.definition)) add(tool.definition, "tool_addition.tool.definition");
    else if (type === "tool_removal" && typeof tool.name === "string") known.delete(names.toSent(tool.name, "tool"));
  }
  if (dropped.length > 0) warn(`Left out the tools ${dropped.join(", ")}, which run at Anthropic only`);
  if (known.size === 0) return {};
  const chosen = toChoice(choice, { known, dropped, names });
  return {
    tools: [...known.values()],
    ...(chosen !== undefined && { tool_choice: chosen }),
    ...(choice?.disable_parallel_tool_use === true && chosen !== "none" && { parallel_tool_calls: false }),
  };
}

/**
 * Which tools the model does not see yet. A tool with `defer_loading` is one that a search has to name first; a client that
 * searches by itself has no answer to a call of one that it has not named. Where the search would run at Anthropic, or nothing
 * could search, all are seen from the beginning.
 */
function findHidden(
  tools: readonly Record<string, unknown>[],
  chosen: unknown,
  messages: MessagesRequest["messages"],
): (tool: Record<string, unknown>) => boolean {
  const isDeferred = (tool: Record<string, unknown>) => tool.defer_loading === true;
  const isSearch = ({ type }: Record<string, unknown>) => typeof type === "string" && type.startsWith("tool_search");
  if (!tools.some(isDeferred) || tools.every(isDeferred) || tools.some(isSearch)) return () => false;
  const named = new Set<unknown>([chosen]);
  const addNames = (content: unknown) => {
    for (const block of Array.isArray(content) ? content : []) {
      if (!isRecord(block)) continue;
      const { type, name, tool_name: referred, tool } = block;
      if (type === "tool_use") named.add(name);
      else if (type === "tool_reference") named.add(referred);
      else if (type === "tool_addition" && isRecord(tool)) named.add(tool.name ?? tool.tool_name);
      else if (type === "tool_result") addNames(block.content);
    }
  };
  for (const { content } of messages) addNames(content);
  return (tool) => isDeferred(tool) && !named.has(tool.name);
}

function toTool(tool: Record<string, unknown>, path: string, names: ToolNames): Tool {
  const { description, input_schema: parameters, strict } = tool;
  const name = names.toSent(getText(tool, "name", path), `${path}.name`);
  if (!isRecord(parameters)) throw invalid(`${path}.input_schema`, "expected a JSON schema of type object");
  const definition = {
    name,
    ...(typeof description === "string" && { description }),
    parameters,
    ...(typeof strict === "boolean" && { strict }),
  };
  return { type: "function", function: definition, ...cacheMark(tool) };
}

interface Choosable {
  known: ReadonlyMap<string, Tool>;
  dropped: readonly string[];
  names: ToolNames;
}

function toChoice(
  choice: MessagesRequest["tool_choice"],
  { known, dropped, names }: Choosable,
): Exclude<ChatRequest["tool_choice"], null> {
  if (choice === undefined || choice === null) return undefined;
  const { type, name } = choice;
  if (type === "auto" || type === "none") return type;
  if (type === "any") return "required";
  if (type !== "tool") {
    throw invalid("tool_choice.type", `got ${quoteValue(type)}, expected auto, any, tool or none`);
  }
  if (typeof name === "string" && dropped.includes(name)) return undefined;
  const sent = typeof name === "string" ? names.toSent(name, "tool_choice.name") : "";
  if (known.has(sent)) return { type: "function", function: { name: sent } };
  throw invalid("tool_choice.name", `Tool ${quoteValue(name)} is not among the tools of this request`);
}
