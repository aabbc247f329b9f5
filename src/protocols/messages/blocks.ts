import { type ContentPart, quoteValue } from "../../contract/index.ts";
import { isRecord } from "../../lib/json.ts";
import { getText, invalid } from "./faults.ts";
import type { MessagesBlock } from "./schema.ts";

/** A part of the uniform format, with the cache mark of the block that it was. */
export type MarkedPart = ContentPart & { cache_control?: unknown };

/** Blocks that only Anthropic can read: its own tools' calls and results, and what its betas leave in a conversation. */
const providerBlocks = ["server_tool_use", "mcp_tool_use", "mcp_tool_listing", "container_upload", "fallback"];

/** Whether a translated conversation goes on without a block of this type. */
export function isProviderBlock(type: string): boolean {
  return providerBlocks.includes(type) || (type !== "tool_result" && type.endsWith("_tool_result"));
}

/** Content as blocks: a text is one block. */
export function toBlocks(content: unknown, path: string): MessagesBlock[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  if (!Array.isArray(content)) throw invalid(path, "expected a string or a list of content blocks");
  const stranger = content.findIndex((block) => !isRecord(block) || typeof block.type !== "string");
  if (stranger !== -1) throw invalid(`${path}.${stranger}`, "expected a content block with a `type`");
  return content as MessagesBlock[];
}

/** The parts of a block that says something. Its cache mark goes to the last of them. */
export function toParts(block: MessagesBlock, path: string): MarkedPart[] {
  const parts = toPlainParts(block, path);
  const last = parts.pop();
  return last === undefined ? [] : [...parts, { ...last, ...cacheMark(block) }];
}

/** A block's cache mark, whole: the provider's plugin decides about its lifetime. */
export function cacheMark({ cache_control: mark }: Record<string, unknown>): { cache_control?: unknown } {
  return isRecord(mark) ? { cache_control: mark } : {};
}

/** Parts as the content of a message: text without a mark is a plain string, which every provider takes. */
export function toContent(parts: MarkedPart[]): string | MarkedPart[] | undefined {
  const [first, second] = parts;
  if (first === undefined) return undefined;
  return second === undefined && first.type === "text" && first.cache_control === undefined ? first.text : parts;
}

function toPlainParts(block: MessagesBlock, path: string): ContentPart[] {
  switch (block.type) {
    case "text":
      return [{ type: "text", text: getText(block, "text", path) }];
    case "image":
      return [{ type: "image_url", image_url: { url: toUrl(block.source, `${path}.source`) } }];
    case "document":
      return toDocument(block, path);
    case "search_result":
      return toSearchResult(block, path);
    case "tool_reference":
      return [{ type: "text", text: `The tool ${getText(block, "tool_name", path)} can be called now.` }];
    case "compaction":
      return typeof block.content === "string" ? [{ type: "text", text: block.content }] : [];
    default:
      throw invalid(path, `Cannot read a block of type ${quoteValue(block.type)} here, expected text or another part`);
  }
}

function toUrl(source: unknown, path: string): string {
  if (!isRecord(source)) throw invalid(path, "expected an object");
  if (source.type === "url") return getText(source, "url", path);
  if (source.type === "base64") {
    return `data:${getText(source, "media_type", path)};base64,${getText(source, "data", path)}`;
  }
  const message = `This model takes no source of type ${quoteValue(source.type)}, expected base64 or url`;
  throw invalid(`${path}.type`, message);
}

function toDocument(block: MessagesBlock, path: string): ContentPart[] {
  const { source, title, context } = block;
  const head = [title, context].filter((text) => typeof text === "string" && text !== "").join("\n");
  const introduction: ContentPart[] = head === "" ? [] : [{ type: "text", text: head }];
  const sourcePath = `${path}.source`;
  if (isRecord(source) && source.type === "text") {
    return [...introduction, { type: "text", text: getText(source, "data", sourcePath) }];
  }
  if (isRecord(source) && source.type === "content") {
    const blocks = toBlocks(source.content, `${sourcePath}.content`);
    return [...introduction, ...blocks.flatMap((part, index) => toPlainParts(part, `${sourcePath}.content.${index}`))];
  }
  const file = { file_data: toUrl(source, sourcePath), ...(typeof title === "string" && { filename: title }) };
  const note: ContentPart[] = typeof context === "string" ? [{ type: "text", text: context }] : [];
  return [...note, { type: "file", file }];
}

function toSearchResult(block: MessagesBlock, path: string): ContentPart[] {
  const head = `${getText(block, "title", path)} (${getText(block, "source", path)})`;
  const texts = toBlocks(block.content, `${path}.content`).map((part, index) => {
    return getText(part, "text", `${path}.content.${index}`);
  });
  return [{ type: "text", text: [head, ...texts].join("\n") }];
}
