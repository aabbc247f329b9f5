/** The tables of alerts. */
export interface AlertTables {
  alert_channels: AlertChannelsTable;
  alert_rules: AlertRulesTable;
  alerts: AlertsTable;
  alert_history: AlertHistoryTable;
  alert_mutes: AlertMutesTable;
  metric_rules: MetricRulesTable;
  alert_messages: AlertMessagesTable;
  alert_turns: AlertTurnsTable;
}

/** Where alerts are sent. In these tables `owner` is an account, or `gateway` for the operator. */
interface AlertChannelsTable {
  id: string;
  owner: string;
  kind: "webhook" | "email";
  /** What the dashboard calls it; no secret. */
  label: string;
  /** Encrypted JSON: address and secret. */
  target: Uint8Array;
  /** Which secrets key encrypted it. */
  secrets_id: string;
  created_at: number;
  /** When a message was last accepted; null: never. */
  sent_at: number | null;
  /** Of the last attempt; null: it succeeded. */
  error: string | null;
  error_at: number | null;
}

/** Rules that differ from their defaults. */
interface AlertRulesTable {
  owner: string;
  rule: string;
  /** Flag. */
  enabled: number;
  /** In the unit of the rule; null: the default. */
  threshold: number | null;
}

/** What is wrong now, one row per subject. */
interface AlertsTable {
  /** Owner, rule and subject. */
  id: string;
  owner: string;
  rule: string;
  text: string;
  /** Rises when it gets worse. */
  level: number;
  since_at: number;
  /** When a node last found it. */
  seen_at: number;
  /** When the last message about it was queued; null: none was. */
  notified_at: number | null;
  notified_level: number | null;
}

/** Alerts that are over. */
interface AlertHistoryTable {
  id: string;
  /** The `id` that it had among the alerts. */
  alert_id: string;
  owner: string;
  rule: string;
  text: string;
  level: number;
  since_at: number;
  ended_at: number;
}

/** Alerts of which no messages are sent. */
interface AlertMutesTable {
  /** The `id` of the alert, which may be over and come again. */
  alert_id: string;
  owner: string;
  /** Null: until somebody ends it. */
  until_at: number | null;
  muted_by: string;
}

/** Rules of the operator's own: a metric of some calls, over a while, beyond a threshold. */
interface MetricRulesTable {
  id: string;
  name: string;
  metric: "error_rate" | "duration_p95" | "first_byte_p95" | "spend" | "calls";
  scope: "gateway" | "account" | "key" | "model" | "provider";
  /** What of the scope; empty for the gateway. */
  subject: string;
  comparison: "above" | "below";
  /** In percent, milliseconds, nanodollars or calls. */
  threshold: number;
  minutes: number;
  /** With fewer calls nothing is said; not of spend and calls. */
  calls_min: number;
  /** Flag. */
  enabled: number;
  created_at: number;
}

/** Messages that no channel has accepted yet. */
interface AlertMessagesTable {
  id: string;
  channel_id: string;
  /** JSON of what is sent. */
  body: string;
  attempts: number;
  next_at: number;
}

/** Work that one node at a time does: when it is next to be done. */
interface AlertTurnsTable {
  name: string;
  next_at: number;
}
