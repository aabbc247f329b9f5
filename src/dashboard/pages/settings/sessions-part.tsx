import useSWR from "swr";
import { api, told } from "../../data/api.ts";
import { changeVisitor, signOutEverywhere } from "../../data/session.ts";
import { formatAge } from "../../format.ts";
import { Section } from "../../ui/page.tsx";
import { Loaded } from "../../ui/states.tsx";
import { toast, toastError } from "../../ui/toast.tsx";
import { useAction } from "../../ui/use-action.ts";
import { browserName } from "./browser-name.ts";

/** The browsers in which this person is signed in. */
export function SessionsPart() {
  const sessions = useSWR("sessions", () => told(api.sessions.get()));
  const { run, isBusy } = useAction(() => signOutEverywhere().then(changeVisitor, toastError));
  const end = async (id: string) => {
    try {
      await told(api.sessions({ id }).delete());
      toast("That browser is signed out");
    } catch (error) {
      toastError(error);
    }
    await sessions.mutate();
  };
  return (
    <Section title="Where you are signed in">
      <Loaded state={sessions} lines={2}>
        {({ data }) => (
          <ul className="rows">
            {data.map(({ id, user_agent, created_at, is_this_one }) => (
              <li key={id} className="row row-apart">
                <span>
                  <strong>{browserName(user_agent)}</strong>{" "}
                  {is_this_one && <span className="badge is-accent">this browser</span>}
                  <span className="sub">signed in {formatAge(created_at)}</span>
                </span>
                {!is_this_one && (
                  <button type="button" className="btn btn-small" onClick={() => void end(id)}>
                    Sign out
                  </button>
                )}
              </li>
            ))}
          </ul>
        )}
      </Loaded>
      <div className="table-foot">
        <span>API keys go on working.</span>
        <button type="button" className="btn" disabled={isBusy} onClick={() => void run()}>
          Sign out everywhere
        </button>
      </div>
    </Section>
  );
}
