import { Buffer } from "node:buffer";
import { createHmac } from "node:crypto";
import { isIP } from "node:net";
import { createNetworkList, GatewayError } from "../contract/index.ts";
import { createPublicRequest, isPublicAddress } from "../kernel/index.ts";
import { type AlertMessage, DeliveryError, sendMsMax } from "./message.ts";

export interface WebhookOptions {
  /** Private networks that may be reached, as CIDR ranges or addresses; absent: public addresses only. */
  readonly networks?: readonly string[] | undefined;
  readonly proxyEnv: Readonly<Record<string, string>> | undefined;
  readonly now: () => number;
}

/** Sends a message to a webhook, once. @throws {DeliveryError} */
export type SendWebhook = (to: { url: string; secret?: string | undefined }, message: AlertMessage) => Promise<void>;

/**
 * Webhooks are reached at public addresses over https, and at the addresses that the operator listed over http too. They
 * are signed as Standard Webhooks are.
 */
export function createWebhooks({ networks, proxyEnv, now }: WebhookOptions): SendWebhook {
  const { has: isListed } = createNetworkList(networks ?? []);
  const overTls = createPublicRequest({
    proxyEnv,
    isPublic: (address) => isPublicAddress(address) || isListed(address),
  });
  const plain = createPublicRequest({ isPublic: isListed });
  return async ({ url: text, secret }, message) => {
    const url = new URL(text);
    const body = JSON.stringify(message);
    const signal = AbortSignal.timeout(sendMsMax);
    const end = new AbortController();
    try {
      const send = url.protocol === "http:" ? plain : overTls;
      const headers = { ...toHeaders(message.id, body, secret, now()), "content-length": `${Buffer.byteLength(body)}` };
      const { status } = await send(url, AbortSignal.any([signal, end.signal]), { headers, body });
      if (status < 200 || status > 299) throw new DeliveryError(`The webhook answered ${status}`);
    } catch (error) {
      const isLate = signal.aborted;
      throw toDeliveryError(error, { isLate, protocol: url.protocol, isPublicOnly: networks === undefined });
    } finally {
      // The answer is of no interest: this closes the connection.
      end.abort();
    }
  };
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
  const headers = { "content-type": "application/json", "webhook-id": id, "webhook-timestamp": at };
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
