import useSWR from "swr";
import { api, told } from "./api.ts";

/** What the gateway says of itself to anybody: how to sign in, where its API stands, whether answers are simulated. */
export function useGateway() {
  return useSWR("gateway", () => told(api.gateway.get()), { revalidateOnFocus: false });
}
