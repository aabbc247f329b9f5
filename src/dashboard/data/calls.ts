import useSWR from "swr";
import { api, told } from "./api.ts";
import { refreshMs } from "./session.ts";

const getCalls = () => told(api.calls.get({ query: {} }));

export type Call = Awaited<ReturnType<typeof getCalls>>["data"][number];

/** The latest calls of the own account. */
export function useCalls() {
  return useSWR("calls", getCalls, { refreshInterval: refreshMs });
}
