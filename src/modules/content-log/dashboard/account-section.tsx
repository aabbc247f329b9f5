import { useRef } from "react";
import { useAccountKeys } from "../../../dashboard/data/admin.ts";
import { getKeyState } from "../../../dashboard/features/keys/api.ts";
import { Callout, Loaded } from "../../../dashboard/kit/feedback.tsx";
import { Check } from "../../../dashboard/kit/field.tsx";
import { Section } from "../../../dashboard/kit/page.tsx";
import { useAction } from "../../../dashboard/kit/use-action.ts";
import { type ContentLog, deleteAccountContent, switchContent, useAccountContent } from "./api.ts";
import { KeptRecords } from "./own-section.tsx";

interface ContentProps {
  account: { readonly id: string; readonly label: string };
  mayChange: boolean;
}

/** Whether prompts and answers of an account are kept. */
export function AccountContent({ account, mayChange }: ContentProps) {
  const content = useAccountContent(account.id);
  return (
    <Section title="Prompts and answers">
      <Loaded state={content} lines={2}>
        {(data) => (
          <div className="card-body stack">
            <p className="soft">{describeMode(data)}</p>
            {data.mode === "selected" && <Switches account={account} content={data} mayChange={mayChange} />}
            {data.records > 0 && (
              <KeptRecords
                records={data.records}
                mayDelete={mayChange}
                question={`Delete the content of ${account.label}?`}
                remove={() => deleteAccountContent(account.id)}
              />
            )}
          </div>
        )}
      </Loaded>
    </Section>
  );
}

function describeMode({ mode, days }: ContentLog): string {
  const retention = `redacted and encrypted, for ${days === 1 ? "1 day" : `${days} days`}`;
  const seen = "The account and administrators can read them; every access of an administrator is in the audit log.";
  if (mode === "off") return "Prompts and answers are not kept: CONTENT_LOG is off.";
  if (mode === "all") return `Prompts and answers of all accounts are kept, ${retention}: CONTENT_LOG is all. ${seen}`;
  return `Prompts and answers can be kept here, ${retention}. ${seen} The account sees a notice on its pages.`;
}

function Switches({ account: { id, label }, content, mayChange }: ContentProps & { content: ContentLog }) {
  const keys = useAccountKeys(id);
  const request = useRef({ on: false, key: undefined as string | undefined });
  const { run, isBusy, formError } = useAction(() => switchContent(id, request.current.on, request.current.key));
  const set = (on: boolean, key?: string) => {
    request.current = { on, key };
    void run();
  };
  const active = keys.data?.data.filter((key) => getKeyState(key) === "active") ?? [];
  const isOff = !mayChange || isBusy;
  return (
    <>
      <Callout tone="bad">{formError()}</Callout>
      <Check checked={content.account} disabled={isOff} onCheck={set}>
        Keep prompts and answers of all calls of {label}
      </Check>
      {active.map(({ id: keyId, name }) => (
        <Check
          key={keyId}
          checked={content.account || content.keys.includes(keyId)}
          disabled={isOff || content.account}
          onCheck={(isChecked) => set(isChecked, keyId)}
        >
          <span className="break">Keep prompts and answers of the key “{name}”</span>
        </Check>
      ))}
    </>
  );
}
