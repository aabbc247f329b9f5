import { useMe } from "../../../dashboard/data/session.ts";
import { Loaded } from "../../../dashboard/kit/feedback.tsx";
import { useOwnAlerts } from "./api.ts";
import { ChannelsSection } from "./channels-section.tsx";
import { RulesSection } from "./rules-section.tsx";

/** The alerts of the own account, which only admins of a team manage. */
export function OwnSection() {
  const { data: me } = useMe();
  return me?.team_role === "admin" && me.role !== "viewer" ? <OwnAlerts /> : null;
}

/** The alerts of the own account: its wallet and the budgets of its keys. */
function OwnAlerts() {
  const alerts = useOwnAlerts();
  return (
    <Loaded state={alerts} lines={4}>
      {({ channels, rules, has_mail }) => (
        <>
          <ChannelsSection scope="own" channels={channels} hasMail={has_mail} />
          {channels.length > 0 && <RulesSection scope="own" rules={rules} channels={channels} />}
        </>
      )}
    </Loaded>
  );
}
