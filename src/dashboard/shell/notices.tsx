import { type ReactNode, useEffect, useRef, useState } from "react";
import useSWR from "swr";
import { Link } from "wouter";
import { api, isUnauthorized, request, useGateway } from "../data/api.ts";
import { type Me, useMe } from "../data/session.ts";
import { VerifyEmailButton } from "../features/auth/verify-email.tsx";
import { formatUsd } from "../format.ts";
import { LinkButton } from "../kit/button.tsx";
import { Callout } from "../kit/feedback.tsx";
import { usePlace } from "../kit/modules.tsx";
import { readItem, writeItem } from "../kit/storage.ts";

/**
 * The notices of every page: the gateway is away, was upgraded while the page was open or since the last visit, or simulates its answers; the email is not verified.
 */
export function Notices({ isAdmin }: { isAdmin: boolean }) {
  const { data: me, error } = useMe();
  const { data: gateway } = useGateway();
  const opened = useRef<string>(undefined);
  opened.current ??= gateway?.version;
  const isAway = error !== undefined && !isUnauthorized(error);
  const isUpgraded = gateway !== undefined && gateway.version !== opened.current;
  return (
    <section className="notices" aria-label="Notices">
      {isAway && <Callout tone="warn">The gateway doesn't respond. What you see may be out of date. Retrying…</Callout>}
      {isUpgraded && (
        <Callout>
          modelgate was upgraded to {gateway.version}.{" "}
          <LinkButton onClick={() => location.reload()}>Reload this page</LinkButton>
        </Callout>
      )}
      {isAdmin && !isUpgraded && gateway !== undefined && <Upgrade version={gateway.version} />}
      {me?.email_verified === false && (
        <Callout tone="warn">
          Your email {me.email} isn't verified, which limits your free quota and the emails you get.{" "}
          <VerifyEmailButton />
        </Callout>
      )}
      {me !== undefined && <LowBalance me={me} mayCredit={isAdmin} />}
      {isAdmin && gateway !== undefined && !gateway.sandbox && gateway.simulated_models > 0 && (
        <Callout tone="warn">
          Sandbox: {gateway.simulated_models === 1 ? "one model is" : `${gateway.simulated_models} models are`}{" "}
          simulated for want of a real provider, and paid ones are charged to wallets.{" "}
          <Link href="/models?search=simulated">Show them</Link>, or{" "}
          <Link href="/admin/providers">turn the sandbox off</Link>
        </Callout>
      )}
      {gateway?.sandbox === true && (
        <Callout tone="warn">
          Sandbox: all answers are simulated, and no provider is called or paid. Dollar amounts are not real.
          {isAdmin && (
            <>
              {" "}
              <Link href="/admin/providers">Add a provider</Link>
            </>
          )}
        </Callout>
      )}
    </section>
  );
}

const versionKey = "modelgate-version";

/** Tells an administrator once in a browser that the gateway was upgraded since the last visit, and what is new. */
function Upgrade({ version }: { version: string }) {
  const [previous] = useState(() => readItem(versionKey));
  const [isRead, setRead] = useState(false);
  const isNew = previous !== null && previous !== version;
  // The first visit is no upgrade; the notice of an upgrade stays until it was read.
  useEffect(() => {
    if (!isNew) writeItem(versionKey, version);
  }, [isNew, version]);
  if (!isNew || isRead) return null;
  const read = () => {
    writeItem(versionKey, version);
    setRead(true);
  };
  return (
    <Callout>
      modelgate was upgraded from {previous} to {version}.{" "}
      <Link href="/help/changelog" onClick={read}>
        What's new
      </Link>{" "}
      <LinkButton onClick={read}>Dismiss</LinkButton>
    </Callout>
  );
}

/**
 * The wallet of the account is nearly empty: how long it lasts, and who gives credit.
 *
 * @param mayCredit Whether the user adds credit to any account.
 */
function LowBalance({ me, mayCredit }: { me: Me; mayCredit: boolean }) {
  const ways = usePlace("credit-help");
  const { data: wallet } = useSWR("wallet", () => request(api.wallet.get()), { refreshInterval: 60_000 });
  if (wallet === undefined) return null;
  const { balance_usd, days_left, is_low, is_refused, contact } = wallet;
  if (!is_refused && !is_low) return null;
  const ask = contact === null ? null : <a href={toRequest(contact, me, balance_usd)}>Ask {contact} for credit</a>;
  const help: ReactNode = mayCredit ? (
    <Link href={`/admin/accounts/${me.account}?tab=account`}>Credit your account</Link>
  ) : ways.length > 0 ? (
    ways.map((Way) => <Way key={Way.name} ask={ask} />)
  ) : (
    ask
  );
  return (
    <Callout tone="warn">
      {Number(balance_usd) <= 0
        ? `Your balance is ${formatUsd(balance_usd)}: requests to models that are paid from the wallet are refused.`
        : is_low && days_left !== null
          ? `Your balance of ${formatUsd(balance_usd)} lasts about ${toDays(days_left)} at the pace of the last week.`
          : `Your balance of ${formatUsd(balance_usd)} did not cover a request today.`}{" "}
      {help}
    </Callout>
  );
}

/** A mail that asks for credit, and has what who gives it needs: the account, its balance and the link to its page. */
function toRequest(contact: string, { account, account_name: name }: Me, balanceUsd: string): string {
  const subject = `Credit for ${name} on modelgate`;
  const text = [
    `Please add credit to the account ${name}; its balance is ${formatUsd(balanceUsd)}.`,
    `${location.origin}/admin/accounts/${account}`,
  ];
  const query = new URLSearchParams({ subject, body: text.join("\r\n\r\n") });
  // Mail programs read a plus as a plus, not as a space.
  return `mailto:${encodeURIComponent(contact).replace("%40", "@")}?${query.toString().replaceAll("+", "%20")}`;
}

function toDays(days: number): string {
  if (days < 1) return "less than a day";
  const whole = Math.floor(days);
  return whole === 1 ? "one day" : `${whole} days`;
}
