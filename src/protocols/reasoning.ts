import { Buffer } from "node:buffer";
import { createHmac } from "node:crypto";
import { decrypt, encrypt, getOwn } from "../contract/index.ts";
import { isRecord, readJson } from "../lib/json.ts";

/**
 * Reasoning that only its provider can read or verify travels in `reasoning_details` of the uniform format, as OpenRouter writes
 * them: each detail says by its `format` whose it is.
 */
const claudeFormat = "anthropic-claude-v1";
const responsesFormat = "openai-responses-v1";

/** A block of Claude's reasoning: its text and signature, or what Anthropic encrypted. */
type ClaudeBlock = {
  type: string;
  thinking?: string;
  signature?: string;
  data?: string;
};

/** A block of Claude's reasoning as a detail. Its signature stays as it is, byte for byte. */
export function toClaudeDetail(
  { type, thinking = "", signature = "", data = "" }: { [Field in keyof ClaudeBlock]?: string | undefined },
  index: number,
) {
  if (type === "redacted_thinking") return { type: "reasoning.encrypted", data, format: claudeFormat, index };
  return { type: "reasoning.text", text: thinking, signature, format: claudeFormat, index };
}

/** Returns the reasoning blocks of Claude among details; blocks of other providers are left out. */
export function readClaudeBlocks(details: unknown): ClaudeBlock[] {
  return listOf(details).flatMap(({ text, signature, data, format }): ClaudeBlock[] => {
    if (format !== claudeFormat) return [];
    if (typeof data === "string" && data !== "") return [{ type: "redacted_thinking", data }];
    if (typeof signature !== "string" || signature === "") return [];
    return [{ type: "thinking", thinking: typeof text === "string" ? text : "", signature }];
  });
}

/** An item of OpenAI's reasoning as a detail; `undefined` for one that is not encrypted. */
export function toResponsesDetail({ id, encrypted_content: data }: Record<string, unknown>, index: number) {
  if (typeof data !== "string" || data === "") return undefined;
  return { type: "reasoning.encrypted", id, data, format: responsesFormat, index };
}

/** Returns the reasoning items of OpenAI among details; items of other providers are left out. */
export function readResponsesItems(details: unknown): Record<string, unknown>[] {
  return listOf(details).flatMap(({ id, data, format }) => {
    if (format !== responsesFormat || typeof data !== "string") return [];
    return [{ type: "reasoning", ...(typeof id === "string" && { id }), summary: [], encrypted_content: data }];
  });
}

/** Stands for a signature that was lost. https://ai.google.dev/gemini-api/docs/thought-signatures */
export const missingSignature = "skip_thought_signature_validator";

/** Types of details that a stream brings in pieces, with the field of their text. */
const textFields: Readonly<Record<string, string>> = { "reasoning.text": "text", "reasoning.summary": "summary" };

/**
 * Joins streamed pieces of reasoning details. Texts of the same type, format and index become one; a signature ends it.
 *
 * @example
 * const pieces = [{ text: "H" }, { text: "m", signature: "s" }].map((piece) => ({ type: "reasoning.text", ...piece }));
 * joinDetails(pieces); // => [{ type: "reasoning.text", text: "Hm", signature: "s" }]
 */
export function joinDetails(details: unknown): Record<string, unknown>[] {
  const joined: Record<string, unknown>[] = [];
  for (const detail of listOf(details)) {
    const field = typeof detail.type === "string" ? getOwn(textFields, detail.type) : undefined;
    const last = joined.at(-1);
    const isPiece =
      field !== undefined &&
      last !== undefined &&
      !last.signature &&
      last.type === detail.type &&
      last.format === detail.format &&
      last.index === detail.index;
    if (!isPiece) {
      joined.push({ ...detail });
      continue;
    }
    const text = `${toText(last[field])}${toText(detail[field])}`;
    for (const name in detail) if (detail[name] !== null) last[name] = detail[name];
    last[field] = text;
  }
  return joined;
}

