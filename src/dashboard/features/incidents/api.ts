import useSWR, { mutate } from "swr";
import { organization, readPages, request, slowRefresh } from "../../data/api.ts";

const incidentOf = (name: string) => organization.providers({ provider_id: name }).incident;
const getIncident = (name: string) => request(incidentOf(name).get());
const getReroutes = () => readPages((query) => request(organization.reroutes.get({ query })));

export type Incident = Awaited<ReturnType<typeof getIncident>>;
export type Reroute = Awaited<ReturnType<typeof getReroutes>>[number];
export type RerouteFields = Pick<
  Reroute,
  "id" | "subject" | "name" | "to_model" | "ends_at" | "is_effective" | "ineffective_reason"
>;

/** The incident of a provider that fails; of one that works, the last hour. */
export const useIncident = (name: string) =>
  useSWR(["incident", name], () => getIncident(name), { refreshInterval: 10_000, keepPreviousData: true });

/** The re-routes that have not ended, for those who see the whole gateway. */
export const useReroutes = (isStaff = true) => useSWR(isStaff ? "reroutes" : null, getReroutes, slowRefresh);

export interface NewReroute {
  readonly subject: Reroute["subject"];
  readonly name: string;
  /** `null`: other providers of the same models alone. */
  readonly to_model: string | null;
  /** Seconds since 1970; absent: until it is ended. */
  readonly ends_at?: number;
}

export async function createReroute(reroute: NewReroute): Promise<void> {
  await request(organization.reroutes.post(reroute));
  await refreshReroutes();
}

export async function endReroute(id: string): Promise<void> {
  await request(organization.reroutes({ reroute_id: id }).delete());
  await refreshReroutes();
}

async function refreshReroutes(): Promise<void> {
  await mutate("reroutes");
  await mutate((key) => Array.isArray(key) && key[0] === "incident");
}
