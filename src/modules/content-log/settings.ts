import { anyText, choice, defineSettings, integer, optional, setting, type ValuesOf } from "../../config/index.ts";

export const settings = defineSettings({
  after: "FILES_MAX_MB",
  settings: {
    /**
     * Accounts whose prompts and answers are kept: no accounts, accounts and keys chosen by an administrator, or all
     * accounts.
     */
    contentLog: setting("CONTENT_LOG", "off", choice("off", "selected", "all")),
    contentLogDays: setting("CONTENT_LOG_DAYS", "7", integer(1, 3650, " of days")),
    /** Limit for one account; beyond that the oldest are deleted. */
    contentLogMaxMb: setting("CONTENT_LOG_MAX_MB", "64", integer(1, 1_000_000, " of megabytes")),
    /** Patterns that are replaced in addition to secrets and personal data; checked at the start. */
    contentLogRedact: optional("CONTENT_LOG_REDACT", anyText("RE2 expressions separated by spaces")),
  },
  /** Every gateway on a database has to read what another one has encrypted. */
  check({ contentLog }, textOf) {
    if (contentLog === "off" || textOf("DATABASE_URL") === undefined || textOf("SECRETS_KEY") !== undefined) {
      return undefined;
    }
    const problem = `it is not set, but CONTENT_LOG=${contentLog} and DATABASE_URL are, expected one for all gateways`;
    return { variable: "SECRETS_KEY", problem };
  },
});

export type ContentSettings = ValuesOf<(typeof settings)["settings"]>;
