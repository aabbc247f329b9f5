import useSWR, { mutate } from "swr";
import { api, request } from "../../data/api.ts";

const getProviders = () => request(api.admin.providers.get());

export type ProviderList = Awaited<ReturnType<typeof getProviders>>;
export type Provider = ProviderList["data"][number];
export type ProviderKey = Provider["keys"][number];
export type ProviderRoute = Provider["routes"][number];
export type Attempts = ProviderRoute["attempts"];

export const useProviders = () =>
  useSWR("admin-providers", getProviders, { refreshInterval: 5000, keepPreviousData: true });

/** Shows a change at once, also on the pages about plugins and models and in the shell. */
export async function refreshProviders(): Promise<void> {
  await mutate("admin-providers");
  for (const key of ["admin-plugins", "admin-catalogue", "gateway", "models"]) void mutate(key);
}

/** The attempts of several routes or keys as one. */
export function sumAttempts(all: readonly (Attempts | null)[]): {
  calls: number;
  errors: number;
  p95_ms: number | null;
} {
  const known = all.filter((attempts) => attempts !== null);
  const slowest = known.flatMap(({ p95_ms }) => p95_ms ?? []);
  return {
    calls: known.reduce((sum, { calls }) => sum + calls, 0),
    errors: known.reduce((sum, { errors }) => sum + errors, 0),
    p95_ms: slowest.length === 0 ? null : Math.max(...slowest),
  };
}
