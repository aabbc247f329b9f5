import { useOwnAlerts } from "../../data/alerts.ts";
import { Loaded } from "../../ui/feedback.tsx";
import { ChannelsSection } from "../alerts/channels-section.tsx";
import { RulesSection } from "../alerts/rules-section.tsx";

/** The alerts of the own account: its wallet and the budgets of its keys. */
export function AlertsSection() {
  const alerts = useOwnAlerts();
  return (
    <Loaded state={alerts} lines={4}>
      {({ channels, rules, has_mail }) => (
        <>
          <ChannelsSection scope="own" channels={channels} hasMail={has_mail} />
          {channels.length > 0 && <RulesSection scope="own" rules={rules} />}
        </>
      )}
    </Loaded>
  );
}
