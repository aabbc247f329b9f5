/** The badges of severities of alerts. */
export const severityBadges = { info: "badge", warning: "badge is-warn", critical: "badge is-bad" } as const;
