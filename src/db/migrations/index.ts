import { books } from "./0001-books.ts";
import { nodes } from "./0002-nodes.ts";
import { people } from "./0003-people.ts";
import { desk } from "./0004-desk.ts";
import { budgets } from "./0005-budgets.ts";
import { secondFactor } from "./0006-second-factor.ts";
import { planBooks } from "./0007-plan-books.ts";
import { usageDays } from "./0008-usage-days.ts";
import { decideHolds } from "./0009-decide-holds.ts";
import { standardTerms } from "./0010-standard-terms.ts";
import { signInAttempts } from "./0011-sign-in-attempts.ts";
import { storedResponses } from "./0012-stored-responses.ts";
import { idempotencyKeys } from "./0013-idempotency-keys.ts";
import { cacheAndSessions } from "./0014-cache-and-sessions.ts";
import { requestLog } from "./0015-request-log.ts";
import { roles } from "./0016-roles.ts";
import { providers } from "./0017-providers.ts";
import { alerts } from "./0018-alerts.ts";
import { contentLog } from "./0019-content-log.ts";
import { statistics } from "./0020-statistics.ts";
import { teams } from "./0021-teams.ts";
import { mediaTokens } from "./0022-media-tokens.ts";
import { accountModels } from "./0023-account-models.ts";
import { teamFounders } from "./0025-team-founders.ts";
import { secretsAndLinks } from "./0026-secrets-and-links.ts";
import type { Migration } from "./migration.ts";

/** Every step of the schema, by rising version. */
export const migrations: readonly Migration[] = [
  books,
  nodes,
  people,
  desk,
  budgets,
  secondFactor,
  planBooks,
  usageDays,
  decideHolds,
  standardTerms,
  signInAttempts,
  storedResponses,
  idempotencyKeys,
  cacheAndSessions,
  requestLog,
  roles,
  providers,
  alerts,
  contentLog,
  statistics,
  teams,
  mediaTokens,
  accountModels,
  teamFounders,
  secretsAndLinks,
];
