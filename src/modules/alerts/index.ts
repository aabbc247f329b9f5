import type { Module } from "../module.ts";
import { alertChannels } from "./channel-resource.ts";
import { alertList, channelTest } from "./command.ts";
import { alertRules } from "./rule-resource.ts";
import { settings } from "./settings.ts";

/** Messages when money runs low, a provider fails or the gateway needs attention. */
export const alerts: Module = {
  name: "alerts",
  settings,
  resources: [alertRules, alertChannels],
  commands: [alertList, channelTest],
  async open(parts) {
    const { openAlerts } = await import("./open.ts");
    return openAlerts(parts);
  },
};
