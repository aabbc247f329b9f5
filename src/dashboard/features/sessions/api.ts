import useSWR, { mutate } from "swr";
import { api, organization, request } from "../../data/api.ts";
import { mayAdminister } from "../../data/roles.ts";
import { type Me, refreshMs } from "../../data/session.ts";

/** A session of an account; without an account of the own one. */
export interface SessionName {
  readonly session: string;
  readonly account?: string | undefined;
}

const getSession = ({ session, account }: SessionName) =>
  request(
    api["call-sessions"]({ session: encodeURIComponent(session) }).get({
      query: account === undefined ? {} : { account },
    }),
  );

export type SessionBill = Awaited<ReturnType<typeof getSession>>;
export type AgentBill = SessionBill["agents"][number];

const toKey = ({ session, account }: SessionName) => ["call-session", session, account ?? ""] as const;

export const useSession = (name: SessionName) =>
  useSWR(toKey(name), () => getSession(name), { refreshInterval: refreshMs, keepPreviousData: true });

/** Whether this person may end calls of the account: its admins, and whoever runs the gateway. */
export function mayEnd(me: Me, account: string): boolean {
  if (mayAdminister(me.role)) return true;
  return me.role !== "viewer" && me.account === account && me.team_role === "admin";
}

/** Ends an agent and everything below it, or all of the session. Returns how many calls ended. */
export async function endSession(me: Me, account: string, session: string, agent: string | undefined): Promise<number> {
  const body = agent === undefined ? {} : { agent };
  const name = encodeURIComponent(session);
  const ended = mayAdminister(me.role)
    ? await request(organization.projects({ project_id: account }).sessions({ session: name }).end.post(body))
    : await request(api["call-sessions"]({ session: name }).end.post(body));
  await mutate((key) => Array.isArray(key) && (key[0] === "call-session" || key[0] === "requests"));
  return ended.calls;
}
