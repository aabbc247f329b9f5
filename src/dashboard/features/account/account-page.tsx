import { Link, useParams } from "wouter";
import { type AccountDetail, useAccount } from "../../data/admin.ts";
import { mayAdminister } from "../../data/roles.ts";
import { useMe } from "../../data/session.ts";
import { formatCount, formatDay, formatExactUsd, formatUntil, formatUsd } from "../../format.ts";
import { Callout, Loaded } from "../../kit/feedback.tsx";
import { usePlace } from "../../kit/modules.tsx";
import { PageHead } from "../../kit/page.tsx";
import { Segmented } from "../../kit/segmented.tsx";
import { Stat } from "../../kit/stat.tsx";
import { useChoice } from "../../kit/url-state.ts";
import { AccountState } from "../accounts/accounts-page.tsx";
import { EntriesSection } from "../billing/entries-section.tsx";
import { BudgetsPart } from "../budgets/budgets-part.tsx";
import { MarkupSection } from "../markups/markup-section.tsx";
import { ResourceSections } from "../resources/section.tsx";
import { TeamSection } from "../team/team-section.tsx";
import { DisableButton } from "./disable-button.tsx";
import { KeysSection } from "./keys-section.tsx";
import { ModelsSection } from "./models-section.tsx";
import { CreditSection, LimitsSection } from "./money-sections.tsx";
import { PaymentSection } from "./payment-section.tsx";
import { ProfileSection } from "./profile-section.tsx";
import { SignInSection } from "./sign-in-section.tsx";
import { TeamsSection } from "./teams-section.tsx";
import { UsageSection } from "./usage-section.tsx";

const parts = [
  ["activity", "Activity"],
  ["account", "Account"],
  ["keys", "API keys"],
  ["budgets", "Budgets"],
  ["sign-in", "Sign-in"],
] as const;

/** All about one account, for administrators; each change of it is recorded in the audit log. */
export default function AccountPage() {
  const { id = "" } = useParams<{ id: string }>();
  const account = useAccount(id);
  return (
    <>
      <Link className="link back" href="/admin/accounts">
        All accounts
      </Link>
      <Loaded state={account} lines={8}>
        {(data) => <Account account={data} />}
      </Loaded>
    </>
  );
}

function Account({ account }: { account: AccountDetail }) {
  const { data: me } = useMe();
  const [part, setPart] = useChoice("tab", parts);
  const atEnd = usePlace("account-end");
  const mayChange = me !== undefined && mayAdminister(me.role);
  /** Only owners change how an owner signs in and what an owner may do. */
  const mayManage = mayChange && (account.role !== "owner" || me.role === "owner");
  return (
    <>
      <PageHead
        title={account.label}
        description={
          <>
            {account.name !== null && account.email !== null && `${account.name}. `}Created{" "}
            {formatDay(account.created_at)} <AccountState account={account} />
          </>
        }
      >
        <Link className="btn" href={`/requests?account=${account.id}`}>
          Requests
        </Link>
        <Link className="btn" href={`/admin/gateway?account=${account.id}`}>
          Usage
        </Link>
        <Link className="btn" href={`/statement?account=${account.id}`}>
          Statement
        </Link>
        {mayManage && me.own_account !== account.id && <DisableButton account={account} />}
      </PageHead>
      <div className="stack">
        {account.disabled_at !== null && (
          <Callout tone="warn">
            Disabled on {formatDay(account.disabled_at)}: its API keys and its user are rejected.
          </Callout>
        )}
        <Figures account={account} />
        <Segmented label="Part" value={part} options={parts} onChoose={setPart} />
        {part === "account" && (
          <>
            <div className="split">
              <ProfileSection account={account} mayManage={mayManage} isOwner={me?.role === "owner"} />
              <LimitsSection account={account} mayChange={mayManage} />
            </div>
            <PaymentSection account={account} mayChange={mayChange} />
            {mayChange && <CreditSection account={account} />}
            <MarkupSection
              account={account.id}
              hint="Percent above the price in force, in place of all other markups. Empty: those of providers and the gateway"
            />
            <ModelsSection account={account} mayManage={mayManage} />
            <ResourceSections account={account.id} mayManage={mayManage} />
            <TeamsSection account={account} />
            <TeamSection account={account.id} mayManage={mayManage} />
            {atEnd.map((Part) => (
              <Part key={Part.name} account={account} mayChange={mayChange} />
            ))}
          </>
        )}
        {part === "keys" && <KeysSection accountId={account.id} mayChange={mayManage} />}
        {part === "budgets" && (
          <BudgetsPart account={account.id} isBilledAfterwards={account.billed_afterwards} mayManage={mayManage} />
        )}
        {part === "activity" && (
          <>
            <UsageSection accountId={account.id} />
            <EntriesSection account={account.id} />
          </>
        )}
        {part === "sign-in" && <SignInSection account={account} mayManage={mayManage} />}
      </div>
    </>
  );
}

function Figures({ account: { wallet, quota, billed_afterwards } }: { account: AccountDetail }) {
  return (
    <div className="split">
      <Stat
        name={billed_afterwards ? "Balance, billed afterwards" : "Balance"}
        value={formatUsd(wallet.balance_usd)}
        exact={formatExactUsd(wallet.balance_usd)}
      >
        {Number(wallet.held_usd) > 0 ? `${formatUsd(wallet.held_usd)} held for running calls` : "no running calls"}
      </Stat>
      <Stat name="Free tokens left today" value={formatCount(quota.remaining)}>
        of {formatCount(quota.limit)}, resets in {formatUntil(quota.resets_at)}
      </Stat>
    </div>
  );
}
