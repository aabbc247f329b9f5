import { Buffer } from "node:buffer";
import { createHmac, timingSafeEqual } from "node:crypto";
import { isRecord, parseJson } from "../../lib/json.ts";
import type { MessagesBlock, MessagesRequest } from "./schema.ts";

/** How the uniform format carries Claude's thoughts: `reasoning_details` of this format, as OpenRouter writes them. */
const claudeFormat = "anthropic-claude-v1";
/** What our own signatures begin with. Anthropic's are plain base64, which has no dot. */
const prefix = "mg1.";
const keyIdBytes = 4;
const macBytes = 16;

/** Thoughts as a provider sealed them for itself, such as OpenAI's `encrypted_content`. They go back to the same model. */
export interface SealedThoughts {
  readonly model: string;
  /** `reasoning_details` of the uniform format. */
  readonly details: readonly object[];
}

/**
 * What a signature that came back says of its thought. `ours`: the text, as it was signed, and what was sealed with it.
 * `altered`: ours, but of another text. `stranger`: of another gateway, or of a key that was replaced. `provider`: not of
 * a gateway.
 */
export type ReadThought =
  | { origin: "ours"; text: string; sealed?: SealedThoughts }
  | { origin: "altered" | "stranger" | "provider" };

/**
 * Signs the thoughts of models other than Claude, so that they come back unaltered and are told from Claude's. A thought
 * that the client asked not to see travels in its signature, and so does what its provider sealed.
 *
 * @example
 * const signer = new ThoughtSigner("a secret");
 * signer.read("Hm", signer.sign("Hm", "shown")); // => { origin: "ours", text: "Hm" }
 * signer.read("", signer.sign("Hm", "omitted")); // => { origin: "ours", text: "Hm" }
 */
export class ThoughtSigner {
  readonly #key: string | Uint8Array;
  readonly #keyId: Buffer;

  constructor(key: string | Uint8Array) {
    this.#key = key;
    this.#keyId = createHmac("sha256", key).update("key id").digest().subarray(0, keyIdBytes);
  }

  sign(thought: string, display: "shown" | "omitted", sealed?: SealedThoughts): string {
    const text = thought.toWellFormed();
    const hidden = display === "omitted" ? Buffer.from(text) : Buffer.alloc(0);
    const json = sealed === undefined || sealed.details.length === 0 ? "" : JSON.stringify(sealed);
    const signed = Buffer.concat([this.#keyId, this.#macOf(text, json), hidden]).toString("base64url");
    return prefix + (json === "" ? signed : `${signed}.${Buffer.from(json).toString("base64url")}`);
  }

  /** @param shown The thought as it came back; empty when it was omitted. */
  read(shown: string, signature: string): ReadThought {
    if (!signature.startsWith(prefix)) return { origin: "provider" };
    const [signed = "", rest = ""] = signature.slice(prefix.length).split(".", 2);
    const bytes = Buffer.from(signed, "base64url");
    const json = Buffer.from(rest, "base64url").toString();
    if (bytes.length < keyIdBytes + macBytes || !bytes.subarray(0, keyIdBytes).equals(this.#keyId)) {
      return { origin: "stranger" };
    }
    const mac = bytes.subarray(keyIdBytes, keyIdBytes + macBytes);
    const text = shown === "" ? bytes.subarray(keyIdBytes + macBytes).toString() : shown.toWellFormed();
    if (!timingSafeEqual(mac, this.#macOf(text, json))) return { origin: "altered" };
    return { origin: "ours", text, ...(json !== "" && { sealed: parseJson(json) as unknown as SealedThoughts }) };
  }

  #macOf(text: string, sealed: string): Buffer {
    const signed = sealed === "" ? `thought\0${text}` : `sealed\0${JSON.stringify([text, sealed])}`;
    return createHmac("sha256", this.#key).update(signed).digest().subarray(0, macBytes);
  }
}

/** Claude's thoughts in an answer or a chunk, as blocks. Their signatures stay as they are, byte for byte. */
export function toThinkingBlocks(details: unknown): MessagesBlock[] {
  if (!Array.isArray(details)) return [];
  return details.flatMap((detail): MessagesBlock[] => {
    if (!isRecord(detail) || detail.format !== claudeFormat) return [];
    const { text, signature, data } = detail;
    if (typeof data === "string") return [{ type: "redacted_thinking", data }];
    if (typeof signature !== "string" || signature.length === 0) return [];
    return [{ type: "thinking", thinking: typeof text === "string" ? text : "", signature }];
  });
}

/** The details of an answer or a chunk that another provider than Anthropic sealed. */
export function toSealedDetails(details: unknown): readonly object[] {
  if (!Array.isArray(details)) return [];
  return details.filter(
    (detail) => isRecord(detail) && detail.format !== claudeFormat && typeof detail.data === "string",
  );
}

/** A block of Claude's thoughts as the uniform format carries it. */
export function toDetail({ type, thinking, signature, data }: MessagesBlock, index: number): object {
  if (type === "redacted_thinking") return { type: "reasoning.encrypted", data, format: claudeFormat, index };
  return { type: "reasoning.text", text: thinking, signature, format: claudeFormat, index };
}

/**
 * Takes our own thoughts out of a body for a native route: the provider would refuse their signatures.
 *
 * @returns The body itself when it holds none, so that its bytes can be handed on.
 */
export function withoutOwnThoughts<Body extends Pick<MessagesRequest, "messages">>(body: Body): Body {
  if (!body.messages.some(({ content }) => Array.isArray(content) && content.some(isOwn))) return body;
  const messages = body.messages.flatMap((message) => {
    if (!Array.isArray(message.content)) return [message];
    const content = message.content.filter((block) => !isOwn(block));
    return content.length > 0 || message.content.length === 0 ? [{ ...message, content }] : [];
  });
  return { ...body, messages };
}

function isOwn({ type, signature }: MessagesBlock): boolean {
  return type === "thinking" && typeof signature === "string" && signature.startsWith(prefix);
}
