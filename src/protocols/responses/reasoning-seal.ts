import { Buffer } from "node:buffer";
import { decrypt, encrypt, GatewayError } from "../../contract/index.ts";
import type { ResponsesRequest } from "./schema.ts";

const prefix = "mg1";

/** A model's thoughts as chat carries them: signed details, or their text alone. */
export interface Thoughts {
  details?: unknown[];
  text?: string;
}

/** Makes and opens the `encrypted_content` of reasoning items. */
export interface ReasoningSeal {
  seal(thoughts: Thoughts): string;
  /**
   * @returns `undefined` for thoughts of another gateway, provider or model, which this model cannot use.
   * @throws {GatewayError} `invalid_request` when it is ours and was changed, or belongs to another account.
   */
  open(encryptedContent: string, param: string): Thoughts | undefined;
}

/**
 * Seals thoughts for an account and a model, so that a client can bring them back but neither read, change nor make them.
 * The form is `mg1.<model>.<nonce, ciphertext and tag>`, both in base64url.
 *
 * @param key 32 bytes, the same on all nodes and across restarts.
 */
export function createReasoningSeal(key: Uint8Array, accountId: string, model: string): ReasoningSeal {
  const owner = JSON.stringify([prefix, accountId, model]);
  const encodedModel = Buffer.from(model).toString("base64url");
  return {
    seal(thoughts) {
      const sealed = encrypt(key, owner, Buffer.from(JSON.stringify(thoughts)));
      return `${prefix}.${encodedModel}.${sealed.toString("base64url")}`;
    },
    open(encryptedContent, param) {
      const [start, ofModel, text, ...rest] = encryptedContent.split(".", 4);
      if (start !== prefix || ofModel !== encodedModel || text === undefined || rest.length > 0) return undefined;
      try {
        return JSON.parse(decrypt(key, owner, Buffer.from(text, "base64url")).toString()) as Thoughts;
      } catch (cause) {
        const sentence =
          "Cannot verify encrypted_content: it was changed, or made for another account; leave the item out";
        throw new GatewayError("invalid_request", sentence, { param, publicCode: "invalid_encrypted_content", cause });
      }
    },
  };
}

/** The request without thoughts that were sealed here, for a native route: its provider refuses them. */
export function removeOwnThoughts(request: ResponsesRequest): ResponsesRequest {
  if (!Array.isArray(request.input)) return request;
  const input = request.input.filter(
    (item) => item.type !== "reasoning" || !("encrypted_content" in item && isOwn(item.encrypted_content)),
  );
  return input.length === request.input.length ? request : { ...request, input };
}

function isOwn(encryptedContent: unknown): boolean {
  return typeof encryptedContent === "string" && encryptedContent.startsWith(`${prefix}.`);
}
