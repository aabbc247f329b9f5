import useSWR from "swr";
import { Link } from "wouter";
import { formatAge } from "../../../dashboard/format.ts";
import { Loaded } from "../../../dashboard/kit/feedback.tsx";
import { ItemList } from "../../../dashboard/kit/item-list.tsx";
import { type Alert, getActiveAlerts, severityBadges } from "./api.ts";

const listedMax = 8;

/** The alerts of the gateway that are active and not muted. */
export function HomeCard() {
  const active = useSWR("alerts-active", getActiveAlerts, { refreshInterval: 60_000, keepPreviousData: true });
  return (
    <Loaded state={active} lines={3}>
      {(alerts) => <ActiveAlerts alerts={alerts.filter(({ muted }) => !muted)} />}
    </Loaded>
  );
}

function ActiveAlerts({ alerts }: { alerts: readonly Alert[] }) {
  return (
    <ItemList
      title="Active alerts"
      more={<Link href="/admin/alerts">All alerts</Link>}
      empty="No rule has found a problem."
      rows={alerts.slice(0, listedMax)}
      count={alerts.length}
    >
      {({ id, text, since, severity, page }) => (
        <li key={id}>
          <span className={severityBadges[severity]}>{severity}</span>
          {page === "" ? (
            <span className="break">{text}</span>
          ) : (
            <Link className="break" href={page}>
              {text}
            </Link>
          )}
          <span className="faint">{formatAge(since)}</span>
        </li>
      )}
    </ItemList>
  );
}
