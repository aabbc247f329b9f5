import { badRequest, type ContentPart, type Message, quoteValue, type ToolCall } from "../../contract/index.ts";
import { isMessage, joinText, toContent, toParts } from "./content.ts";
import type { ReasoningSeal } from "./reasoning-seal.ts";
import type { MessageItem, ResponseItem, TypedItem } from "./schema.ts";
import { type ToolSet, toFunctionName } from "./tools.ts";

/** History of tools that a provider ran by itself: the answers that follow say what came of it. */
const droppedItems: ReadonlySet<string> = new Set([
  ..."web_search_call file_search_call code_interpreter_call image_generation_call".split(" "),
  ..."mcp_list_tools mcp_call".split(" "),
]);

type Content = NonNullable<Message["content"]>;

/** One answer of the model: text, thoughts and calls, and the results of the calls. */
class AssistantTurn {
  readonly texts: string[] = [];
  readonly calls: ToolCall[] = [];
  readonly details: unknown[] = [];
  thoughts = "";
  readonly results = new Map<string, Content>();

  toMessages(): Message[] {
    const { texts, calls, details, thoughts } = this;
    const unanswered = calls.find(({ id }) => !this.results.has(id));
    if (unanswered !== undefined) {
      throw badRequest(
        `No tool output found for the call ${quoteValue(unanswered.id)}, expected one for each call`,
        "input",
      );
    }
    // Thoughts alone are nothing that a model could go on from.
    if (texts.length === 0 && calls.length === 0) return [];
    const message: Message = {
      role: "assistant",
      content: texts.length > 0 ? texts.join("\n\n") : null,
      ...(calls.length > 0 && { tool_calls: calls }),
      ...(thoughts !== "" && { reasoning_content: thoughts }),
      ...(details.length > 0 && { reasoning_details: details }),
    };
    const results = calls.map(({ id }): Message => {
      return { role: "tool", tool_call_id: id, content: this.results.get(id) ?? "" };
    });
    return [message, ...results];
  }
}

/**
 * Puts items together to messages: what the model said in a row becomes one message, and results stand right behind the
 * message with their calls, wherever the client put them.
 */
export class Conversation {
  readonly #entries: (Message | AssistantTurn)[] = [];
  readonly #turns = new Map<string, AssistantTurn>();
  readonly #tools: ToolSet;
  readonly #seal: ReasoningSeal;
  readonly #warn: (sentence: string) => void;

  constructor(tools: ToolSet, seal: ReasoningSeal, warn: (sentence: string) => void) {
    this.#tools = tools;
    this.#seal = seal;
    this.#warn = warn;
  }

  /** @throws {GatewayError} `invalid_request` when an output answers no call, or the item has no meaning in chat. */
  add(item: ResponseItem, path: string): void {
    if (isMessage(item)) this.#addMessage(item, path);
    else this.#addTyped(item as TypedItem, path);
  }

  addSystem(text: string): void {
    if (text !== "") this.#entries.push({ role: "system", content: text });
  }

  /** @throws {GatewayError} `invalid_request` when a call has no output. */
  toMessages(): Message[] {
    return this.#entries.flatMap((entry) => (entry instanceof AssistantTurn ? entry.toMessages() : entry));
  }

  #addMessage({ role, content }: MessageItem, path: string): void {
    const parts = toParts(content, `${path}.content`);
    if (role === "assistant") {
      const text = joinText(parts, "");
      if (text !== "") this.#getTurn().texts.push(text);
      return;
    }
    if (parts.length === 0) return;
    // "system" is the name that every provider knows for both roles.
    this.#entries.push({ role: role === "user" ? "user" : "system", content: toContent(parts) });
  }

  #addTyped(item: TypedItem, path: string): void {
    switch (item.type) {
      case "function_call":
        this.#addCall(item, item.arguments, path);
        break;
      case "custom_tool_call":
        this.#addCall(item, JSON.stringify({ input: item.input }), path);
        break;
      case "tool_search_call": {
        const { call_id: id, arguments: query } = item as typeof item & { arguments?: unknown };
        // Without an id the provider searched by itself.
        if (id) this.#addCall({ call_id: id, name: "tool_search" }, JSON.stringify(query ?? {}), path);
        break;
      }
      case "function_call_output":
      case "custom_tool_call_output":
        this.#addResult(item.call_id, toParts(item.output, `${path}.output`), path);
        break;
      case "tool_search_output": {
        const names = this.#tools.add(item.tools, `${path}.tools`, true);
        const text = names.length > 0 ? `Now available: ${names.join(", ")}` : "No tools were found";
        if (item.call_id) this.#addResult(item.call_id, [{ type: "text", text }], path);
        break;
      }
      case "additional_tools":
        this.#tools.add(item.tools, `${path}.tools`, true);
        break;
      case "reasoning":
        this.#addThoughts(item.encrypted_content, path);
        break;
      default:
        this.#refuse((item as { type: string }).type, path);
    }
  }

  #refuse(type: string, path: string): void {
    if (!droppedItems.has(type)) {
      const sentence = `This model takes no items of type ${quoteValue(type)}, expected messages, tool calls, their outputs or reasoning`;
      throw badRequest(sentence, `${path}.type`);
    }
    this.#warn(`Left out an item of type ${quoteValue(type)}, which only its own provider can read`);
  }

  /** The answer that goes on: it is closed by the first result, and by anything the model did not say. */
  #getTurn(): AssistantTurn {
    const last = this.#entries.at(-1);
    if (last instanceof AssistantTurn && last.results.size === 0) return last;
    const turn = new AssistantTurn();
    this.#entries.push(turn);
    return turn;
  }

  #addCall(
    { call_id: id, name, namespace }: { call_id: string; name: string; namespace?: string | null },
    text: string,
    path: string,
  ): void {
    const turn = this.#getTurn();
    const open = this.#turns.get(id);
    if (open !== undefined && !open.results.has(id)) {
      throw badRequest(
        `The call ${quoteValue(id)} is there twice, expected an id of its own for each call`,
        `${path}.call_id`,
      );
    }
    turn.calls.push({ id, type: "function", function: { name: toFunctionName(name, namespace), arguments: text } });
    this.#turns.set(id, turn);
  }

  #addResult(callId: string, parts: ContentPart[], path: string): void {
    const turn = this.#turns.get(callId);
    if (turn === undefined) {
      const sentence = `No tool call found for the output of ${quoteValue(callId)}, expected its call before it`;
      throw badRequest(sentence, `${path}.call_id`);
    }
    if (turn.results.has(callId))
      throw badRequest(`The call ${quoteValue(callId)} has two outputs, expected one`, `${path}.call_id`);
    const isText = parts.every((part) => part.type === "text" && !("cache_control" in part));
    turn.results.set(callId, isText ? joinText(parts, "\n") : parts);
  }

  #addThoughts(encryptedContent: string | null | undefined, path: string): void {
    if (!encryptedContent) return;
    const thoughts = this.#seal.open(encryptedContent, `${path}.encrypted_content`);
    if (thoughts === undefined) {
      this.#warn("Left out encrypted_content that this model cannot use");
      return;
    }
    const turn = this.#getTurn();
    turn.details.push(...(thoughts.details ?? []));
    turn.thoughts += thoughts.text ?? "";
  }
}
