import type { ReactNode } from "react";
import { Link } from "wouter";
import { useMe } from "../../data/session.ts";
import type { Usage } from "../../data/usage.ts";
import { formatCount, formatShort, formatUntil, formatUsd } from "../../format.ts";

export function Stats({ usage, range }: { usage: Pick<Usage, "totals"> | undefined; range: string }) {
  const { data: me } = useMe();
  if (me === undefined) return null;
  const { wallet, quota } = me;
  const totals = usage?.totals;
  return (
    <div className="stats">
      <Stat name="Balance" value={formatUsd(wallet.balance_usd)} exact={`$${wallet.balance_usd}`}>
        {Number(wallet.held_usd) > 0 ? (
          `${formatUsd(wallet.held_usd)} held for running calls`
        ) : (
          <Link href="/billing">Add credit</Link>
        )}
      </Stat>
      <Quota quota={quota} />
      <Stat
        name="Requests"
        value={totals && formatShort(totals.requests)}
        exact={totals && formatCount(totals.requests)}
      >
        {range}
        {totals && (totals.failures === 0 ? ", no failures" : `, ${formatCount(totals.failures)} failed`)}
      </Stat>
      <Stat
        name="Tokens"
        value={totals && formatShort(totals.total_tokens)}
        exact={totals && formatCount(totals.total_tokens)}
      >
        {totals === undefined
          ? range
          : `${formatShort(totals.prompt_tokens)} in, ${formatShort(totals.completion_tokens)} out`}
      </Stat>
      <Stat name="Cost" value={totals && formatUsd(totals.cost_usd)} exact={totals && `$${totals.cost_usd}`}>
        {totals === undefined ? range : `list price; ${formatUsd(totals.charged_usd)} charged to the wallet`}
      </Stat>
    </div>
  );
}

export function Stat({
  name,
  value,
  exact,
  children,
}: {
  name: string;
  value: string | undefined;
  exact?: string | undefined;
  children: ReactNode;
}) {
  return (
    <div className="card stat">
      <span className="stat-name">{name}</span>
      {value === undefined ? (
        <span className="stat-value">
          <span className="skeleton" />
        </span>
      ) : (
        <span className={`stat-value ${toSizeClass(value)}`} title={exact}>
          {value}
        </span>
      )}
      <span className="stat-note">{children}</span>
    </div>
  );
}

/** Long values get a smaller font instead of being cut off. */
function toSizeClass({ length }: string): string {
  return length > 9 ? "is-longest" : length > 7 ? "is-long" : "";
}

function Quota({ quota }: { quota: NonNullable<ReturnType<typeof useMe>["data"]>["quota"] }) {
  const { limit, used, remaining, resets_at } = quota;
  const share = limit === 0 ? 1 : Math.min(1, (limit - remaining) / limit);
  const tone = share >= 1 ? "gauge is-full" : share >= 0.8 ? "gauge is-high" : "gauge";
  return (
    <div className="card stat is-wide">
      <span className="stat-name">
        Free quota today
        <span className="faint number">{Math.round(share * 100)} % used</span>
      </span>
      <span className="stat-value" title={`${formatCount(remaining)} of ${formatCount(limit)} tokens left`}>
        {formatShort(remaining)} <span className="stat-unit">tokens left</span>
      </span>
      {/* biome-ignore lint/a11y/useSemanticElements: a meter element cannot be given these colours in every browser */}
      <div
        className={tone}
        role="meter"
        aria-label="Free quota used today"
        aria-valuemin={0}
        aria-valuemax={limit}
        aria-valuenow={Math.min(limit, limit - remaining)}
        aria-valuetext={`${formatCount(used)} of ${formatCount(limit)} tokens used`}
      >
        <span style={{ width: `${share * 100}%` }} />
      </div>
      <span className="stat-note">
        of {formatShort(limit)}; resets in {formatUntil(resets_at)}, at 00:00 UTC
      </span>
    </div>
  );
}
