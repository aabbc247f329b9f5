import { useAccountKeys } from "../../data/admin.ts";
import { Empty, Loaded } from "../../kit/feedback.tsx";
import { Section } from "../../kit/page.tsx";
import { KeysTable } from "../keys/keys-table.tsx";

/** The API keys of an account, the newest first. */
export function KeysSection({ accountId }: { accountId: string }) {
  const keys = useAccountKeys(accountId);
  return (
    <Section title="API keys">
      <Loaded state={keys}>
        {({ data }) => <KeysTable keys={data.toReversed()} mayChange={false} sortName="sort-keys" empty={empty} />}
      </Loaded>
    </Section>
  );
}

const empty = (
  <Empty icon="key" title="No API keys">
    <p>Keys that the account creates are listed here, without their secrets.</p>
  </Empty>
);
