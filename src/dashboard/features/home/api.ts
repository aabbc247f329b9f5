import useSWR from "swr";
import { api, request } from "../../data/api.ts";

const refreshMs = 60_000;
const getHome = () => request(api.admin.home.get());

export type Home = Awaited<ReturnType<typeof getHome>>;

/** What an operator looks at first; refreshed every minute. */
export function useHome() {
  return useSWR("home", getHome, { refreshInterval: refreshMs, keepPreviousData: true });
}

/** The state of every provider, the worst first. */
export function useHealth() {
  return useSWR("health", () => request(api.admin.health.get()), { refreshInterval: 30_000, keepPreviousData: true });
}
