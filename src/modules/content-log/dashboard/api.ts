import useSWR, { mutate } from "swr";
import { pageClient, request } from "../../../dashboard/data/api.ts";
import type { ContentApi } from "../page-routes.ts";

const { api } = pageClient<ContentApi>().dashboard;

const getOwn = () => request(api.content.get());
const getOf = (id: string) => request(api.admin.accounts({ id }).content.get());

/** For whom prompts and answers are kept. */
export type ContentLog = Awaited<ReturnType<typeof getOwn>>;

/** Content log of the user's own account. */
export const useContentLog = () => useSWR("content", getOwn, { revalidateOnFocus: false });

/** Content log of an account, for administrators. */
export const useAccountContent = (id: string) => useSWR(["account-content", id], () => getOf(id));

/** Whether the content of any call of the account is kept. */
export function isKept({ mode, account, keys }: ContentLog): boolean {
  return mode === "all" || (mode === "selected" && (account || keys.length > 0));
}

/** Whether the content of the calls of one key is kept. */
export function isKeptOfKey({ mode, account, keys }: ContentLog, keyId: string): boolean {
  return mode === "all" || (mode === "selected" && (account || keys.includes(keyId)));
}

/** Whether the content of a request of the log is there. It shares what the dialog of the request has read. */
export function useHasContent(id: string): boolean {
  const read = () => request(api.requests({ id }).get());
  return useSWR(["request", id], read, { revalidateIfStale: false }).data?.has_content === true;
}

/** Fetches prompt and answer. Reading another user's content is recorded in the audit log. */
export const fetchContent = (id: string) => request(api.requests({ id }).content.post());

export type Content = Awaited<ReturnType<typeof fetchContent>>;

/** Deletes the content of one request of the own account. */
export async function deleteContent(id: string): Promise<void> {
  await request(api.requests({ id }).content.delete());
  await Promise.all([mutate(["request", id]), mutate("content")]);
}

/** Deletes all content of the own account, and returns of how many requests. */
export async function deleteAllContent(): Promise<number> {
  const { deleted } = await request(api.content.delete());
  await mutate("content");
  return deleted;
}

/** Deletes all content of an account. */
export async function deleteAccountContent(id: string): Promise<number> {
  const { deleted } = await request(api.admin.accounts({ id }).content.delete());
  await mutate(["account-content", id]);
  return deleted;
}

/** Switches on or off that content is kept, for an account or one of its keys. */
export async function switchContent(id: string, on: boolean, key?: string): Promise<void> {
  await request(api.admin.accounts({ id }).content.post({ on, ...(key !== undefined && { key }) }));
  await mutate(["account-content", id]);
}
