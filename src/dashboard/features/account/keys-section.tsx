import { useState } from "react";
import { useAccountKeys } from "../../data/admin.ts";
import { Button } from "../../kit/button.tsx";
import { Empty, Loaded } from "../../kit/feedback.tsx";
import { Section } from "../../kit/page.tsx";
import { AccountKeys } from "../keys/account-keys.tsx";
import { NewKeyDialog } from "../keys/key-dialogs.tsx";

/** The API keys of an account, the newest first. */
export function KeysSection({ accountId, mayChange }: { accountId: string; mayChange: boolean }) {
  const keys = useAccountKeys(accountId);
  const [isCreating, setCreating] = useState(false);
  return (
    <Section
      title="API keys"
      actions={
        mayChange && (
          <Button look="small" icon="plus" onClick={() => setCreating(true)}>
            Create API key
          </Button>
        )
      }
    >
      <Loaded state={keys}>
        {({ data }) => (
          <AccountKeys
            keys={data}
            accountOf={() => accountId}
            mayChange={mayChange}
            sortName="sort-keys"
            empty={empty}
          />
        )}
      </Loaded>
      {isCreating && <NewKeyDialog account={accountId} onClose={() => setCreating(false)} />}
    </Section>
  );
}

const empty = (
  <Empty icon="key" title="No API keys">
    <p>Keys that the account creates are listed here, without their secrets.</p>
  </Empty>
);
