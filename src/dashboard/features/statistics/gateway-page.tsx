import { Glance } from "./glance.tsx";

/** The whole gateway, for administrators. */
export default function GatewayPage() {
  return (
    <Glance title="Gateway" description="Spend, requests, errors and latency of all accounts. Times are in UTC." />
  );
}
