import type { Question } from "../exchange.ts";

/** Where one of them is started. */
export interface Place {
  port: number;
  /** The loopback provider, such as `http://127.0.0.1:40000`. */
  provider: string;
  /** Its own, for what it writes down. */
  folder: string;
}

/** One of those that are measured: a gateway, or a proxy that is the measure of gateways. */
export interface Contender {
  name: string;
  version: string;
  isOurs?: boolean;
  /** What ours has on in the same run, and this has not. */
  without: string;
  commandAt(place: Place): Promise<{ command: string[]; env?: Record<string, string> }>;
  /** What its question has beside the usual one. */
  asking?(place: Place): Pick<Question, "headers" | "model">;
}

/** Every gateway is asked with it, also those that do not look at it. */
export const key = "sk-mg-bench0001-0123456789abcdef0123456789abcdef";
/** What the provider would want, and nobody checks. */
export const providerKey = "sk-upstream";
export const path = "/v1/chat/completions";
