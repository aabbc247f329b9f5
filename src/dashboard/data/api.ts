import { treaty } from "@elysiajs/eden";
import type { PageApi } from "../../http/dashboard-api/index.ts";

/** What the gateway refused, in its own words. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly status: number;
  readonly code: string | undefined;
  /** The field that was wrong. */
  readonly param: string | undefined;

  constructor(status: number, body: unknown) {
    const told = (body as { error?: { message?: string; code?: string; param?: string } } | null)?.error;
    super(told?.message ?? `The gateway answered with status ${status}`);
    this.status = status;
    this.code = told?.code;
    this.param = told?.param ?? undefined;
  }
}

/** The page's own API. Times stay the text that they are. */
export const api = treaty<PageApi>(location.origin, { parseDate: false }).dashboard.api;

interface Answer<T> {
  readonly data: T;
  readonly error: { readonly status: unknown; readonly value: unknown } | null;
}

/** What the API answered. @throws {Refusal} */
export async function told<T>(asked: Promise<Answer<T>>): Promise<NonNullable<T>> {
  const { data, error } = await asked.catch(() => {
    throw unreachable();
  });
  if (error === null && data !== null && data !== undefined) return data;
  const status = Number(error?.status ?? 500);
  // Eden says 503 of a gateway that it did not reach.
  if (error?.value instanceof Error) throw unreachable();
  throw new Refusal(status, readBody(error?.value));
}

/** As `told`, for the endpoints that are not the page's own. @throws {Refusal} */
export async function ask<T>(path: string, body?: unknown, more: RequestInit = {}): Promise<T> {
  const init: RequestInit =
    body === undefined
      ? {}
      : { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const response = await fetch(path, { ...init, ...more }).catch(() => {
    throw unreachable();
  });
  const answer: unknown = await response.json().catch(() => undefined);
  if (!response.ok) throw new Refusal(response.status, answer);
  return answer as T;
}

export function isSignedOut(error: unknown): boolean {
  return error instanceof Refusal && error.status === 401;
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function unreachable(): Error {
  return new Error("The gateway cannot be reached; check that it runs and that you are connected");
}

function readBody(value: unknown): unknown {
  if (typeof value !== "string") return value;
  try {
    return JSON.parse(value);
  } catch {
    return undefined;
  }
}
