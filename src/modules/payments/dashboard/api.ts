import useSWR from "swr";
import {
  fromSeconds,
  managementClient,
  pageClient,
  readPages,
  request,
  slowRefresh,
} from "../../../dashboard/data/api.ts";
import type { OrganizationApiOf } from "../../../http/admin-api/index.ts";
import type { PaymentsApi } from "../page-routes.ts";
import type { vouchers } from "../voucher-resource.ts";

export const api = pageClient<PaymentsApi>().dashboard.api;
const { organization } = managementClient<OrganizationApiOf<typeof vouchers>>();

/** The name of the payment provider; `null` if none is configured, `undefined` until it is there. */
export function usePayments(): string | null | undefined {
  return useSWR("gateway", () => request(api.gateway.get())).data?.payments;
}

/** More than a page of a browser is of use for; older ones are in the management API. */
const shownMax = 1000;

const getVouchers = async () => {
  const vouchers = await readPages((query) => request(organization.vouchers.get({ query })), shownMax);
  return vouchers.map(({ id, usd, status, redeemed_by, redeemed_by_email, created_at, expires_at }) => ({
    id,
    usd,
    status,
    redeemed_by,
    redeemed_by_email,
    created_at: fromSeconds(created_at),
    expires_at: fromSeconds(expires_at),
  }));
};

export type AdminVoucher = Awaited<ReturnType<typeof getVouchers>>[number];

/** The vouchers of the gateway without their codes, newest first. */
export function useVouchers() {
  return useSWR(["voucher"], getVouchers, slowRefresh);
}

export function voidVoucher(id: string) {
  return request(organization.vouchers({ voucher_id: id }).void.post());
}
