import { treaty } from "@elysiajs/eden";
import type { AnyElysia } from "elysia";
import useSWR, { mutate } from "swr";
import type { OrganizationApi } from "../../http/admin-api/index.ts";
import type { PageApi } from "../../http/dashboard-api/index.ts";
import { withoutSecrets } from "./secrets.ts";
import { toAccountHeader } from "./shown-account.ts";

/** An error response of the gateway; the message is the gateway's. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;
  readonly code: string | undefined;
  readonly param: string | undefined;

  constructor(status: number, body: unknown) {
    const details = (body as { error?: { message?: string; code?: string; param?: string } } | null)?.error;
    super(details?.message ?? `The gateway responded with status ${status}`);
    this.status = status;
    this.code = details?.code;
    this.param = details?.param ?? undefined;
  }
}

/** No response from the gateway. */
export class UnreachableError extends Error {
  override readonly name = "UnreachableError";

  constructor() {
    super("The gateway can't be reached. Check that it is running and that you are online.");
  }
}

/** Proxies log the addresses of requests, so a secret that a user searches for is cut out of them. */
const fetcher = ((address: string, init: RequestInit) => fetch(withoutSecrets(address), init)) as typeof fetch;

/** Typed client of the dashboard API. Timestamps stay ISO strings. */
export const api = pageClient<PageApi>().dashboard.api;

/** Typed client of the management API, for administrators. Its times are seconds since 1970. */
export const organization = managementClient<OrganizationApi>().organization;

/** Client of the routes of the dashboard API that have these types. */
export function pageClient<Api extends AnyElysia>() {
  return treaty<Api>(location.origin, { parseDate: false, headers: toAccountHeader, fetcher });
}

/** Client of the routes of the management API that have these types. */
export function managementClient<Api extends AnyElysia>() {
  return treaty<Api>(`${location.origin}/v1`, { parseDate: false, fetcher });
}

interface EdenResponse<T> {
  readonly data: T;
  readonly error: { readonly status: unknown; readonly value: unknown } | null;
}

/** The data of a response of these APIs. @throws {ApiError} */
export async function request<T>(pending: Promise<EdenResponse<T>>): Promise<NonNullable<T>> {
  const { data, error } = await pending.catch(() => {
    throw new UnreachableError();
  });
  if (error === null && data !== null && data !== undefined) return data;
  const status = Number(error?.status ?? 500);
  // Eden reports a network failure as status 503.
  if (error?.value instanceof Error) throw new UnreachableError();
  const refusal = new ApiError(status, readBody(error?.value));
  // Tells the page which account the user works in now.
  if (refusal.code === "account_switched") void mutate("me");
  throw refusal;
}

/** For what others change too. */
export const slowRefresh = { refreshInterval: 15_000, keepPreviousData: true };

export interface ListPage<Entry> {
  readonly data: readonly Entry[];
  readonly last_id: string | null;
  readonly has_more: boolean;
}

/** All entries of a list of the management API, or the first pages with so many of them, read page by page. */
export async function readPages<Entry>(
  read: (query: { limit: number; after?: string }) => Promise<ListPage<Entry>>,
  entriesMax = Number.POSITIVE_INFINITY,
): Promise<Entry[]> {
  const entries: Entry[] = [];
  let after: string | null = null;
  do {
    const page: ListPage<Entry> = await read({ limit: 100, ...(after !== null && { after }) });
    entries.push(...page.data);
    after = page.has_more && entries.length < entriesMax ? page.last_id : null;
  } while (after !== null);
  return entries;
}

/** A time of the management API as the pages have it. */
export function fromSeconds(seconds: number): string;
export function fromSeconds(seconds: number | null): string | null;
export function fromSeconds(seconds: number | null): string | null {
  return seconds === null ? null : new Date(seconds * 1000).toISOString();
}

/** A time of a page as the management API takes it. */
export function toSeconds(time: string): number {
  return Math.floor(Date.parse(time) / 1000);
}

/** Fetches JSON from an endpoint outside of these APIs. @throws {ApiError} */
export async function fetchJson<T>(path: string, body?: unknown, more: RequestInit = {}): Promise<T> {
  const init: RequestInit =
    body === undefined
      ? {}
      : { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const response = await fetch(withoutSecrets(path), { ...init, ...more }).catch(() => {
    throw new UnreachableError();
  });
  const answer: unknown = await response.json().catch(() => undefined);
  if (!response.ok) throw new ApiError(response.status, answer);
  return answer as T;
}

/** Public facts about the gateway: sign-in methods, base path of the API, sandbox mode. */
export function useGateway() {
  return useSWR("gateway", () => request(api.gateway.get()), { revalidateOnFocus: false, refreshInterval: 300_000 });
}

/** The base URL of the API. */
export function useBaseUrl(): string {
  const { data: gateway } = useGateway();
  return `${location.origin}${gateway?.base_path ?? "/v1"}`;
}

export function isUnauthorized(error: unknown): boolean {
  return error instanceof ApiError && error.status === 401;
}

export function toMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function readBody(value: unknown): unknown {
  if (typeof value !== "string") return value;
  try {
    return JSON.parse(value);
  } catch {
    return undefined;
  }
}
