import type { ModuleParts } from "../../../dashboard/kit/modules.tsx";
import { HomeCard } from "./home-card.tsx";
import { OwnSection } from "./own-section.tsx";
import { titleOfRule } from "./rule-titles.ts";

export const parts: ModuleParts = {
  places: { "home-cards": HomeCard, "settings-end": OwnSection },
  audit: {
    sentences: {
      "alert.rule": ({ enabled, threshold }, subject) => {
        const rule = `the alert “${titleOfRule(subject)}”`;
        if (enabled !== true) return `Turned off ${rule}`;
        return typeof threshold === "string" && threshold !== ""
          ? `Turned on ${rule} at ${threshold}`
          : `Turned on ${rule}`;
      },
      "alert.channel": ({ name, to }) => `Added the alert channel “${name}” (${to})`,
      "alert.metric_rule": ({ name }) => `Set the alert rule “${name}”`,
      "alert.metric_rule_delete": () => "Deleted an alert rule",
      "alert.mute": ({ until }) => (until ? `Muted an alert until ${until}` : "Muted an alert"),
      "alert.unmute": () => "Unmuted an alert",
      "alert.channel_change": ({ name, severity, digest, rules }) =>
        `Changed the alert channel “${name}”: severity ${severity}, rules ${rules}, digest ${digest}`,
      "alert.channel_delete": ({ name, to }) => `Deleted the alert channel “${name}” (${to})`,
    },
    groups: [
      {
        name: "alert",
        after: "tokens",
        label: "Alerts",
        actions: {
          rule: "Rule changed",
          metric_rule: "Custom rule changed",
          metric_rule_delete: "Custom rule deleted",
          mute: "Alert muted",
          unmute: "Alert unmuted",
          channel: "Channel added",
          channel_change: "Channel changed",
          channel_delete: "Channel deleted",
        },
      },
    ],
  },
};
