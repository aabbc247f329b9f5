/** Managed things that the gateway declares: what they are made of, and their entries. */
import useSWR, { mutate } from "swr";
import { refreshAccounts } from "../../data/admin.ts";
import { api, fetchJson, type ListPage, readPages, request } from "../../data/api.ts";

const getResources = () => request(api.admin.resources.get());

export type Resource = Awaited<ReturnType<typeof getResources>>["data"][number];
export type Field = Resource["fields"][number];
export type Entry = Readonly<Record<string, unknown>> & { readonly id: string };

/** Reads the declarations of all managed things, for administrators. They stay as long as the process of the gateway. */
export function useResources() {
  return useSWR("resources", getResources, { revalidateOnFocus: false, revalidateIfStale: false });
}

export function useResource(name: string): Resource | undefined {
  return useResources().data?.data.find((one) => one.name === name);
}

/** The account that things are of; absent: they are of the gateway. */
export type Owner = string | undefined;

function toPath({ paths }: Resource, account: Owner, id?: string): string {
  const path = account === undefined ? paths.gateway : paths.project?.replace(":project_id", account);
  return `/v1${path}${id === undefined ? "" : `/${id}`}`;
}

/** The entries of an account, or of the gateway. */
export function useEntries(resource: Resource, account: Owner) {
  return useSWR([resource.name, account], async () => {
    const entries = await readPages(({ limit, after }) => {
      const query = new URLSearchParams({ limit: String(limit), ...(after !== undefined && { after }) });
      return fetchJson<ListPage<Entry>>(`${toPath(resource, account)}?${query}`);
    });
    return entries.filter(({ id }) => id !== resource.whole);
  });
}

/** Loads the entries of a thing, and the accounts that they are about, anew. */
async function refresh({ name }: Resource): Promise<void> {
  await Promise.all([mutate((key) => Array.isArray(key) && key[0] === name), refreshAccounts()]);
}

/** Creates an entry, or changes the one with the id. */
export async function saveEntry(resource: Resource, account: Owner, body: object, id?: string): Promise<Entry> {
  const entry = await fetchJson<Entry>(toPath(resource, account, id), body);
  await refresh(resource);
  return entry;
}

export async function removeEntry(resource: Resource, account: Owner, id: string): Promise<void> {
  await fetchJson(toPath(resource, account, id), undefined, { method: "DELETE" });
  await refresh(resource);
}