function toText(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Whether a detail carries what only its provider can read or verify. */
export function isSealed({ data, signature }: Record<string, unknown>): boolean {
  return [data, signature].some((sealed) => typeof sealed === "string" && sealed !== "");
}

/** The details that another provider than Anthropic encrypted. */
export function findForeignDetails(details: unknown): readonly object[] {
  return listOf(details).filter(({ format, data }) => format !== claudeFormat && typeof data === "string");
}

function listOf(details: unknown): Record<string, unknown>[] {
  return Array.isArray(details) ? details.filter(isRecord) : [];
}

/** Prefix of our own envelopes. Those of providers are base64, which has no dot. */
const prefix = "mg1.";
const keyIdBytes = 4;

/** The reasoning of one model. */
export interface Reasoning {
  /** The public id of the model that reasoned. */
  readonly model: string;
  readonly text?: string | undefined;
  /** `reasoning_details` of the uniform format, which go back to the same model. */
  readonly details?: readonly unknown[] | undefined;
}

/**
 * Origin of an envelope that came back. `own`: made here for this account, and unchanged. `altered`: made here, but
 * changed, or sent with another text. `foreign`: of another gateway or account, or of a key that was replaced.
 * `provider`: not an envelope.
 */
export type OpenedReasoning =
  | { readonly origin: "own"; readonly reasoning: Reasoning }
  | { readonly origin: "altered" | "foreign" | "provider" };

/** Seals reasoning in a text that travels through a client and back, and opens it again. */
export interface ReasoningEnvelope {
  /** @param shownText Text that travels together with the envelope, and must come back unchanged. */
  seal(reasoning: Reasoning, shownText?: string): string;
  open(sealed: string, shownText?: string): OpenedReasoning;
}

/**
 * Envelopes of reasoning for the account of a caller: its client can bring them back, but neither read, change nor make them.
 * Messages has them as the `signature` of a thinking block, Responses as `encrypted_content`.
 *
 * The form is `mg1.` and, in base64url, the id of key and account, the nonce, the ciphertext and its tag.
 *
 * @param key 32 bytes, the same on all nodes and across restarts.
 *
 * @example
 * const envelope = createReasoningEnvelope(new Uint8Array(32), "acc_1");
 * const sealed = envelope.seal({ model: "m", text: "Hm" });
 * envelope.open(sealed); // => { origin: "own", reasoning: { model: "m", text: "Hm" } }
 */
export function createReasoningEnvelope(key: Uint8Array, accountId: string): ReasoningEnvelope {
  /** Made when it is needed first: most requests have no reasoning. */
  let keyId: Buffer | undefined;
  const getKeyId = () => {
    keyId ??= createHmac("sha256", key).update(`${prefix}\0${accountId}`).digest().subarray(0, keyIdBytes);
    return keyId;
  };
  const ownerOf = (shownText: string) => JSON.stringify([prefix, accountId, shownText.toWellFormed()]);
  return {
    seal(reasoning, shownText = "") {
      const bytes = encrypt(key, ownerOf(shownText), Buffer.from(JSON.stringify(reasoning)));
      return prefix + Buffer.concat([getKeyId(), bytes]).toString("base64url");
    },
    open(sealed, shownText = "") {
      if (!isOwnEnvelope(sealed)) return { origin: "provider" };
      const bytes = Buffer.from(sealed.slice(prefix.length), "base64url");
      if (!bytes.subarray(0, keyIdBytes).equals(getKeyId())) return { origin: "foreign" };
      try {
        const reasoning = decrypt(key, ownerOf(shownText), bytes.subarray(keyIdBytes)).toString();
        return { origin: "own", reasoning: readJson(reasoning, "stored") as Reasoning };
      } catch {
        return { origin: "altered" };
      }
    },
  };
}

/** Whether a text is an envelope of this gateway or another one, which a provider would refuse. */
export function isOwnEnvelope(text: unknown): boolean {
  return typeof text === "string" && text.startsWith(prefix);
}
