import { useMe } from "../../data/session.ts";
import { Glance } from "./glance.tsx";

/** The own account, over its keys. */
export default function UsagePage() {
  const { data: me } = useMe();
  if (me === undefined) return null;
  const description = "Spend, requests, errors and latency of your account. Days are in UTC.";
  return <Glance title="Usage" description={description} account={me.account} />;
}
