import { useState } from "react";
import { useMayChange } from "../../../dashboard/data/roles.ts";
import { formatCount } from "../../../dashboard/format.ts";
import { Button } from "../../../dashboard/kit/button.tsx";
import { Confirm } from "../../../dashboard/kit/confirm.tsx";
import { Callout } from "../../../dashboard/kit/feedback.tsx";
import { Section } from "../../../dashboard/kit/page.tsx";
import { toast } from "../../../dashboard/kit/toast.tsx";
import { type ContentLog, deleteAllContent, isKept, useContentLog } from "./api.ts";

/** Tells account holders that their prompts are kept; renders nothing where none are. */
export function ContentNotice() {
  const { data } = useContentLog();
  if (data === undefined || !isKept(data)) return null;
  return <Callout tone="warn">{describeKept(data)}</Callout>;
}

/** The stored content of the own account, and its deletion; nothing where none is. */
export function ContentSection() {
  const { data } = useContentLog();
  const mayChange = useMayChange();
  if (data === undefined || (!isKept(data) && data.records === 0)) return null;
  return (
    <Section title="Prompts and answers">
      <div className="card-body stack">
        <p className="soft">{isKept(data) ? describeKept(data) : "Prompts and answers are no longer kept."}</p>
        <KeptRecords
          records={data.records}
          mayDelete={mayChange && data.records > 0}
          question="Delete prompts and answers?"
          remove={deleteAllContent}
        />
      </div>
    </Section>
  );
}

/** How many requests have content, and its deletion. `remove` returns how many were deleted. */
export function KeptRecords({
  records,
  mayDelete,
  question,
  remove,
}: {
  records: number;
  mayDelete: boolean;
  question: string;
  remove: () => Promise<number>;
}) {
  const [isAsking, setAsking] = useState(false);
  const act = async () => toast(`Prompts and answers of ${formatCount(await remove())} requests deleted`);
  return (
    <div className="row row-apart">
      <span className="soft">
        Content stored for {records === 1 ? "1 request" : `${formatCount(records)} requests`}
      </span>
      {mayDelete && (
        <Button look="plain small bad" onClick={() => setAsking(true)}>
          Delete all…
        </Button>
      )}
      {isAsking && (
        <Confirm title={question} action="Delete content" act={act} onClose={() => setAsking(false)}>
          <p>All prompts and answers that were kept of this account are deleted. The request log stays.</p>
        </Confirm>
      )}
    </div>
  );
}

function describeKept({ mode, account, keys, days }: ContentLog): string {
  const of =
    mode === "all" || account ? "your calls" : `the calls of ${keys.length === 1 ? "one key" : `${keys.length} keys`}`;
  const time = days === 1 ? "1 day" : `${days} days`;
  return `The operator of this gateway keeps the prompts and answers of ${of}, redacted and encrypted, for ${time}. You find them in the request log. Administrators can read them; every access is logged.`;
}
