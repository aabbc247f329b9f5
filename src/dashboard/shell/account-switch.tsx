import { useEffect, useRef } from "react";
import type { Me } from "../data/session.ts";
import { switchAccount, useTeams } from "../data/team.ts";
import { Select } from "../ui/field.tsx";
import { toastError } from "../ui/toast.tsx";

/** Chooses the account to work in, for people who belong to several. */
export function AccountSwitch({ me }: { me: Me }) {
  const { data: teams } = useTeams();
  if (teams === undefined || teams.data.length < 2) return null;
  const options = teams.data.map(
    ({ account, name, email, is_own }) => [account, is_own ? `${name ?? email} (own)` : (name ?? email)] as const,
  );
  return (
    <div className="account-switch">
      <Select
        isSmall
        aria-label="Account"
        options={options}
        value={me.account}
        onText={(account) => void switchAccount(account).catch(toastError)}
      />
    </div>
  );
}

/** Loads the page anew when another tab has switched the account of the session: nothing here is of that account. */
export function useReloadOnSwitch(me: Me | undefined): void {
  const known = useRef<Me>(undefined);
  useEffect(() => {
    const before = known.current;
    known.current = me;
    const isSame = before === undefined || me === undefined || before.account === me.account;
    if (!isSame && before.own_account === me.own_account) location.reload();
  }, [me]);
}
