import { Link } from "wouter";
import { useMe } from "../../data/session.ts";
import { formatCount, formatExactUsd, formatShort, formatUntil, formatUsd } from "../../format.ts";
import { Change, Stat } from "../../kit/stat.tsx";
import type { Statistics } from "../statistics/api.ts";

export function Stats({ data, range }: { data: Statistics | undefined; range: string }) {
  const { data: me } = useMe();
  if (me === undefined) return null;
  const { wallet, quota } = me;
  const totals = data?.totals;
  return (
    <div className="stats">
      <Stat name="Balance" value={formatUsd(wallet.balance_usd)} exact={formatExactUsd(wallet.balance_usd)}>
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
        {data === undefined ? range : <RequestsNote data={data} range={range} />}
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
        {totals === undefined ? range : `${formatUsd(totals.charged_usd)} charged to the wallet`}
      </Stat>
    </div>
  );
}

/** How many failed, and why those were refused that never reached a model. */
function RequestsNote({ data: { totals, previous, refusals }, range }: { data: Statistics; range: string }) {
  const { requests, errors, refused } = totals;
  const [reason] = refusals;
  return (
    <>
      <Change now={requests} before={previous.requests} format={formatCount} />
      {errors === 0 ? `${range}, no errors` : <Link href="/requests?status=failed">{formatCount(errors)} failed</Link>}
      {refused > 0 && `, ${formatCount(refused)} of them refused`}
      {reason !== undefined && ` (${reason.code})`}
    </>
  );
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
