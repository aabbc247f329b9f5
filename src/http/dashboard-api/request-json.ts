import { formatUsd } from "../../contract/index.ts";
import type { CallDetail } from "../../kernel/index.ts";
import type { LoggedRequest, RequestDetail } from "../../reports/index.ts";
import { toIso } from "../forms/serializers.ts";

/**
 * A request of the log. `state` is `refused` for one that did not become a call; `requests` is how many requests a
 * refused row stands for, and `requested_model` the name that the client sent where another model served it. `emails` are
 * given to administrators.
 */
export function toRequestJson(request: LoggedRequest, emails?: ReadonlyMap<string, string>) {
  const { opened_at, account_id, premium, state, requests, cost_nanodollars, charged_nanodollars, ...more } = request;
  const { detail, ...rest } = more;
  return {
    ...rest,
    requested_model: readDetail(detail).requested ?? null,
    at: toIso(opened_at),
    account: account_id,
    email: emails?.get(account_id) ?? null,
    state: state ?? "refused",
    requests: requests ?? 1,
    premium: premium === null ? null : premium !== 0,
    cost_usd: toUsd(cost_nanodollars),
    charged_usd: toUsd(charged_nanodollars),
  };
}

/**
 * A request with all that is known of it. `emails` are given to those who see all accounts; what providers said to failed
 * attempts, in which a part of the prompt may stand, is for administrators.
 */
export function toRequestDetailJson(
  request: RequestDetail,
  { emails, seesWords }: { emails: ReadonlyMap<string, string> | undefined; seesWords: boolean },
) {
  const { message, settled_at, hold_nanodollars, node_id, ...rest } = request;
  const { attempts = [], ...more } = readDetail(request.detail);
  const seesAll = emails !== undefined;
  return {
    ...toRequestJson(rest, emails),
    hold_tokens: rest.hold_tokens,
    hold_usd: toUsd(hold_nanodollars),
    price_version: rest.price_version,
    settled_at: toIso(settled_at),
    node: seesAll ? node_id : null,
    error: message ?? more.error ?? null,
    stream: more.stream ?? false,
    finish_reasons: more.finish ?? [],
    ignored: more.ignored ?? [],
    lowered: more.lowered ?? {},
    warnings: seesAll ? (more.warnings ?? []) : [],
    failed_attempts: attempts.map(({ message: words, status = null, ...attempt }) => ({
      ...attempt,
      status,
      message: seesWords ? words : null,
    })),
  };
}

function readDetail(detail: string | null): CallDetail {
  return detail === null ? {} : JSON.parse(detail);
}

function toUsd(nanodollars: number | null): string | null {
  return nanodollars === null ? null : formatUsd(nanodollars);
}
