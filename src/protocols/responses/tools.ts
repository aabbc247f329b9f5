import { createHash } from "node:crypto";
import { badRequest, type ChatRequest, quoteValue, type Tool, type ToolChoice } from "../../contract/index.ts";
import { isRecord } from "../../lib/json.ts";
import type {
  CustomTool,
  FunctionTool,
  NamespaceTool,
  ResponsesRequest,
  ResponseTool,
  ToolSearchTool,
} from "./schema.ts";

/** The longest name that every provider takes. */
const nameCharactersMax = 64;
const hashCharacters = 8;

/** A tool as the client knows it. */
export interface ToolTarget {
  kind: "function" | "custom" | "tool_search";
  name: string;
  namespace?: string;
}

/** The tools of a request as functions of chat, with the way back from a function's name to the client's tool. */
export class ToolSet {
  readonly tools: Tool[] = [];
  readonly #targets = new Map<string, ToolTarget>();
  readonly #warn: (sentence: string) => void;

  constructor(warn: (sentence: string) => void) {
    this.#warn = warn;
  }

  /** The client's tool behind a function's name; a name that the model made up is a function of that name. */
  getTarget(functionName: string): ToolTarget {
    return this.#targets.get(functionName) ?? { kind: "function", name: functionName };
  }

  has(functionName: string): boolean {
    return this.#targets.has(functionName);
  }

  /**
   * Adds tools of the request, or those that a tool search has loaded.
   *
   * @param isLoaded Tools that are loaded may be there already, and are then left out.
   * @returns Their function names.
   * @throws {GatewayError} `invalid_request` when two tools come to the same function name.
   */
  add(tools: readonly ResponseTool[], path: string, isLoaded: boolean): string[] {
    return tools.flatMap((tool, index) => {
      const place = `${path}[${index}]`;
      if (tool.type === "namespace") return this.#addNamespace(tool as NamespaceTool, place, isLoaded);
      if (tool.type === "tool_search") return this.#addToolSearch(tool as ToolSearchTool, place, isLoaded);
      return this.#addCallable(tool, { path: place, isLoaded });
    });
  }

  #addNamespace({ name, description, tools }: NamespaceTool, path: string, isLoaded: boolean): string[] {
    return tools.flatMap((tool, index) => {
      // Chat has no place for the description of a namespace, so its first function carries it.
      const lead = index === 0 && description ? `${description}\n\n` : "";
      return this.#addCallable(tool, { path: `${path}.tools[${index}]`, isLoaded, namespace: name, lead });
    });
  }

  #addCallable(
    tool: ResponseTool,
    { path, isLoaded, namespace, lead = "" }: { path: string; isLoaded: boolean; namespace?: string; lead?: string },
  ): string[] {
    if (!isCallable(tool)) {
      this.#warn(`Left out the tool ${quoteValue(tool.type)}, which only its own provider can run`);
      return [];
    }
    const target: ToolTarget = { kind: tool.type, name: tool.name, ...(namespace !== undefined && { namespace }) };
    const name = toFunctionName(tool.name, namespace);
    if (!this.#register(name, target, path, isLoaded)) return [name];
    const description = lead + (tool.type === "custom" ? describeCustom(tool) : (tool.description ?? ""));
    const definition = tool.type === "custom" ? { parameters: inputSchema } : pickDefinition(tool);
    this.tools.push({
      type: "function",
      function: { name, ...(description !== "" && { description }), ...definition },
    });
    return [name];
  }

  #addToolSearch({ execution, description, parameters }: ToolSearchTool, path: string, isLoaded: boolean): string[] {
    if (execution !== "client") {
      this.#warn("Left out tool_search: all tools are shown to the model at once");
      return [];
    }
    const name = "tool_search";
    if (!this.#register(name, { kind: "tool_search", name }, path, isLoaded)) return [name];
    this.tools.push({
      type: "function",
      function: { name, ...(description && { description }), ...(parameters && { parameters }) },
    });
    return [name];
  }

  /** @returns Whether it is new. */
  #register(name: string, target: ToolTarget, path: string, isLoaded: boolean): boolean {
    const other = this.#targets.get(name);
    if (other === undefined) {
      this.#targets.set(name, target);
      return true;
    }
    const isSame = other.name === target.name && other.namespace === target.namespace && other.kind === target.kind;
    if (isSame && isLoaded) return false;
    const sentence = `${describeTarget(target)} and ${describeTarget(other)} both become the function ${name} for this model`;
    throw badRequest(`${sentence}, expected different names`, `${path}.name`);
  }
}

function isCallable(tool: ResponseTool): tool is FunctionTool | CustomTool {
  return tool.type === "function" || tool.type === "custom";
}

