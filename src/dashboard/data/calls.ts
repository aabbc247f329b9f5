import { useEffect } from "react";
import useSWR, { mutate } from "swr";
import { api, isUnauthorized, request } from "./api.ts";
import { forgetAccount, noteAccount } from "./shown-account.ts";

/** The page size of the API. */
export const callsPageSize = 50;

/** The signed-in user and, if `seen` is given, the latest calls. `seen` is the stamp of the calls on the screen. */
async function fetchMe(seen: string | undefined) {
  const me = await request(api.me.get({ query: seen === undefined ? {} : { calls: seen } })).catch((error) => {
    if (isUnauthorized(error)) forgetAccount();
    throw error;
  });
  noteAccount(me);
  return me;
}

type Latest = NonNullable<Awaited<ReturnType<typeof fetchMe>>["calls"]>;
export type Call = Latest["data"][number];

/** How many components show the latest calls; they are fetched together with `me`. */
let watchers = 0;
/** The version of the latest calls that were received. */
let stamp = "";

/** The signed-in user with wallet and quota. Also updates the latest calls if they are on the screen and changed. */
export async function getMe() {
  const { calls, ...me } = await fetchMe(watchers > 0 ? stamp : undefined);
  if (calls !== null) void mutate("calls", rememberStamp(calls), { revalidate: false });
  return me;
}

async function getCalls(): Promise<Latest> {
  const { calls, ...me } = await fetchMe("");
  void mutate("me", me, { revalidate: false });
  if (calls === null) throw new Error("The gateway did not return the latest calls");
  return rememberStamp(calls);
}

function rememberStamp(calls: Latest): Latest {
  stamp = calls.stamp;
  return calls;
}

/** The latest calls of the account, refreshed together with `useMe`. */
export function useCalls() {
  useEffect(() => {
    watchers += 1;
    return () => {
      watchers -= 1;
    };
  }, []);
  return useSWR("calls", getCalls, { revalidateOnFocus: false, revalidateOnReconnect: false });
}

/** The page of calls before the given one. */
export async function getOlderCalls({ id, at }: Pick<Call, "id" | "at">): Promise<readonly Call[]> {
  const query = { before_id: id, ...(at !== null && { before: at }) };
  return (await request(api.calls.get({ query }))).data;
}
