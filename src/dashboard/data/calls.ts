import useSWR from "swr";
import { api, told } from "./api.ts";
import { refreshMs } from "./session.ts";

/** As many as the API tells at once. */
export const callsOfPage = 50;

const getCalls = () => told(api.calls.get({ query: {} }));

export type Call = Awaited<ReturnType<typeof getCalls>>["data"][number];

/** The latest calls of the own account. */
export function useCalls() {
  return useSWR("calls", getCalls, { refreshInterval: refreshMs });
}

/** The calls before one that is known; as many as a page has. */
export async function olderThan({ id, at }: Pick<Call, "id" | "at">): Promise<readonly Call[]> {
  const query = { before_id: id, ...(at !== null && { before: at }) };
  return (await told(api.calls.get({ query }))).data;
}
