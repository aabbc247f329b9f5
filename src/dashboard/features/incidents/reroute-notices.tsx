import { fromSeconds } from "../../data/api.ts";
import { useMayAdminister } from "../../data/roles.ts";
import { formatMoment } from "../../format.ts";
import { LinkButton } from "../../kit/button.tsx";
import { Callout } from "../../kit/feedback.tsx";
import { toast } from "../../kit/toast.tsx";
import { useAction } from "../../kit/use-action.ts";
import { endReroute, type RerouteFields } from "./api.ts";

/** The re-routes in force, each with a button that ends it. */
export function RerouteNotices({ reroutes }: { reroutes: readonly RerouteFields[] }) {
  return reroutes.map((reroute) => <RerouteNotice key={reroute.id} reroute={reroute} />);
}

function RerouteNotice({ reroute }: { reroute: RerouteFields }) {
  const { id, name, to_model: to, ends_at: endsAt, is_effective: isEffective, ineffective_reason: reason } = reroute;
  const mayChange = useMayAdminister();
  const end = useAction(async () => {
    await endReroute(id);
    toast(`${name} is no longer re-routed`);
  });
  return (
    <Callout tone="warn">
      Calls of {name} are re-routed to {to ?? "other providers of the same models"}{" "}
      {endsAt === null ? "until somebody ends it." : `until ${formatMoment(fromSeconds(endsAt))}.`}
      {isEffective === false && ` It has no effect now, and calls go on as before: ${reason}.`} {end.formError()}
      {mayChange && (
        <LinkButton disabled={end.isBusy} onClick={() => void end.run()}>
          End re-route
        </LinkButton>
      )}
    </Callout>
  );
}
