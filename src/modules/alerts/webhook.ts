import { Buffer } from "node:buffer";
import { createHmac } from "node:crypto";
import { isIP } from "node:net";
import { createNetworkList, GatewayError } from "../../contract/index.ts";
import { createPublicRequest, isPublicAddress } from "../../kernel/index.ts";
import { DeliveryError, sendMsMax } from "../../mail/index.ts";
import type { AlertMessage } from "./message.ts";

export interface WebhookOptions {
  /** Private networks that may be reached, as CIDR ranges or addresses; absent: public addresses only. */
  readonly networks?: readonly string[] | undefined;
  readonly proxyEnv: Readonly<Record<string, string>> | undefined;
  readonly now: () => number;
}

/** A body for a receiver. */
export interface Post {
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly content: unknown;
  /** Name of the service, whose 4xx will not change by another attempt; absent: the operator's own webhook. */
  readonly service?: string | undefined;
}

/** Posts JSON, once. @throws {DeliveryError} */
export type SendPost = (post: Post) => Promise<void>;

/** Receivers are reached at public addresses over https, and at the addresses that the operator listed over http too. */
export function createPosts({ networks, proxyEnv }: Omit<WebhookOptions, "now">): SendPost {
  const { has: isListed } = createNetworkList(networks ?? []);
  const overTls = createPublicRequest({
    proxyEnv,
    isPublic: (address) => isPublicAddress(address) || isListed(address),
  });
  const plain = createPublicRequest({ isPublic: isListed });
  return async ({ url: text, headers, content, service }) => {
    const url = new URL(text);
    const body = JSON.stringify(content);
    const signal = AbortSignal.timeout(sendMsMax);
    const end = new AbortController();
    try {
      const send = url.protocol === "http:" ? plain : overTls;
      const all = {
        "content-type": "application/json",
        ...headers,
        "content-length": `${Buffer.byteLength(body)}`,
      };
      const answer = await send(url, AbortSignal.any([signal, end.signal]), { headers: all, body });
      const { status } = answer;
      if (status >= 200 && status <= 299) return;
      throw new DeliveryError(`${service ?? "The webhook"} answered ${status}`, {
        retryAfterMs: readRetryAfter(answer.headers.get("retry-after")),
        isFinal: service !== undefined && status >= 400 && status < 500 && status !== 408 && status !== 429,
      });
    } catch (error) {
      const isLate = signal.aborted;
      throw toDeliveryError(error, { isLate, protocol: url.protocol, isPublicOnly: networks === undefined });
    } finally {
      // The answer is of no interest: this closes the connection.
      end.abort();
    }
  };
}

/** Sends a message to a webhook, once. @throws {DeliveryError} */
export type SendWebhook = (to: { url: string; secret?: string | undefined }, message: AlertMessage) => Promise<void>;

/** Webhooks are signed as Standard Webhooks are. */
export function createWebhooks({ now, ...options }: WebhookOptions): SendWebhook {
  const post = createPosts(options);
  return ({ url, secret }, message) => {
    return post({ url, content: message, headers: toHeaders(message.id, JSON.stringify(message), secret, now()) });
  };
}

/** Seconds of a `retry-after`; a date is read as well. */
function readRetryAfter(value: string | null): number | undefined {
  if (value === null) return undefined;
  const seconds = /^\d{1,7}(\.\d{1,6})?$/.test(value.trim()) ? Number(value) : undefined;
  if (seconds !== undefined) return seconds * 1000;
  const at = Date.parse(value);
  return Number.isNaN(at) ? undefined : Math.max(0, at - Date.now());
}

/**
 * @param networks Private networks that its channel may reach.
 * @throws {GatewayError} `invalid_request` for an address that is not valid for webhooks, or that messages could never
 * reach.
 */
export function checkWebhookUrl(text: string, networks: readonly string[]): string {
  const url = URL.parse(text);
  const isValid = url !== null && /^https?:$/.test(url.protocol) && url.username === "" && url.password === "";
  if (!isValid) throw invalidUrl("url is invalid; expected an https URL without user name and password");
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const isListed = createNetworkList(networks).has(host);
  const isNamed = isIP(host) === 0 && host !== "localhost";
  // A host name is resolved again for each message.
  if (url.protocol === "http:" && (networks.length === 0 || !(isNamed || isListed))) {
    throw invalidUrl("url is http; use https, or an address in one of the ALERT_NETWORKS");
  }
  if (!isNamed && !isListed && !isPublicAddress(host)) {
    throw invalidUrl("url is not a public address; use one, or an address in one of the ALERT_NETWORKS");
  }
  return url.href;
}

function invalidUrl(message: string): GatewayError {
  return new GatewayError("invalid_request", message, { param: "url" });
}

/** `webhook-signature` is the HMAC-SHA256 of `id.timestamp.body`, in base64, after its version. */
function toHeaders(id: string, body: string, secret: string | undefined, now: number): Record<string, string> {
  const at = String(Math.floor(now / 1000));
  const headers = { "webhook-id": id, "webhook-timestamp": at };
  if (secret === undefined) return headers;
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  const signature = createHmac("sha256", key).update(`${id}.${at}.${body}`).digest("base64");
  return { ...headers, "webhook-signature": `v1,${signature}` };
}

function toDeliveryError(
  error: unknown,
  { isLate, protocol, isPublicOnly }: { isLate: boolean; protocol: string; isPublicOnly: boolean },
): DeliveryError {
  if (error instanceof DeliveryError) return error;
  if (isLate) return new DeliveryError(`The webhook did not answer within ${sendMsMax / 1000} s`);
  if (error instanceof GatewayError) {
    if (isPublicOnly) return new DeliveryError("Not sent: the webhook must be at a public address, over https");
    const which = protocol === "http:" ? "over http a webhook must be" : "the webhook is neither public nor";
    return new DeliveryError(`Not sent: ${which} at an address listed in ALERT_NETWORKS`);
  }
  const code = error instanceof Error && "code" in error ? ` (${String(error.code)})` : "";
  return new DeliveryError(`The webhook could not be reached${code}`);
}
