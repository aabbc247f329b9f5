import useSWR, { mutate } from "swr";
import { api, organization, readPages, request, slowRefresh } from "../../data/api.ts";

/** The providers, with what else is known about plugins and the sandbox. */
const getProviders = async () => {
  const [data, plugins, sandbox] = await Promise.all([
    readPages((query) => request(organization.providers.get({ query }))),
    request(organization.plugins.get()),
    request(organization.sandbox.get()),
  ]);
  return { data, plugins, sandbox };
};
const getStatus = () => request(api.status.get());
const getAttention = () => request(api.admin.attention.get());

/** The routes of one provider. */
export const providerOf = (name: string) => organization.providers({ provider_id: name });

export type ProviderList = Awaited<ReturnType<typeof getProviders>>;
export type Provider = ProviderList["data"][number];
export type ProviderHealth = Provider["health"];
export type ProviderKey = Provider["keys"][number];
export type ProviderRoute = Provider["routes"][number];
export type Attempts = ProviderRoute["attempts"];
export type StatusRow = Awaited<ReturnType<typeof getStatus>>["data"][number];
const test = (name: string, keyId?: string) =>
  request(providerOf(name).test.post(keyId === undefined ? {} : { key_id: keyId }));
export type TestResult = Awaited<ReturnType<typeof test>>;

export const useProviders = () =>
  useSWR("admin-providers", getProviders, { refreshInterval: 5000, keepPreviousData: true });

/** The health of the providers as every user sees it. */
export const useStatus = () => useSWR("status", getStatus, slowRefresh);

/** How many providers, and matters of modules, need somebody, for the navigation of administrators. */
export const useAttention = (isStaff: boolean) => useSWR(isStaff ? "admin-attention" : null, getAttention, slowRefresh);

/** Shows a change at once, also on the page about models and in the shell. */
export async function refreshProviders(): Promise<void> {
  await mutate("admin-providers");
  for (const key of ["admin-catalogue", "admin-attention", "status", "gateway", "models"]) void mutate(key);
}

/** Calls the provider once, with the stored key of this id or the first. */
export async function testProvider(name: string, keyId?: string): Promise<TestResult> {
  const result = await test(name, keyId);
  await refreshProviders();
  return result;
}

/** A provider or a key that is not saved yet. */
export interface UnsavedProvider {
  readonly name: string;
  /** Manifest of a new provider. */
  readonly manifest?: object;
  readonly key?: string;
  readonly fields?: object;
}

/** Calls a provider once as it would be called after saving. */
export const testUnsaved = (unsaved: UnsavedProvider): Promise<TestResult> =>
  request(organization.provider_tests.post(unsaved));

/** The attempts of several routes or keys as one. */
export function sumAttempts(all: readonly (Attempts | null)[]): {
  calls: number;
  errors: number;
  p95_ms: number | null;
} {
  const counts = all.filter((attempts) => attempts !== null);
  const slowest = counts.flatMap(({ p95_ms }) => p95_ms ?? []);
  return {
    calls: counts.reduce((sum, { calls }) => sum + calls, 0),
    errors: counts.reduce((sum, { errors }) => sum + errors, 0),
    p95_ms: slowest.length === 0 ? null : Math.max(...slowest),
  };
}
