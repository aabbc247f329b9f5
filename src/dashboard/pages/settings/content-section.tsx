import { useState } from "react";
import { type ContentLog, deleteAllContent, isKept, useContentLog } from "../../data/content.ts";
import { useMayChange } from "../../data/roles.ts";
import { formatCount } from "../../format.ts";
import { Button } from "../../ui/button.tsx";
import { Confirm } from "../../ui/confirm.tsx";
import { Callout } from "../../ui/feedback.tsx";
import { Section } from "../../ui/page.tsx";
import { toast } from "../../ui/toast.tsx";

/** Tells account holders that their prompts are kept; renders nothing where none are. */
export function ContentNotice() {
  const { data } = useContentLog();
  if (data === undefined || !isKept(data)) return null;
  return <Callout tone="warn">{describeKept(data)}</Callout>;
}

/** What is kept of the own account, and its deletion; nothing where none is. */
export function ContentSection() {
  const { data } = useContentLog();
  const [isAsking, setAsking] = useState(false);
  const mayChange = useMayChange();
  if (data === undefined || (!isKept(data) && data.records === 0)) return null;
  const remove = async () => {
    const deleted = await deleteAllContent();
    toast(`Prompts and answers of ${formatCount(deleted)} requests deleted`);
  };
  return (
    <Section title="Prompts and answers">
      <div className="card-body stack">
        <p className="soft">{isKept(data) ? describeKept(data) : "Prompts and answers are no longer kept."}</p>
        <div className="row row-apart">
          <span className="soft">
            Kept of {data.records === 1 ? "1 request" : `${formatCount(data.records)} requests`}
          </span>
          {mayChange && data.records > 0 && (
            <Button look="plain small bad" onClick={() => setAsking(true)}>
              Delete all…
            </Button>
          )}
        </div>
      </div>
      {isAsking && (
        <Confirm
          title="Delete prompts and answers?"
          action="Delete content"
          act={remove}
          onClose={() => setAsking(false)}
        >
          <p>All prompts and answers that were kept of this account are deleted. The request log stays.</p>
        </Confirm>
      )}
    </Section>
  );
}

function describeKept({ mode, account, keys, days }: ContentLog): string {
  const of =
    mode === "all" || account ? "your calls" : `the calls of ${keys.length === 1 ? "one key" : `${keys.length} keys`}`;
  const time = days === 1 ? "1 day" : `${days} days`;
  return `The operator of this gateway keeps the prompts and answers of ${of}, redacted and encrypted, for ${time}. You find them in the request log. Administrators can read them; each look is recorded.`;
}
