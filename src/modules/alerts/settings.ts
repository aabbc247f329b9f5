import { defineSettings, networks, optional } from "../../config/index.ts";

export const settings = defineSettings({
  after: "SMTP_FROM",
  settings: {
    /** Private networks that webhooks of alerts may reach; absent: public addresses only. */
    alertNetworks: optional("ALERT_NETWORKS", networks),
  },
});
