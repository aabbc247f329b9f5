import { StatisticsView } from "./glance.tsx";

/** The whole gateway, for administrators. */
export default function GatewayPage() {
  return (
    <StatisticsView title="Usage" description="Spend, requests, errors and latency of all accounts. Days are in UTC." />
  );
}
