import type { ReactNode } from "react";
import { Link } from "wouter";
import { usePayments } from "./api.ts";

/** How a person without the right to credit accounts gets credit: by paying, by a voucher, or from whoever gives it. */
export function CreditHelp({ ask }: { ask: ReactNode }) {
  const payments = usePayments();
  const billing = <Link href="/billing">Billing</Link>;
  if (payments === undefined) return null;
  if (payments !== null) return <Link href="/billing">Add credit</Link>;
  if (ask === null) return <>Redeem a voucher on {billing}.</>;
  return (
    <>
      {ask}, or redeem a voucher on {billing}.
    </>
  );
}
