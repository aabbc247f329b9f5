import { type Message, quoteValue } from "../../contract/index.ts";
import { isRecord } from "../../lib/json.ts";
import { cacheMark, isProviderBlock, type MarkedPart, toBlocks, toContent, toParts } from "./blocks.ts";
import { getText, invalid } from "./faults.ts";
import type { MessagesBlock, MessagesRequest } from "./schema.ts";
import { type ThoughtSigner, toDetail } from "./thoughts.ts";
import type { ToolNames } from "./tools.ts";

/** What a conversation is translated with. */
interface Surroundings {
  signer: ThoughtSigner;
  /** The id of the model that the request is for, the only one to read thoughts that were sealed for it. */
  model: string;
  names: ToolNames;
  warn(sentence: string): void;
}

/** A conversation in the uniform format, and the changes of tools that stood in it. */
interface Conversation {
  messages: Message[];
  toolChanges: MessagesBlock[];
}

/** Claude Code's first system block. It is meant for Anthropic, and it changes with each request, so that no cache hits. */
const attribution = "x-anthropic-billing-header:";

/** Translates `system` and `messages`. @throws {GatewayError} `invalid_request` with the block's path. */
export function toConversation(
  { system, messages }: Pick<MessagesRequest, "system" | "messages">,
  surroundings: Surroundings,
): Conversation {
  const reader = new ConversationReader(surroundings);
  if (system !== undefined && system !== null) reader.addSystem(toBlocks(system, "system"), "system");
  for (const [index, { role, content }] of messages.entries()) {
    const path = `messages.${index}`;
    const blocks = toBlocks(content, `${path}.content`);
    if (role === "user") reader.addUser(blocks, `${path}.content`);
    else if (role === "assistant") reader.addAssistant(blocks, `${path}.content`);
    else if (role === "system") reader.addSystem(blocks, `${path}.content`);
    else throw invalid(`${path}.role`, `got ${quoteValue(role)}, expected user, assistant or system`);
  }
  return reader.end();
}

class ConversationReader {
  readonly #surroundings: Surroundings;
  readonly #messages: Message[] = [];
  readonly #toolChanges: MessagesBlock[] = [];
  /** Calls that wait for their results, by id, with the path of each. */
  readonly #open = new Map<string, string>();
  /** What stands between a call and its result. It follows the results, because chat takes nothing in between. */
  readonly #held: Message[] = [];
  readonly #dropped = new Set<string>();
  /** Each sentence once: a long conversation has the same loss in every turn. */
  readonly #warnings = new Set<string>();

  constructor(surroundings: Surroundings) {
    this.#surroundings = surroundings;
  }

  addSystem(blocks: MessagesBlock[], path: string): void {
    const parts = blocks.flatMap((block, index) => {
      const isAttribution = typeof block.text === "string" && block.text.startsWith(attribution);
      return isAttribution ? [] : this.#toParts(block, `${path}.${index}`);
    });
    this.#add("system", parts);
  }

