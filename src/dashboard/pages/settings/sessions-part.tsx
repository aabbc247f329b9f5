import { changeVisitor, signOutEverywhere } from "../../data/session.ts";
import { Section } from "../../ui/page.tsx";
import { toastError } from "../../ui/toast.tsx";
import { useAction } from "../../ui/use-action.ts";

/** Ends every session at once. */
export function SessionsPart() {
  const { run, isBusy } = useAction(() => signOutEverywhere().then(changeVisitor, toastError));
  return (
    <Section title="Sessions">
      <div className="stack card-body">
        <p className="soft">
          A session ends after seven days without a visit. If a device was lost, end all of them; API keys go on
          working.
        </p>
        <div className="row">
          <button type="button" className="btn" disabled={isBusy} onClick={() => void run()}>
            Sign out everywhere
          </button>
        </div>
      </div>
    </Section>
  );
}