function describeTarget({ kind, name, namespace }: ToolTarget): string {
  return `the ${kind} tool ${namespace === undefined ? name : `${name} of ${namespace}`}`;
}

/**
 * The function name of a tool. A name that is too long keeps its beginning and ends in a hash of all of it, so that it is
 * the same in every turn.
 */
export function toFunctionName(name: string, namespace: string | null | undefined): string {
  const full = namespace ? `${namespace}__${name}` : name;
  if (full.length <= nameCharactersMax) return full;
  const hash = createHash("sha256").update(full).digest("hex").slice(0, hashCharacters);
  return `${full.slice(0, nameCharactersMax - hashCharacters - 1)}_${hash}`;
}

function pickDefinition({ parameters, strict }: FunctionTool) {
  return { ...(parameters && { parameters }), ...(typeof strict === "boolean" && { strict }) };
}

const inputSchema = {
  type: "object",
  properties: { input: { type: "string", description: "The whole input of the tool as plain text" } },
  required: ["input"],
  additionalProperties: false,
};

/** What the model must know of a custom tool: its description, and the grammar that nobody enforces here. */
function describeCustom({ description, format }: CustomTool): string {
  const text = description ?? "";
  if (format?.type !== "grammar" || typeof format.definition !== "string") return text;
  const syntax = format.syntax === "regex" ? "regular expression" : "Lark grammar";
  return `${text}\n\nThe input must match this ${syntax}:\n${format.definition}`.trimStart();
}

/** `tool_choice`, `parallel_tool_calls` and the tools as chat has them; nothing of it when no tool is left. */
export function toToolFields(
  request: ResponsesRequest,
  set: ToolSet,
  warn: (sentence: string) => void,
): Pick<ChatRequest, "tools" | "tool_choice" | "parallel_tool_calls"> {
  const { tool_choice: choice, parallel_tool_calls: parallel } = request;
  if (set.tools.length === 0) {
    if (choice && choice !== "auto" && choice !== "none") warn("Left out tool_choice, because no tool is left");
    return {};
  }
  const chosen = choice ? toToolChoice(choice, set, warn) : undefined;
  return {
    tools: set.tools,
    ...(chosen !== undefined && { tool_choice: chosen }),
    ...(typeof parallel === "boolean" && { parallel_tool_calls: parallel }),
  };
}

type Choice = NonNullable<ResponsesRequest["tool_choice"]>;

function toToolChoice(choice: Choice, set: ToolSet, warn: (sentence: string) => void): ToolChoice | undefined {
  if (typeof choice === "string") return choice;
  if (choice.type === "allowed_tools") return toAllowedTools(choice, set);
  const name = getChosen(choice, "tool_choice", set);
  if (name !== undefined) return { type: "function", function: { name } };
  warn(`Left out tool_choice ${quoteValue(choice.type)}, which only its own provider can run`);
  return undefined;
}

function toAllowedTools(choice: Record<string, unknown>, set: ToolSet): ToolChoice {
  const listed = Array.isArray(choice.tools) ? choice.tools : [];
  const functionsOf = Map.groupBy(
    set.tools.map((one) => one.function.name),
    (name) => set.getTarget(name).namespace,
  );
  // Each function once, however often it is named: a namespace stands for many.
  const names = new Set<string>();
  listed.forEach((tool, index) => {
    const path = `tool_choice.tools[${index}]`;
    if (!isRecord(tool)) throw badRequest(`${path} is not an object, expected a tool's type and name`, path);
    // All functions of a namespace are allowed with it.
    if (tool.type === "namespace") {
      const functions = typeof tool.name === "string" ? functionsOf.get(tool.name) : undefined;
      for (const name of functions ?? []) names.add(name);
      functionsOf.delete(tool.name as string);
      return;
    }
    const name = getChosen(tool, path, set);
    if (name !== undefined) names.add(name);
  });
  if (names.size === 0) return "none";
  const tools = [...names].map((name) => ({ type: "function", function: { name } }));
  return {
    type: "allowed_tools",
    allowed_tools: { mode: choice.mode === "required" ? "required" : "auto", tools },
  };
}

/** The function behind a tool that is named by type; `undefined` for a tool that was left out. */
function getChosen(choice: Record<string, unknown>, path: string, set: ToolSet): string | undefined {
  if (choice.type === "tool_search") return set.has("tool_search") ? "tool_search" : undefined;
  if (choice.type !== "function" && choice.type !== "custom") return undefined;
  const { name, namespace } = choice;
  if (typeof name !== "string") throw badRequest(`${path}.name is missing, expected a tool's name`, `${path}.name`);
  const functionName = toFunctionName(name, typeof namespace === "string" ? namespace : undefined);
  if (set.has(functionName)) return functionName;
  throw badRequest(`${path} names ${functionName}, which is not among the tools`, `${path}.name`);
}