  addUser(blocks: MessagesBlock[], path: string): void {
    const rest: MarkedPart[] = [];
    for (const [index, block] of blocks.entries()) {
      const place = `${path}.${index}`;
      if (block.type === "tool_result") this.#addResult(block, place);
      else rest.push(...this.#toParts(block, place));
    }
    if (this.#open.size === 0) this.#messages.push(...this.#held.splice(0));
    this.#add("user", rest);
  }

  addAssistant(blocks: MessagesBlock[], path: string): void {
    this.#expectResults();
    let turn = new AssistantTurn();
    for (const [index, block] of blocks.entries()) {
      const place = `${path}.${index}`;
      if (block.type === "thinking" || block.type === "redacted_thinking") {
        turn = this.#addThought(block, place, turn);
      } else if (block.type === "tool_use") turn.calls.push(this.#toCall(block, place));
      else turn.parts.push(...this.#toParts(block, place));
    }
    this.#addTurn(turn);
  }

  end(): Conversation {
    this.#expectResults();
    this.#messages.push(...this.#held.splice(0));
    if (this.#dropped.size > 0) {
      this.#warnings.add(`Left out blocks of type ${[...this.#dropped].join(", ")}: only Anthropic reads them`);
    }
    for (const sentence of this.#warnings) this.#surroundings.warn(sentence);
    if (this.#messages.length === 0) throw invalid("messages", "They hold nothing, expected text or another block");
    return { messages: this.#messages, toolChanges: this.#toolChanges };
  }

  #add(role: "system" | "user", parts: MarkedPart[]): void {
    const content = toContent(parts);
    if (content === undefined) return;
    (this.#open.size > 0 ? this.#held : this.#messages).push({ role, content });
  }

  #toParts(block: MessagesBlock, path: string): MarkedPart[] {
    const { type } = block;
    if (isProviderBlock(type)) this.#dropped.add(type);
    else if (type === "tool_addition" || type === "tool_removal") this.#toolChanges.push(block);
    else return toParts(block, path);
    return [];
  }

  #addResult(block: MessagesBlock, path: string): void {
    const id = getText(block, "tool_use_id", path);
    if (!this.#open.delete(id)) {
      const sentence = `unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${quoteValue(id)}`;
      throw invalid(path, `${sentence}; expected the id of a \`tool_use\` block in the message before`);
    }
    const { content, is_error: isError } = block;
    const blocks = content === undefined || content === null ? [] : toBlocks(content, `${path}.content`);
    const parts = blocks.flatMap((part, index) => this.#toParts(part, `${path}.content.${index}`));
    const flags = { ...(isError === true && { is_error: true }), ...cacheMark(block) };
    this.#messages.push({ role: "tool", tool_call_id: id, content: toContent(parts) ?? "", ...flags });
  }

  #toCall(block: MessagesBlock, path: string): NonNullable<Message["tool_calls"]>[number] {
    const id = getText(block, "id", path);
    const input = block.input ?? {};
    if (id === "") throw invalid(`${path}.id`, "expected an id");
    if (this.#open.has(id)) throw invalid(`${path}.id`, `\`tool_use\` ids must be unique, got ${quoteValue(id)} twice`);
    if (!isRecord(input)) throw invalid(`${path}.input`, "expected an object");
    this.#open.set(id, path);
    const name = this.#surroundings.names.toSent(getText(block, "name", path), `${path}.name`);
    return { id, type: "function", function: { name, arguments: JSON.stringify(input) }, ...cacheMark(block) };
  }

  /** Claude's thoughts keep their place: where one follows other content, another message begins with it. */
  #addThought(block: MessagesBlock, path: string, turn: AssistantTurn): AssistantTurn {
    const { signer, model } = this.#surroundings;
    if (block.type === "redacted_thinking" && typeof block.data !== "string") {
      throw invalid(`${path}.data`, "expected a string");
    }
    if (block.type === "thinking") {
      const thought = getText(block, "thinking", path);
      const { signature } = block;
      if (typeof signature !== "string" || signature === "") {
        this.#warnings.add("Left out thoughts without a signature");
        return turn;
      }
      const read = signer.read(thought, signature);
      // Anthropic's own words: clients look for them, take the thoughts out and send the request again.
      if (read.origin === "altered") throw invalid(path, "Invalid `signature` in `thinking` block");
      if (read.origin === "stranger") this.#warnings.add("Left out thoughts that another gateway had signed");
      if (read.origin === "ours") {
        if (read.text !== "") turn.thoughts.push(read.text);
        if (read.sealed?.model === model) turn.details.push(...read.sealed.details);
        else if (read.sealed !== undefined) this.#warnings.add("Left out sealed thoughts of another model");
      }
      if (read.origin !== "provider") return turn;
    }
    let current = turn;
    if (turn.parts.length > 0 && turn.calls.length === 0) {
      this.#addTurn(turn);
      current = new AssistantTurn();
    }
    current.details.push(toDetail(block, current.details.length));
    return current;
  }

  /** Adds a turn that says something. Thoughts alone are not a message for other models. */
  #addTurn({ parts, calls, thoughts, details }: AssistantTurn): void {
    if (parts.length === 0 && calls.length === 0) return;
    this.#messages.push({
      role: "assistant",
      content: toContent(parts) ?? null,
      ...(thoughts.length > 0 && { reasoning_content: thoughts.join("\n") }),
      ...(details.length > 0 && { reasoning_details: details }),
      ...(calls.length > 0 && { tool_calls: calls }),
    });
  }

  #expectResults(): void {
    const [missing] = this.#open;
    if (missing === undefined) return;
    const [id, path] = missing;
    const sentence = `\`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${id}`;
    throw invalid(path, `${sentence}; expected a \`tool_result\` with its id in the next message`);
  }
}

/** What an assistant message holds, sorted as the uniform format has it. */
class AssistantTurn {
  readonly parts: MarkedPart[] = [];
  readonly calls: NonNullable<Message["tool_calls"]> = [];
  /** Thoughts that we signed. */
  readonly thoughts: string[] = [];
  /** Thoughts of Claude, or as another provider sealed them. */
  readonly details: object[] = [];
}
