import useSWR from "swr";
import { api, request } from "../../data/api.ts";
import { reloadSession, signOutEverywhere } from "../../data/session.ts";
import { formatAge } from "../../format.ts";
import { Button } from "../../kit/button.tsx";
import { Loaded } from "../../kit/feedback.tsx";
import { Section } from "../../kit/page.tsx";
import { toast, toastError } from "../../kit/toast.tsx";
import { useAction } from "../../kit/use-action.ts";

/** In this order: Edge and Opera also claim to be Chrome. */
const browsers = [
  [/Edg\//, "Edge"],
  [/OPR\//, "Opera"],
  [/Firefox\//, "Firefox"],
  [/Chrom(e|ium)\//, "Chrome"],
  [/Safari\//, "Safari"],
] as const;
const systems = [
  [/Android/, "Android"],
  [/iPhone|iPad/, "iOS"],
  [/Windows/, "Windows"],
  [/Mac OS X/, "macOS"],
  [/Linux/, "Linux"],
] as const;

export function SessionsSection() {
  const sessions = useSWR("sessions", () => request(api.sessions.get()));
  const { run, isBusy } = useAction(() => signOutEverywhere().then(reloadSession, toastError));
  const end = async (id: string) => {
    try {
      await request(api.sessions({ id }).delete());
      toast("Session ended");
    } catch (error) {
      toastError(error);
    }
    await sessions.mutate();
  };
  return (
    <Section title="Active sessions">
      <Loaded state={sessions} lines={2}>
        {({ data }) => (
          <ul className="rows">
            {data.map(({ id, is_this_one, ...session }) => (
              <li key={id} className="row row-apart">
                <span>
                  <strong>{toBrowserName(session.user_agent)}</strong>{" "}
                  {is_this_one && <span className="badge is-accent">this browser</span>}
                  <SessionFacts session={session} />
                </span>
                {!is_this_one && (
                  <Button look="small" onClick={() => void end(id)}>
                    Sign out
                  </Button>
                )}
              </li>
            ))}
          </ul>
        )}
      </Loaded>
      <div className="table-foot">
        <span>API keys keep working.</span>
        <Button disabled={isBusy} onClick={() => void run()}>
          Sign out everywhere
        </Button>
      </div>
    </Section>
  );
}

/** When a session began, from where, and when it was last used. */
export function SessionFacts({
  session: { created_at, last_used_at, address },
}: {
  session: { created_at: string | null; last_used_at: string | null; address: string | null };
}) {
  const facts = [
    `signed in ${formatAge(created_at)}`,
    ...(address === null ? [] : [`from ${address}`]),
    ...(last_used_at === null ? [] : [`last used ${formatAge(last_used_at)}`]),
  ].join(", ");
  return <span className="sub">{facts.charAt(0).toUpperCase() + facts.slice(1)}</span>;
}

/** Such as `Firefox on Linux`. */
export function toBrowserName(userAgent: string | null): string {
  if (userAgent === null) return "Unknown browser";
  const find = (patterns: readonly (readonly [RegExp, string])[]) =>
    patterns.find(([pattern]) => pattern.test(userAgent))?.[1];
  const [browser, system] = [find(browsers), find(systems)];
  if (browser === undefined) return userAgent.slice(0, 60);
  return system === undefined ? browser : `${browser} on ${system}`;
}
