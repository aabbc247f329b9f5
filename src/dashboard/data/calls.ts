import { useEffect } from "react";
import useSWR, { mutate } from "swr";
import { api, told } from "./api.ts";

/** As many as the API tells at once. */
export const callsOfPage = 50;

/** Who is signed in and, where that is asked for, the latest calls. `seen` is the stamp of those on the screen. */
const askMe = (seen: string | undefined) => told(api.me.get({ query: seen === undefined ? {} : { calls: seen } }));

type Latest = NonNullable<Awaited<ReturnType<typeof askMe>>["calls"]>;
export type Call = Latest["data"][number];

/** How many on the screen show the latest calls: then they come with what is asked for anyway. */
let shown = 0;
/** Of the calls that came last. */
let stamp = "";

/** Who is signed in, with wallet and quota. The latest calls, where they are shown and have changed, are taken in. */
export async function getMe() {
  const { calls, ...me } = await askMe(shown > 0 ? stamp : undefined);
  if (calls !== null) void mutate("calls", taken(calls), { revalidate: false });
  return me;
}

/** For their first time on the screen. */
async function getCalls(): Promise<Latest> {
  const { calls, ...me } = await askMe("");
  void mutate("me", me, { revalidate: false });
  if (calls === null) throw new Error("The gateway did not tell the latest calls");
  return taken(calls);
}

function taken(calls: Latest): Latest {
  stamp = calls.stamp;
  return calls;
}

/** The latest calls of the own account, as up to date as `useMe`. */
export function useCalls() {
  useEffect(() => {
    shown += 1;
    return () => {
      shown -= 1;
    };
  }, []);
  return useSWR("calls", getCalls, { revalidateOnFocus: false, revalidateOnReconnect: false });
}

/** The calls before one that is known; as many as a page has. */
export async function olderThan({ id, at }: Pick<Call, "id" | "at">): Promise<readonly Call[]> {
  const query = { before_id: id, ...(at !== null && { before: at }) };
  return (await told(api.calls.get({ query }))).data;
}
