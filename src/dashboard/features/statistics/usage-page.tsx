import { useMe } from "../../data/session.ts";
import { StatisticsView } from "./glance.tsx";

/** The own account, over its keys. */
export default function UsagePage() {
  const { data: me } = useMe();
  if (me === undefined) return null;
  const description = "Spend, requests, errors and latency of your account. Days are in UTC.";
  return <StatisticsView title="Usage" description={description} account={me.account} />;
}
