import useSWR from "swr";
import { api, request } from "./api.ts";

/** How long the wallet of the account lasts, and who gives credit; refreshed every minute. */
export function useWallet() {
  return useSWR("wallet", () => request(api.wallet.get()), { refreshInterval: 60_000 });
}
