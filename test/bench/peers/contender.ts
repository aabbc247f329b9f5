import type { Question } from "../exchange.ts";
import type { Protocol } from "../job.ts";

/** Where one of them is started. */
export interface Place {
  port: number;
  /** The loopback provider, such as `https://127.0.0.1:40000`. */
  provider: string;
  /** The certificate to trust, where the provider speaks TLS. */
  caFile?: string | undefined;
  /** Its own, for what it writes down. */
  folder: string;
}

/** One of those that are measured: a gateway, or a proxy that is the measure of gateways. */
export interface Contender {
  name: string;
  version: string;
  /** What ours has on in the same run, and this has not. */
  without: string;
  /** Protocols that it does not have with this provider. */
  lacks?: readonly Protocol[];
  /** Refuses a key that it does not know, which is tried before it is measured. */
  hasKeys?: boolean;
  commandAt(place: Place): Promise<{ command: string[]; env?: Record<string, string> }>;
  /** Makes the key to ask with, once it runs; absent: {@link key}. */
  makeKey?(origin: string): Promise<string>;
  /** What its question has beside the usual one. */
  asking?(place: Place, protocol: Protocol): Pick<Question, "headers" | "model">;
}

/** Every gateway is asked with it, also those that do not look at it. */
export const key = "sk-mg-bench0001-0123456789abcdef0123456789abcdef";
/** What the provider would want, and nobody checks. */
export const providerKey = "sk-upstream";
