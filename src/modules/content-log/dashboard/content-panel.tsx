import { useState } from "react";
import { useMe } from "../../../dashboard/data/session.ts";
import { formatCount } from "../../../dashboard/format.ts";
import { Button, LinkButton } from "../../../dashboard/kit/button.tsx";
import { Callout } from "../../../dashboard/kit/feedback.tsx";
import { toast } from "../../../dashboard/kit/toast.tsx";
import { useAction } from "../../../dashboard/kit/use-action.ts";
import { type Content, deleteContent, fetchContent, useHasContent } from "./api.ts";

const shownCharactersMax = 1500;

/** Prompt and answer. They are fetched only on demand, because reading another user's content is recorded. */
export function ContentPanel({ request }: { request: { readonly id: string; readonly account: string } }) {
  return useHasContent(request.id) && <Kept id={request.id} account={request.account} />;
}

function Kept({ id, account }: { id: string; account: string }) {
  const { data: me } = useMe();
  const [content, setContent] = useState<Content>();
  const show = useAction(async () => setContent(await fetchContent(id)));
  const remove = useAction(async () => {
    await deleteContent(id);
    setContent(undefined);
    toast("Prompt and answer deleted");
  });
  if (me === undefined) return null;
  const isOwn = me.account === account;
  return (
    <section className="content-panel" aria-label="Content">
      <h3>Content</h3>
      <Callout tone="bad">{show.formError() ?? remove.formError()}</Callout>
      {content === undefined ? (
        <>
          <p className="soft">
            The prompt and the answer were kept.
            {!isOwn && " They belong to another account: showing them is recorded in the audit log."}
          </p>
          <div className="row">
            <Button look="small" icon="eye" disabled={show.isBusy} onClick={() => void show.run()}>
              Show content
            </Button>
          </div>
        </>
      ) : (
        <>
          <Turns name="Request" turns={content.request} />
          <Turns name="Answer" turns={content.answer} />
          {isOwn && (
            <div className="row">
              <Button look="plain small bad" disabled={remove.isBusy} onClick={() => void remove.run()}>
                Delete content
              </Button>
            </div>
          )}
        </>
      )}
    </section>
  );
}

function Turns({ name, turns }: { name: string; turns: Content["request"] }) {
  if (turns.length === 0) return <p className="soft">{name}: no text</p>;
  return (
    <ol className="content-turns" aria-label={name}>
      {turns.map(({ role, text }, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the list does not change
        <li key={place}>
          <span className="badge">{role}</span>
          <TurnText text={text} />
        </li>
      ))}
    </ol>
  );
}

/** A long text shows its beginning first. */
function TurnText({ text }: { text: string }) {
  const [isWhole, setWhole] = useState(text.length <= shownCharactersMax);
  if (isWhole) return <pre>{text}</pre>;
  return (
    <>
      <pre>{text.slice(0, shownCharactersMax)}…</pre>
      <LinkButton onClick={() => setWhole(true)}>Show all {formatCount(text.length)} characters</LinkButton>
    </>
  );
}
